//! A work request: what the cloud is doing to a resource. Streams have them too, and do not show them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::resource::Kind;
use crate::route::Operation;
use crate::timeline::{Outcome, Pace, Progress};

/// Something that the cloud does.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) operation: Operation,
    pub(super) kind: Kind,
    pub(super) resource: String,
    pub(super) compartment: String,
    pub(super) progress: Progress,
    /// What changes when it succeeds.
    pub(super) change: Map<String, Value>,
    /// The state to go back to.
    pub(super) state_before: String,
    pub(super) ended: Option<Timestamp>,
}

impl Work {
    fn operation_type(&self) -> &'static str {
        match self.operation {
            Operation::CreateQueue => "CREATE_QUEUE",
            Operation::UpdateQueue => "UPDATE_QUEUE",
            Operation::DeleteQueue => "DELETE_QUEUE",
            Operation::ChangeQueueCompartment => "MOVE_QUEUE",
            Operation::PurgeQueue => "PURGE_QUEUE",
            Operation::CreateStream => "CREATE_STREAM",
            Operation::UpdateStream => "UPDATE_STREAM",
            _ => "DELETE_STREAM",
        }
    }

    /// As a read answers.
    pub(super) fn show(&self, pace: Pace, now: Timestamp) -> Value {
        let (status, percent) = match (self.ended, &self.progress.timeline.outcome) {
            (None, _) | (Some(_), Outcome::Never) => {
                let step = self.progress.step(pace, now);
                (step.status, step.percent)
            }
            (Some(_), Outcome::Succeed) => ("SUCCEEDED".to_owned(), 100.0),
            (Some(_), Outcome::Fail { .. }) => ("FAILED".to_owned(), 100.0),
            (Some(_), Outcome::Cancel) => ("CANCELED".to_owned(), 100.0),
        };
        // What is done to a resource has its name only once it is done.
        let action = match self.operation {
            _ if status != "SUCCEEDED" => "IN_PROGRESS",
            Operation::CreateQueue | Operation::CreateStream => "CREATED",
            Operation::DeleteQueue | Operation::DeleteStream => "DELETED",
            _ => "UPDATED",
        };
        let collection = format!("{}s", self.kind.word());
        let mut shown = json!({
            "id": self.id,
            "operationType": self.operation_type(),
            "status": status,
            "compartmentId": self.compartment,
            "percentComplete": percent,
            "timeAccepted": self.progress.accepted.to_string(),
            "resources": [{
                "entityType": self.kind.word(),
                "actionType": action,
                "identifier": self.resource,
                "entityUri": format!("/{collection}/{}", self.resource),
            }],
        });
        if status != "ACCEPTED" {
            shown["timeStarted"] = json!(self.progress.accepted.to_string());
        }
        if let Some(ended) = self.ended {
            shown["timeFinished"] = json!(ended.to_string());
        }
        shown
    }

    /// Why it failed, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        match &self.progress.timeline.outcome {
            Outcome::Fail { message, .. } => Some(message.clone()),
            _ => None,
        }
    }

    /// The entries of its errors.
    pub(super) fn errors(&self) -> Vec<Value> {
        match (&self.progress.timeline.outcome, self.ended) {
            (Outcome::Fail { code, message }, Some(ended)) => {
                vec![json!({"code": code, "message": message, "timestamp": ended.to_string()})]
            }
            _ => Vec::new(),
        }
    }

    /// The entries of its log.
    pub(super) fn logs(&self) -> Vec<Value> {
        let note =
            |message: String, time: Timestamp| json!({"message": message, "timestamp": time.to_string()});
        let mut logs = vec![note(format!("{} accepted", self.operation_type()), self.progress.accepted)];
        if let Some(ended) = self.ended {
            let how = match self.progress.timeline.outcome {
                Outcome::Succeed => "succeeded",
                Outcome::Fail { .. } => "failed",
                _ => "was canceled",
            };
            logs.push(note(format!("{} {how}", self.operation_type()), ended));
        }
        logs
    }
}
