//! The server's own account of a failure: `metav1.Status`, read leniently.

mod values;

use serde::Deserialize;

/// What a server adds to the findings about a custom resource when they kept it from asking the rules of its CRD.
const UNCHECKED: &str = "some validation rules were not checked because the object was invalid";

/// What the server said when it refused or failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ApiStatus {
    /// The HTTP status code.
    #[serde(default)]
    pub code: u16,
    /// The machine-readable reason: `NotFound`, `Conflict`, `Invalid` …
    #[serde(default)]
    pub reason: String,
    /// The server's text.
    #[serde(default)]
    pub message: String,
    /// What it is about.
    #[serde(default)]
    pub details: StatusDetails,
}

/// What a failure is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDetails {
    /// The object's name.
    #[serde(default)]
    pub name: String,
    /// The object's API group.
    #[serde(default)]
    pub group: String,
    /// The object's kind, or its resource (`namespaces`).
    #[serde(default)]
    pub kind: String,
    /// The single findings.
    #[serde(default)]
    pub causes: Vec<StatusCause>,
    /// When to try again.
    #[serde(default)]
    pub retry_after_seconds: u64,
}

/// One finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StatusCause {
    /// The machine-readable reason: `FieldValueInvalid`, `FieldManagerConflict` …
    #[serde(default)]
    pub reason: String,
    /// The finding in words.
    #[serde(default)]
    pub message: String,
    /// The field, as `spec.ports[0].name`.
    #[serde(default)]
    pub field: String,
}

impl ApiStatus {
    /// Reads the body of an answer with an error code; `None` when it is not a status, as with a proxy's page or the
    /// plain text that a server sends for paths it does not know.
    pub(crate) fn parse(code: u16, body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Probe {
            kind: String,
        }
        let probe: Probe = serde_json::from_slice(body).ok()?;
        if probe.kind != "Status" {
            return None;
        }
        // `details` may be null, which is as good as absent.
        let mut value: serde_json::Value = serde_json::from_slice(body).ok()?;
        if let Some(object) = value.as_object_mut() {
            object.retain(|_, value| !value.is_null());
        }
        let mut status: Self = serde_json::from_value(value).ok()?;
        // What was not looked at is no finding, and the field it names is none.
        status.details.causes.retain(|cause| !cause.message.contains(UNCHECKED));
        status.message = values::left_out(&status.message);
        for cause in &mut status.details.causes {
            cause.message = values::left_out(&cause.message);
        }
        Some(Self { code, ..status })
    }

    /// Whether some cause has this reason.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.details.causes.iter().any(|cause| cause.reason == reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_is_taken_for_one() {
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
