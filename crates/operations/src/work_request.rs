//! The provider's own record of an operation, parsed leniently.

use serde_json::Value;

use crate::operation::{Class, Percent, Phase};

/// What a work request says.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRequest {
    pub id: String,
    pub class: Class,
    /// Which mutation it is by its own account; none for an operation type of another kind.
    pub phase: Option<Phase>,
    pub raw_status: Option<String>,
    pub raw_operation_type: Option<String>,
    pub percent: Option<Percent>,
    /// The resource of our kind that it names, if any.
    pub resource_id: Option<String>,
}

/// How a kind appears in its work requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRequestTypes {
    /// The `entityType` of the kind. Services write it in many ways, so only letters and digits count, a plural is the
    /// same, and so is the last word of a longer name.
    pub entity: &'static str,
    /// The operation types that create, update and delete.
    pub operations: &'static [(&'static str, Phase)],
}

impl WorkRequest {
    /// Parses a work request. No field is required: a missing or unknown status has the class `unknown`, which is polled
    /// again, and is never an error that would end the operation.
    pub fn read(body: &Value, id: &str, types: &WorkRequestTypes) -> Self {
        let raw_status = text(body, "status");
        let raw_operation_type = text(body, "operationType");
        let phase = raw_operation_type.as_deref().and_then(|raw| {
            types.operations.iter().find(|(name, _)| name.eq_ignore_ascii_case(raw)).map(|(_, phase)| *phase)
        });
        Self {
            id: text(body, "id").unwrap_or_else(|| id.to_owned()),
            class: raw_status.as_deref().map_or(Class::Unknown, class),
            phase,
            raw_status,
            raw_operation_type,
            percent: body.get("percentComplete").and_then(Value::as_f64).and_then(Percent::reported),
            resource_id: resource_id(body, phase, types.entity),
        }
    }

    /// Whether it is in a terminal state.
    pub const fn has_ended(&self) -> bool {
        matches!(self.class, Class::Succeeded | Class::Failed | Class::Canceled)
    }
}

fn class(raw: &str) -> Class {
    match raw.to_ascii_uppercase().as_str() {
        "ACCEPTED" | "IN_PROGRESS" | "WAITING" | "CANCELING" => Class::Pending,
        "SUCCEEDED" => Class::Succeeded,
        "FAILED" => Class::Failed,
        "CANCELED" => Class::Canceled,
        "NEEDS_ATTENTION" => Class::Attention,
        _ => Class::Unknown,
    }
}

/// The resource of our kind that the work request names. The action only ranks candidates: a resource stays
/// `IN_PROGRESS` until the work is over, and related resources are listed as well.
fn resource_id(body: &Value, phase: Option<Phase>, entity: &str) -> Option<String> {
    let expected = match phase {
        Some(Phase::Create) => "CREATED",
        Some(Phase::Update) => "UPDATED",
        Some(Phase::Delete) => "DELETED",
        None => "",
    };
    let rank = |resource: &Value| match text(resource, "actionType") {
        Some(action) if action.eq_ignore_ascii_case(expected) => 0,
        Some(action) if action.eq_ignore_ascii_case("IN_PROGRESS") => 1,
        Some(action) if action.eq_ignore_ascii_case("RELATED") => 3,
        _ => 2,
    };
    body.get("resources")
        .and_then(Value::as_array)?
        .iter()
        .filter(|resource| text(resource, "entityType").is_some_and(|kind| is_entity(&kind, entity)))
        .filter_map(|resource| Some((rank(resource), text(resource, "identifier")?)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, id)| id)
}

/// Whether `written`, in a work request, means `entity`: `NODE_POOL` and `node-pools` are a `NodePool`, `cluster` is a
/// `RedisCluster`.
fn is_entity(written: &str, entity: &str) -> bool {
    let plain = |text: &str| {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect::<String>()
    };
    let (written, entity) = (plain(written), plain(entity));
    !written.is_empty()
        && [written.as_str(), written.trim_end_matches('s')]
            .iter()
            .any(|written| entity == *written || written.len() > 3 && entity.ends_with(written))
}

