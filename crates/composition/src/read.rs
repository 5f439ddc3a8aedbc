//! Reads an object into the types of this crate, with an error that names the field that does not fit.

use diag::{Code, Diagnostic};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::codes;
use crate::object;
use crate::protocol::Object;

/// Reads the `spec` of `object`, which has to be of `kind` in one of `api_versions`.
pub(crate) fn spec<T: DeserializeOwned>(
    object: &Object,
    kind: &str,
    api_versions: &[&str],
) -> Result<T, Box<Diagnostic>> {
    let part = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if part("kind") != kind || !api_versions.contains(&part("apiVersion")) {
        let summary = format!("expected a {kind}, found {:?} of {:?}", part("kind"), part("apiVersion"));
        let hint = format!("Pass a {kind} of {}.", api_versions.join(" or "));
        return Err(Box::new(Diagnostic::error(codes::WRONG_KIND, summary).hint(hint)));
    }
    let named = || format!("{kind} {}", object::name(object).unwrap_or("without a name"));
    let spec = object.get("spec").unwrap_or(&Value::Null);
    serde_path_to_error::deserialize(spec).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "spec".to_owned() } else { format!("spec.{path}") };
        let summary = format!("cannot read {field}: {}", error.into_inner());
        Box::new(Diagnostic::error(codes::UNREADABLE, summary).object(named()).field(field))
    })
}

/// Something wrong at `field` of an object.
pub(crate) fn wrong(code: Code, field: impl Into<String>, summary: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, summary).field(field)
}

/// A name, as references write it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NameRef {
    /// The name.
    pub name: String,
}
