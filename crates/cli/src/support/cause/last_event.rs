//! The last Event about an object: controllers report there what has no condition, for instance that a quota prevents
//! them from creating something.

use cluster::{Selection, Session};
use manifest::Namespace;
use serde_json::Value;

use crate::support::owner_tree::Node;

/// The prefix of a message that combines several similar events.
const COMBINED: &str = "(combined from similar events): ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastEvent {
    pub(super) reason: String,
    pub(super) message: String,
}

/// The last event about the object of `node`. It is only extra information, so a failed read is ignored.
pub(super) async fn last_event(session: &Session, node: &Node) -> Option<LastEvent> {
    // Events about cluster-scoped objects are in this namespace.
    let namespace = node.target.namespace.clone().or_else(|| Namespace::new("default"));
    let fields = Some(format!("involvedObject.uid={}", node.uid));
    let selection = Selection { namespace, fields, ..Selection::default() };
    let events = session.list(&"v1/Event".parse().expect("a fixed kind"), &selection).await.ok()?;
    newest(&events.items)
}

fn newest(events: &[Value]) -> Option<LastEvent> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // Timestamps have one format, which sorts as text. Within a second, warnings take precedence.
    let last = events.iter().max_by_key(|event| {
        let times = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
        let seconds = |time: &Value| text(time).get(..19).unwrap_or_default().to_owned();
        (times.map(seconds).into_iter().max(), event["type"] == "Warning")
    })?;
    let message = text(&last["message"]);
    let message = message.strip_prefix(COMBINED).unwrap_or(&message).to_owned();
    Some(LastEvent { reason: text(&last["reason"]), message })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_event_counts_and_a_warning_before_others_of_its_second() {
        let event = |kind: &str, reason: &str, time: &str| json!({ "type": kind, "reason": reason, "message": "", "lastTimestamp": time });
        let check = |events: &[Value], expected: &str| {
            assert_eq!(newest(events).map(|event| event.reason).unwrap_or_default(), expected);
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
        check(&[], "");
        check(&[event("Normal", "a", early), event("Normal", "b", late)], "b");
        check(&[event("Warning", "a", early), event("Normal", "b", late)], "b");
        check(&[event("Warning", "a", late), event("Normal", "b", late)], "a");
        // events.k8s.io has the time in another field, with fractions.
        let series = json!({
            "type": "Normal", "reason": "c", "eventTime": "2026-01-01T00:00:01.000000Z", "lastTimestamp": null,
            "series": { "count": 7, "lastObservedTime": "2026-01-01T00:00:10.500000Z" },
        });
        check(&[series, event("Normal", "b", late)], "c");
    }
}
