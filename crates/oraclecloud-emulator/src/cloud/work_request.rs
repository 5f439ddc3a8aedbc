//! Work requests: the asynchronous operations of the cloud. Every kind has them, but not every API shows them.

use jiff::Timestamp;
use oraclecloud::Kind;
use oraclecloud::kind::Phase;
use serde_json::{Map, Value, json};

use crate::timeline::{Outcome, Pace, Progress};

#[derive(Debug)]
pub(super) struct WorkRequest {
    /// The tenancy and region it is in.
    pub(super) place: String,
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) work: Work,
    /// Such as `CREATE_QUEUE`.
    pub(super) operation_type: String,
    pub(super) kind: Kind,
    pub(super) resource: String,
    pub(super) compartment: String,
    pub(super) progress: Progress,
    /// Applied to the fields of the resource on success.
    pub(super) change: Map<String, Value>,
    /// Restored after a failed delete.
    pub(super) state_before: String,
    pub(super) ended: Option<Timestamp>,
}

/// What a work request does to its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Create,
    Change,
    Delete,
}

/// The kind's name for an operation: of several, the plain one.
pub(super) fn operation_type(kind: Kind, phase: Phase) -> String {
    let verb = match phase {
        Phase::Create => "CREATE",
        Phase::Update => "UPDATE",
        Phase::Delete => "DELETE",
    };
    let mut types = kind.operation_types.iter().filter(|(_, it)| **it == phase).map(|(name, _)| name);
    let plain = types.clone().find(|name| name.starts_with(verb)).or_else(|| types.next());
    plain.cloned().unwrap_or_else(|| format!("{verb}_{}", kind.name.to_uppercase()))
}

impl WorkRequest {
    pub(super) fn to_json(&self, pace: Pace, now: Timestamp) -> Value {
        let (status, percent) = match (self.ended, &self.progress.timeline.outcome) {
            (None, _) | (Some(_), Outcome::Never) => {
                let step = self.progress.step(pace, now);
                (step.status, step.percent)
            }
            (Some(_), Outcome::Succeed) => ("SUCCEEDED".to_owned(), 100.0),
            (Some(_), Outcome::Fail { .. }) => ("FAILED".to_owned(), 100.0),
            (Some(_), Outcome::Cancel) => ("CANCELED".to_owned(), 100.0),
        };
        // The action is named only after it has succeeded.
        let action = match self.work {
            _ if status != "SUCCEEDED" => "IN_PROGRESS",
            Work::Create => "CREATED",
            Work::Delete => "DELETED",
            Work::Change => "UPDATED",
        };
        let entity = self.kind.entity.clone().unwrap_or_else(|| self.kind.name.to_lowercase());
        let uri = self.kind.create.path.trim_start_matches('/');
        let mut body = json!({
            "id": self.id,
            "operationType": self.operation_type,
            "status": status,
            "compartmentId": self.compartment,
            "percentComplete": percent,
            "timeAccepted": self.progress.accepted.to_string(),
            "resources": [{
                "entityType": entity,
                "actionType": action,
                "identifier": self.resource,
                "entityUri": format!("/{uri}/{}", self.resource),
            }],
        });
        if status != "ACCEPTED" {
            body["timeStarted"] = json!(self.progress.accepted.to_string());
        }
        if let Some(ended) = self.ended {
            body["timeFinished"] = json!(ended.to_string());
        }
        body
    }

    pub(super) fn errors(&self) -> Vec<Value> {
        match (&self.progress.timeline.outcome, self.ended) {
            (Outcome::Fail { code, message }, Some(ended)) => {
                vec![json!({"code": code, "message": message, "timestamp": ended.to_string()})]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn logs(&self) -> Vec<Value> {
        let entry =
            |message: String, time: Timestamp| json!({"message": message, "timestamp": time.to_string()});
        let mut logs = vec![entry(format!("{} accepted", self.operation_type), self.progress.accepted)];
        if let Some(ended) = self.ended {
            let how = match self.progress.timeline.outcome {
                Outcome::Succeed => "succeeded",
                Outcome::Fail { .. } => "failed",
                _ => "was canceled",
            };
            logs.push(entry(format!("{} {how}", self.operation_type), ended));
        }
        logs
    }
}
