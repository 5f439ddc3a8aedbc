//! The server's own account of a failure: `metav1.Status`, parsed leniently.

mod values;

use serde::Deserialize;
use serde_json::Value;

/// The cause a server adds when findings about a custom resource kept it from evaluating the CRD's rules.
const UNCHECKED: &str = "some validation rules were not checked because the object was invalid";

/// The `Status` of a rejected or failed call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ApiStatus {
    pub code: u16,
    /// The machine-readable reason: `NotFound`, `Conflict`, `Invalid` …
    pub reason: String,
    pub message: String,
    pub details: StatusDetails,
}

/// What a failure is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    pub name: String,
    pub group: String,
    /// The object's kind, or its resource (`namespaces`).
    pub kind: String,
    pub causes: Vec<StatusCause>,
    /// After how many seconds to retry.
    pub retry_after_seconds: u64,
}

/// One finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// The machine-readable reason: `FieldValueInvalid`, `FieldManagerConflict` …
    pub reason: String,
    pub message: String,
    /// As in `spec.ports[0].name`.
    pub field: String,
}

impl ApiStatus {
    /// Parses the body of an error response; `None` if it is not a `Status`, as with a proxy's page or the plain text
    /// that a server sends for unknown paths.
    pub(crate) fn parse(code: u16, body: &[u8]) -> Option<Self> {
        let mut fields: serde_json::Map<String, Value> = serde_json::from_slice(body).ok()?;
        if fields.get("kind")? != "Status" {
            return None;
        }
        // `details` may be null, which means absent.
        fields.retain(|_, value| !value.is_null());
        let mut status: Self = serde_json::from_value(Value::Object(fields)).ok()?;
        // A skipped rule is not a finding, and the field it names is not at fault.
        status.details.causes.retain(|cause| !cause.message.contains(UNCHECKED));
        status.message = values::redact_values(&status.message);
        for cause in &mut status.details.causes {
            cause.message = values::redact_values(&cause.message);
        }
        Some(Self { code, ..status })
    }

    /// Whether nothing is served at the path, whichever object it names: kinds differ in what can be done with their objects.
    pub fn concerns_the_path(&self) -> bool {
        self.code == 404
            && self.details.name.is_empty()
            && self.message.contains("could not find the requested resource")
    }

    pub fn has_cause(&self, reason: &str) -> bool {
        self.details.causes.iter().any(|cause| cause.reason == reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_is_parsed_as_one() {
        let check = |body: &str, expected: Option<(&str, usize)>| {
            let status = ApiStatus::parse(409, body.as_bytes());
            let found = status.as_ref().map(|status| (status.reason.as_str(), status.details.causes.len()));
            assert_eq!(found, expected, "{body}");
            assert!(status.is_none_or(|status| status.code == 409));
        };
        check("404 page not found\n", None);
        check("<html>", None);
        check("{}", None);
        check(r#"{"kind":"Pod"}"#, None);
        check(r#"{"kind":"Status"}"#, Some(("", 0)));
        check(r#"{"kind":"Status","reason":"Conflict","details":null}"#, Some(("Conflict", 0)));
        check(
            r#"{"kind":"Status","reason":"Conflict","code":200,"details":{"causes":[{"reason":"FieldManagerConflict","message":"m","field":".spec"}]}}"#,
            Some(("Conflict", 1)),
        );
        check(
            r#"{"kind":"Status","reason":"Invalid","details":{"causes":[
                {"reason":"FieldValueNotSupported","message":"Unsupported value: \"c\"","field":"spec.mode"},
                {"reason":"FieldValueInvalid","field":"<nil>","message":"Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"}
            ]}}"#,
            Some(("Invalid", 1)),
        );
    }
}
