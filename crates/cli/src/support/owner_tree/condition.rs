//! The condition of an object that has changed last: what has just happened to it.

use serde::Serialize;
use serde_json::Value;

use super::array;

/// Where conditions are. OSOK's kinds have them one level deeper.
pub(crate) const PLACES: [&str; 2] = ["/status/conditions", "/status/status/conditions"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LatestCondition {
    r#type: String,
    status: String,
    reason: String,
    /// Whether it is as it should be; nothing if it merely describes.
    is_met: Option<bool>,
    /// When it got this status.
    since: String,
}

impl LatestCondition {
    pub(super) fn of(object: &Value) -> Option<Self> {
        let conditions = PLACES.iter().find_map(|place| object.pointer(place)).map_or(&[][..], array);
        let time = |condition: &&Value| condition["lastTransitionTime"].as_str().map(str::to_owned);
        // Of several that changed at the same time, one that is not as it should be says most.
        let weight = |condition: &Value| match (is_met(condition), condition["type"].as_str()) {
            (Some(false), _) => 3,
            (_, Some("Ready" | "Available")) => 2,
            (Some(true), _) => 1,
            (None, _) => 0,
        };
        let rank = |condition: &&Value| (time(condition), weight(condition));
        let latest = conditions.iter().filter(|condition| time(condition).is_some()).max_by_key(rank)?;
        let text = |name: &str| latest[name].as_str().unwrap_or_default().to_owned();
        Some(Self {
            is_met: is_met(latest),
            r#type: text("type"),
            status: text("status"),
            reason: text("reason"),
            since: text("lastTransitionTime"),
        })
    }
}

/// Whether a condition is as it should be; nothing if it merely describes.
pub(crate) fn is_met(condition: &Value) -> Option<bool> {
    let text = |name: &str| condition[name].as_str().unwrap_or_default();
    readiness::is_met(text("type"), text("status"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_latest_change_counts_and_what_is_not_met_says_more() {
        let condition = |name: &str, status: &str, time: &str| json!({ "type": name, "status": status, "lastTransitionTime": time });
        let check = |conditions: &[Value], expected: Option<&str>| {
            let object = json!({ "status": { "conditions": conditions } });
            assert_eq!(LatestCondition::of(&object).map(|it| it.r#type).as_deref(), expected);
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
        check(&[], None);
        check(&[json!({ "type": "Ready", "status": "True" })], None);
        check(&[condition("A", "False", early), condition("B", "True", late)], Some("B"));
        check(&[condition("Ready", "False", late), condition("Stalled", "False", late)], Some("Ready"));
        check(&[condition("Ready", "True", late), condition("PodScheduled", "True", late)], Some("Ready"));
        let deeper = json!({ "status": { "status": { "conditions": [condition("C", "True", early)] } } });
        assert_eq!(LatestCondition::of(&deeper).map(|it| it.r#type).as_deref(), Some("C"));
    }
}
