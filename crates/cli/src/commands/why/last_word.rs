//! What was last said about an object in its Events: controllers say there what conditions have no place for, for instance
//! that a quota keeps them from creating something.

use cluster::{Selection, Session};
use manifest::Namespace;
use serde_json::Value;

use crate::commands::family::Node;

/// What stands before a message that is one of many.
const COMBINED: &str = "(combined from similar events): ";

/// Somebody's last word about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastWord {
    pub(super) reason: String,
    pub(super) message: String,
}

/// The last word about the object of `node`. It adds to what is known, so that failing to read it is no failure.
pub(super) async fn last_word(session: &Session, node: &Node) -> Option<LastWord> {
    // Events about what is in no namespace are in this one.
    let namespace = node.target.namespace.clone().or_else(|| Namespace::new("default"));
    let fields = Some(format!("involvedObject.uid={}", node.uid));
    let selection = Selection { namespace, fields, ..Selection::default() };
    let events = session.list(&"v1/Event".parse().expect("a fixed kind"), &selection).await.ok()?;
    newest(&events.items)
}

fn newest(events: &[Value]) -> Option<LastWord> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // Times are of one format, which sorts as text. Of what is said in the same second, warnings count.
    let last = events.iter().max_by_key(|event| {
        let times = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
        let seconds = |time: &Value| text(time).get(..19).unwrap_or_default().to_owned();
        (times.map(seconds).into_iter().max(), event["type"] == "Warning")
    })?;
    let message = text(&last["message"]);
    let message = message.strip_prefix(COMBINED).unwrap_or(&message).to_owned();
    Some(LastWord { reason: text(&last["reason"]), message })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_event_counts_and_a_warning_before_others_of_its_second() {
        let event = |kind: &str, reason: &str, time: &str| json!({ "type": kind, "reason": reason, "message": "", "lastTimestamp": time });
        let check = |events: &[Value], expected: &str| {
            assert_eq!(newest(events).map(|word| word.reason).unwrap_or_default(), expected);
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
        check(&[], "");
        check(&[event("Normal", "a", early), event("Normal", "b", late)], "b");
        check(&[event("Warning", "a", early), event("Normal", "b", late)], "b");
        check(&[event("Warning", "a", late), event("Normal", "b", late)], "a");
        // Those of newer controllers have the time elsewhere, and finer.
        let series = json!({
            "type": "Normal", "reason": "c", "eventTime": "2026-01-01T00:00:01.000000Z", "lastTimestamp": null,
            "series": { "count": 7, "lastObservedTime": "2026-01-01T00:00:10.500000Z" },
        });
        check(&[series, event("Normal", "b", late)], "c");
    }
}
