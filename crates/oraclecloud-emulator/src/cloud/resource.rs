//! Resources of every kind.

use jiff::Timestamp;
use oraclecloud::Kind;
use oraclecloud::kind::State;
use serde_json::{Map, Value, json};

use super::work_request::{Work, WorkRequest};
use crate::timeline::Outcome;

#[derive(Debug)]
pub(super) struct Resource {
    /// The tenancy and region it is in.
    pub(super) place: String,
    pub(super) kind: Kind,
    pub(super) id: String,
    /// In the order of creation.
    pub(super) number: u64,
    /// As sent, with defaults and parents.
    pub(super) fields: Map<String, Value>,
    pub(super) state: String,
    pub(super) details: Option<String>,
    pub(super) etag: String,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    /// The work request that is changing it.
    pub(super) busy: Option<String>,
    /// The work request that created it.
    pub(super) creation: String,
    /// The work request that deleted it.
    pub(super) deletion: Option<String>,
}

/// The kind's name for a state: of several, the usual one.
pub(super) fn state_name(kind: Kind, state: State) -> Option<&'static str> {
    const USUAL: [&str; 10] = [
        "CREATING",
        "PROVISIONING",
        "ACTIVE",
        "AVAILABLE",
        "UPDATING",
        "DELETING",
        "TERMINATING",
        "DELETED",
        "TERMINATED",
        "FAILED",
    ];
    let states = &kind.description().states;
    let usual = USUAL.into_iter().find(|name| states.get(*name) == Some(&state));
    usual.or_else(|| states.iter().find(|(_, known)| **known == state).map(|(name, _)| name.as_str()))
}

impl Resource {
    pub(super) fn compartment(&self) -> &str {
        self.text("compartmentId")
    }

    pub(super) fn name(&self) -> &str {
        self.text(&self.kind.description().name_field)
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// What its state means; none for a state that the kind does not have.
    pub(super) fn meaning(&self) -> Option<State> {
        self.kind.states.get(&self.state).copied()
    }

    /// Applies the outcome of the work request that was changing it.
    pub(super) fn complete(&mut self, work: &WorkRequest, now: Timestamp) {
        self.busy = None;
        self.updated = now;
        let succeeded = work.progress.timeline.outcome == Outcome::Succeed;
        match work.work {
            Work::Create if !succeeded => {
                state_name(self.kind, State::Failed).unwrap_or("FAILED").clone_into(&mut self.state);
                self.details = Some(match &work.progress.timeline.outcome {
                    Outcome::Fail { message, .. } => message.clone(),
                    _ => "The create was canceled.".to_owned(),
                });
            }
            Work::Delete if succeeded => {
                state_name(self.kind, State::Deleted).unwrap_or("DELETED").clone_into(&mut self.state);
                self.deletion = Some(work.id.clone());
            }
            Work::Delete => self.state.clone_from(&work.state_before),
            Work::Create | Work::Change => {
                state_name(self.kind, State::Ready).unwrap_or("ACTIVE").clone_into(&mut self.state);
                if succeeded {
                    self.fields.extend(work.change.clone());
                    // An empty text removes what it is set to.
                    let kept = &work.change;
                    self.fields.retain(|name, value| !kept.contains_key(name) || value != "");
                }
            }
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let described = self.kind.description();
        let shown = self.fields.iter().filter(|(name, _)| described.status.contains_key(*name));
        let mut body: Map<String, Value> = shown.map(|(name, value)| (name.clone(), value.clone())).collect();
        let own = [
            ("id", json!(self.id)),
            ("lifecycleState", json!(self.state)),
            ("timeCreated", json!(self.created.to_string())),
            ("timeUpdated", json!(self.updated.to_string())),
        ];
        let own = own.into_iter().filter(|(name, _)| described.status.contains_key(*name));
        body.extend(own.map(|(name, value)| (name.to_owned(), value)));
        if let Some(text) = &self.details {
            body.insert(described.details.clone(), json!(text));
        }
        for (name, field) in &described.status {
            if let (Some(only), Some(Value::Array(entries))) = (&field.only, body.get_mut(name)) {
                for entry in entries {
                    *entry = json!({only: entry.get(only)});
                }
            }
            if field.required && !body.contains_key(name) {
                body.insert(name.clone(), self.kind.example_of(field));
            }
        }
        Value::Object(body)
    }

    /// The entry in a listing.
    pub(super) fn summary(&self) -> Value {
        let described = self.kind.description();
        let mut body = self.to_json();
        if let Value::Object(fields) = &mut body {
            fields.retain(|name, _| !described.not_listed.contains(name));
            for (name, field) in &described.status {
                if let (Some(only), Some(Value::Array(entries))) = (&field.only, fields.get_mut(name)) {
                    for entry in entries {
                        *entry = entry.get(only).cloned().unwrap_or_default();
                    }
                }
            }
        }
        body
    }
}
