//! Resources of every kind.

use jiff::Timestamp;
use oraclecloud::Kind;
use oraclecloud::kind::Lifecycle;
use oraclecloud::kind::{Extent, Shape};
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
pub(super) fn state_name(kind: Kind, state: Lifecycle) -> Option<&'static str> {
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
    let with = |name: &str| {
        kind.decisions
            .states
            .iter()
            .find(|(it, meaning)| *meaning == state && (name.is_empty() || *it == name))
    };
    USUAL.into_iter().find_map(with).or_else(|| with("")).map(|(name, _)| *name)
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
    pub(super) fn meaning(&self) -> Option<Lifecycle> {
        self.kind.decisions.lifecycle(Some(&self.state))
    }

    /// Applies the outcome of the work request that was changing it.
    pub(super) fn complete(&mut self, work: &WorkRequest, now: Timestamp) {
        self.busy = None;
        self.updated = now;
        let succeeded = work.progress.timeline.outcome == Outcome::Succeed;
        let end = match work.work {
            Work::Create if !succeeded => {
                self.details = Some(match &work.progress.timeline.outcome {
                    Outcome::Fail { message, .. } => message.clone(),
                    _ => "The create was canceled.".to_owned(),
                });
                Lifecycle::Failed
            }
            Work::Delete if !succeeded => return self.state.clone_from(&work.state_before),
            Work::Delete => {
                self.deletion = Some(work.id.clone());
                let is_at_once = self.kind.delete.method == http::Method::DELETE;
                if is_at_once { Lifecycle::Deleted } else { Lifecycle::Scheduled }
            }
            Work::Create | Work::Change => {
                if succeeded {
                    work.change.iter().for_each(|(name, value)| self.set(name, value));
                }
                Lifecycle::Ready
            }
        };
        state_name(self.kind, end).unwrap_or_default().clone_into(&mut self.state);
    }

    /// Sets a field as an update does: an empty text removes it, and what an update takes only in part is kept otherwise.
    fn set(&mut self, name: &str, value: &Value) {
        let field = self.kind.description().spec.get(name);
        match (self.fields.get_mut(name), value) {
            (_, value) if value == "" => _ = self.fields.remove(name),
            (Some(Value::Object(known)), Value::Object(more))
                if field.is_some_and(|it| it.updated.is_some()) =>
            {
                known.extend(more.clone());
            }
            _ if field.is_some_and(|field| field.unread) => {}
            _ => _ = self.fields.insert(name.to_owned(), value.clone()),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let kind = self.kind;
        let status = &kind.description().status;
        let own = [
            (kind.id_field.as_str(), json!(self.id)),
            ("lifecycleState", json!(self.state)),
            ("timeCreated", json!(self.created.to_string())),
            ("timeUpdated", json!(self.updated.to_string())),
        ];
        let mut body: Map<String, Value> =
            own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        body.extend(self.fields.clone());
        body.extend(self.details.clone().map(|text| (kind.details.clone(), json!(text))));
        body.retain(|name, _| status.get(name).is_some_and(|field| field.shape != Shape::Secret));
        for (name, field) in status.of_variant(status.variant(&body.clone())) {
            if let (Some(only), Some(Value::Array(entries))) = (&field.only, body.get_mut(name)) {
                for entry in entries {
                    *entry = json!({only: entry.get(only)});
                }
            } else if let Some(value) = body.get_mut(name) {
                complete(kind, &field.shape, value);
            } else if field.required {
                body.insert(name.clone(), kind.example_of(field));
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
            for (name, field) in &described.listed {
                match fields.get_mut(name) {
                    Some(value) => complete(self.kind, &field.shape, value),
                    None if field.required => _ = fields.insert(name.clone(), self.kind.example_of(field)),
                    None => {}
                }
            }
            for (name, field) in described.status.iter() {
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

/// Makes what was sent what a response shows: without what its models lack, with the fields that they require, and with values
/// that the service knows.
fn complete(kind: Kind, shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::List(of), Value::Array(entries)) => entries.iter_mut().for_each(|it| complete(kind, of, it)),
        (Shape::Map(of), Value::Object(entries)) => {
            entries.values_mut().for_each(|it| complete(kind, of, it));
        }
        (Shape::OneOf(values), value) if !values.iter().any(|known| *value == json!(known)) => {
            *value = json!(values.first());
        }
        (Shape::Text | Shape::Time, value) if value.is_object() || value.is_array() => {
            *value = kind.shaped(shape, Extent::Required, 0);
        }
        (Shape::Model(_), value) if !value.is_object() => *value = kind.shaped(shape, Extent::Required, 0),
        (Shape::Model(name), Value::Object(fields)) => {
            let Some(model) = kind.model(name) else { return };
            if let (Some(by), Some(first)) = (&model.discriminator, model.variants.keys().next()) {
                fields.entry(by.clone()).or_insert_with(|| json!(first));
            }
            let shown: Vec<_> = model
                .of_variant(model.variant(&fields.clone()))
                .filter(|(_, field)| field.shape != Shape::Secret)
                .collect();
            fields.retain(|name, _| shown.iter().any(|(it, _)| *it == name));
            for (name, field) in shown {
                match fields.get_mut(name) {
                    Some(value) => complete(kind, &field.shape, value),
                    None if field.required => _ = fields.insert(name.clone(), kind.example_of(field)),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use oraclecloud::kind::Embedded;

    use super::*;

    /// The paths of what a response has and its models lack.
    fn strange(kind: Kind, path: &str, shape: &Shape, value: &Value) -> Vec<String> {
        match (shape, value) {
            (Shape::List(of), Value::Array(entries)) => {
                entries.iter().flat_map(|it| strange(kind, &format!("{path}[]"), of, it)).collect()
            }
            (Shape::Map(of), Value::Object(entries)) => {
                entries.values().flat_map(|it| strange(kind, &format!("{path}{{}}"), of, it)).collect()
            }
            (Shape::Model(name), Value::Object(fields)) => {
                let model = kind.model(name).unwrap();
                let below = |(name, value): (&String, &Value)| match model.get(name) {
                    Some(field) => strange(kind, &format!("{path}.{name}"), &field.shape, value),
                    None => vec![format!("{path}.{name}")],
                };
                fields.iter().flat_map(below).collect()
            }
            (Shape::Secret | Shape::List(_) | Shape::Map(_) | Shape::Model(_), _) => vec![path.to_owned()],
            (Shape::Text | Shape::Time, value) if !value.is_string() => vec![path.to_owned()],
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_response_shows_what_its_models_have_and_no_more() {
        let mut dropped = Vec::new();
        for kind in Embedded::all().iter().flat_map(|embedded| embedded.read().kinds()) {
            let description = kind.description();
            let sent = kind.example(&description.spec, None, Extent::Everything);
            for (name, field) in description.status.iter().filter(|(_, field)| field.shape != Shape::Secret) {
                let Some(mut value) = sent.get(name).cloned() else { continue };
                let before = strange(kind, name, &field.shape, &value);
                complete(kind, &field.shape, &mut value);
                assert_eq!(strange(kind, name, &field.shape, &value), Vec::<String>::new(), "{kind:?}");
                dropped.extend(before.into_iter().map(|path| format!("{}.{path}", kind.path())));
            }
        }
        for path in [
            "containerinstances/ContainerInstance.containers[].imageUrl",
            "loadbalancer/LoadBalancer.certificates{}.privateKey",
        ] {
            assert!(dropped.iter().any(|it| it.starts_with(path)), "{path} is not in {dropped:#?}");
        }
    }
}
