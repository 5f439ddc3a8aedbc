//! Work requests: the asynchronous operations of the cloud. Streams have them too, but not in the API.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::resource::Kind;
use crate::route::Operation;
use crate::timeline::{Outcome, Pace, Progress};

#[derive(Debug)]
pub(super) struct WorkRequest {
    /// The tenancy and region it is in.
    pub(super) place: String,
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) operation: Operation,
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

impl WorkRequest {
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
        let action = match self.operation {
            _ if status != "SUCCEEDED" => "IN_PROGRESS",
            Operation::CreateQueue | Operation::CreateStream => "CREATED",
            Operation::DeleteQueue | Operation::DeleteStream => "DELETED",
            _ => "UPDATED",
        };
        let collection = format!("{}s", self.kind.name());
        let mut body = json!({
            "id": self.id,
            "operationType": self.operation_type(),
            "status": status,
            "compartmentId": self.compartment,
            "percentComplete": percent,
            "timeAccepted": self.progress.accepted.to_string(),
            "resources": [{
                "entityType": self.kind.name(),
                "actionType": action,
                "identifier": self.resource,
                "entityUri": format!("/{collection}/{}", self.resource),
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
        let mut logs = vec![entry(format!("{} accepted", self.operation_type()), self.progress.accepted)];
        if let Some(ended) = self.ended {
            let how = match self.progress.timeline.outcome {
                Outcome::Succeed => "succeeded",
                Outcome::Fail { .. } => "failed",
                _ => "was canceled",
            };
            logs.push(entry(format!("{} {how}", self.operation_type()), ended));
        }
        logs
    }
}
