//! The cloud operation of an object, as operators record it in the status.

pub(crate) mod in_cluster;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::age::age;

/// The operation of an object that is in progress, or that has ended and is not settled yet. Read leniently: other
/// operators record operations, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudOperation {
    pub(crate) phase: String,
    pub(crate) class: String,
    pub(crate) percent: Option<u8>,
    pub(crate) work_request: String,
    pub(crate) request_id: String,
    pub(crate) message: String,
    /// When it began or, if that was not recorded, when it was last observed.
    since: String,
    /// What went wrong with the one before, if it failed.
    last_error: Option<String>,
}

impl CloudOperation {
    /// The operation recorded at `.status.status.async.current`.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let status = object.pointer("/status/status")?;
        let current = status.pointer("/async/current")?.as_object().filter(|current| !current.is_empty())?;
        let text = |name: &str| current.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let percent = current.get("percentComplete").and_then(Value::as_f64);
        let started = text("startedAt");
        Some(Self {
            phase: text("phase"),
            class: text("normalizedClass"),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
            percent: percent.map(|percent| percent.clamp(0.0, 100.0).round() as u8),
            work_request: text("workRequestId"),
            request_id: status["opcRequestId"].as_str().unwrap_or_default().to_owned(),
            message: text("message"),
            since: if started.is_empty() { text("updatedAt") } else { started },
            last_error: last_error(status),
        })
    }

    pub(crate) fn age(&self, now: Timestamp) -> String {
        age(&self.since, now)
    }

    /// As in `40 %`, or empty if unknown.
    pub(crate) fn percentage(&self) -> String {
        self.percent.map_or_else(String::new, |percent| format!("{percent} %"))
    }

    /// Class and percentage: `pending, 40 %`.
    pub(crate) fn progress(&self) -> String {
        self.percent.map_or_else(|| self.class.clone(), |percent| format!("{}, {percent} %", self.class))
    }

    /// The same with the message: `pending, 40 %: waiting for capacity`.
    pub(crate) fn sentence(&self) -> String {
        let progress = self.progress();
        if self.message.is_empty() { progress } else { format!("{progress}: {}", self.message) }
    }
}

/// The message of the last operation, if it made no progress.
fn last_error(status: &Value) -> Option<String> {
    let last = status.pointer("/async/lastOperation")?;
    let class = last["normalizedClass"].as_str().filter(|class| *class != "succeeded")?;
    Some(last["message"].as_str().filter(|message| !message.is_empty()).unwrap_or(class).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_is_read_from_status() {
        let object = json!({ "status": { "status": {
            "opcRequestId": "req-1",
            "async": { "current": {
                "phase": "create", "normalizedClass": "pending", "percentComplete": 39.6, "workRequestId": "wr-1",
                "message": "making it", "startedAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:05Z",
            } },
        } } });
        let operation = CloudOperation::of(&object).unwrap();
        assert_eq!(operation.sentence(), "pending, 40 %: making it");
        assert_eq!((operation.work_request.as_str(), operation.request_id.as_str()), ("wr-1", "req-1"));
        assert_eq!(operation.age("2026-01-01T00:00:30Z".parse().unwrap()), "30s");
    }

    #[test]
    fn an_object_without_one_has_none() {
        for status in [
            json!({}),
            json!({ "status": { "async": {} } }),
            json!({ "status": { "async": { "current": {} } } }),
        ] {
            assert_eq!(CloudOperation::of(&json!({ "status": status })), None);
        }
        let odd = json!({ "status": { "status": { "async": { "current": { "percentComplete": 400 } } } } });
        assert_eq!(CloudOperation::of(&odd).unwrap().percentage(), "100 %");
    }
}