fn text(body: &Value, name: &str) -> Option<String> {
    let text = body.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TYPES: WorkRequestTypes = WorkRequestTypes {
        entity: "queue",
        operations: &[
            ("CREATE_QUEUE", Phase::Create),
            ("MOVE_QUEUE", Phase::Update),
            ("DELETE_QUEUE", Phase::Delete),
        ],
    };

    fn read(body: &Value) -> WorkRequest {
        WorkRequest::read(body, "wr-1", &TYPES)
    }

    #[test]
    fn an_entity_is_recognised_however_it_is_written() {
        let check = |written: &str, entity: &str, expected: bool| {
            assert_eq!(is_entity(written, entity), expected, "{written} {entity}");
        };
        for written in ["NodePool", "NODE_POOL", "nodepool", "node-pools", "pool"] {
            check(written, "NodePool", true);
        }
        check("cluster", "RedisCluster", true);
        check("queue", "queue", true);
        for (written, entity) in
            [("", "Queue"), ("node", "NodePool"), ("s", "Stream"), ("vault", "Queue"), ("ool", "NodePool")]
        {
            check(written, entity, false);
        }
    }

    #[test]
    fn every_documented_status_has_its_class() {
        let check = |raw: &str, class: Class| assert_eq!(read(&json!({"status": raw})).class, class, "{raw}");
        check("ACCEPTED", Class::Pending);
        check("IN_PROGRESS", Class::Pending);
        check("WAITING", Class::Pending);
        check("CANCELING", Class::Pending);
        check("SUCCEEDED", Class::Succeeded);
        check("FAILED", Class::Failed);
        check("CANCELED", Class::Canceled);
        check("NEEDS_ATTENTION", Class::Attention);
        check("in_progress ", Class::Pending);
        check("PAUSED", Class::Unknown);
        check("", Class::Unknown);
    }

    #[test]
    fn an_operation_type_of_the_kind_has_its_phase() {
        let check = |raw: &str, phase: Option<Phase>| {
            assert_eq!(read(&json!({"operationType": raw})).phase, phase, "{raw}");
        };
        check("CREATE_QUEUE", Some(Phase::Create));
        check("MOVE_QUEUE", Some(Phase::Update));
        check("DELETE_QUEUE", Some(Phase::Delete));
        check("CREATE_CONSUMER_GROUP", None);
        check("SOMETHING_NEW", None);
    }

    #[test]
    fn actions_only_rank_the_resources() {
        let check = |resources: Value, expected: Option<&str>| {
            let body = json!({"operationType": "CREATE_QUEUE", "resources": resources});
            assert_eq!(read(&body).resource_id.as_deref(), expected, "{body}");
        };
        let one = |entity: &str, action: &str, id: &str| json!({"entityType": entity, "actionType": action, "identifier": id});
        check(json!([]), None);
        check(json!([one("queue", "IN_PROGRESS", "q1")]), Some("q1"));
        check(json!([one("QUEUE", "CREATED", "q1")]), Some("q1"));
        check(json!([one("vault", "CREATED", "v"), one("queue", "RELATED", "q2")]), Some("q2"));
        check(json!([one("queue", "RELATED", "q2"), one("queue", "IN_PROGRESS", "q1")]), Some("q1"));
        check(json!([one("queue", "IN_PROGRESS", "q1"), one("queue", "CREATED", "q3")]), Some("q3"));
        check(json!([one("queue", "NEW_ACTION", "q4")]), Some("q4"));
        check(json!([{"entityType": "queue"}]), None);
        check(json!("nonsense"), None);
    }

    #[test]
    fn a_malformed_body_has_an_unknown_class_and_keeps_the_id() {
        for body in [json!(null), json!([]), json!("<html>"), json!({"status": 7, "percentComplete": "x"})] {
            let read = read(&body);
            assert_eq!(
                (read.id.as_str(), read.class, read.percent),
                ("wr-1", Class::Unknown, None),
                "{body}"
            );
            assert!(!read.has_ended());
        }
        assert_eq!(read(&json!({"percentComplete": 140})).percent.map(Percent::get), Some(100.0));
    }
}
