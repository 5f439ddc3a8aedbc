//! The text of a write-only part: which fields it may have, and the form in which they are stored. It is never quoted.

use diag::{Diagnostic, Source};
use manifest::{Limits, secret, server_metadata};
use serde_json::{Map, Value as Json};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::{Object, Value};

use super::Attributes;
use crate::codes;

/// The fields as a Secret stores them; those of other kinds as they are.
pub(super) fn stored_form(fields: Map<String, Json>, api_version: &str, kind: &str) -> Json {
    let mut object = Json::Object(fields);
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    secret::normalise(&mut object);
    if let Json::Object(fields) = &mut object {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

/// Checks the write-only part of a configuration.
pub(crate) fn validate(names: Attributes, config: &Object) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    if let Some(text) = config.text(names.value)
        && let Err(problems) = parse(names.value, text)
    {
        diagnostics.add(problems);
    }
    if matches!(config.get(names.value), Value::Null) && !config.get(names.version).is_null() {
        let idle = Diagnostic::error(codes::WRITE_ONLY_INVALID, "Write-Only Version Without a Value")
            .detail(format!("{} has no effect without {}.", names.version, names.value))
            .hint(format!("Set {}, or remove {}.", names.value, names.version));
        diagnostics.add_at(Path::of(names.version), idle);
    }
    diagnostics
}

/// The fields in `text`. Problems are located by line; the text itself is never quoted.
pub(super) fn parse(name: &str, text: &str) -> Result<Map<String, Json>, Diagnostics> {
    let invalid = |detail: String| -> Diagnostics {
        let hint =
            "Write the fields to add to the object as YAML, without apiVersion, kind, name and namespace.";
        let error = Diagnostic::error(codes::WRITE_ONLY_INVALID, "Invalid Write-Only Fields");
        Diagnostics::from(error.detail(detail).hint(hint)).or_at(&Path::of(name))
    };
    let document =
        manifest::read(&Source::new(name, text), &Limits::default()).single().map_err(|problems| {
            let line = problems.iter().find_map(|problem| Some(problem.location.as_ref()?.position().line));
            let at = line.map_or_else(String::new, |line| format!(" in line {line}"));
            invalid(format!("{name} is not a single YAML document{at}."))
        })?;
    let all = document.into_value();
    let identity = ["apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.generateName"];
    let has = |field: &str| all.pointer(&format!("/{}", field.replace('.', "/"))).is_some();
    if let Some(field) = identity.into_iter().find(|field| has(field)) {
        return Err(invalid(format!("{name} contains {field}, which says which object it is.")));
    }
    let metadata = server_metadata::REFUSED_IN_BODY.iter().map(|field| format!("metadata.{field}"));
    if let Some(field) = metadata.chain(["status".to_owned()]).find(|field| has(field)) {
        return Err(invalid(format!("{name} contains {field}, which only the API server sets.")));
    }
    match all {
        Json::Object(fields) => Ok(fields),
        _ => Err(invalid(format!("{name} is not a mapping of fields."))),
    }
}
