//! An apply that the API server rejects although its body has not changed: something else in the live object has.

use cluster::Error;
use diag::{Diagnostic, Severity};
use fields::{FieldPath, PathElement, Quantity, Schema, Shape};
use ownership::{FieldManager, Observed};
use serde_json::Value as Json;

/// The hint where the body is as it was when it was last accepted.
const CLASH: &str =
    "Remove what clashes from the live object, for instance with kubectl edit, or change yaml_body.";

/// Whether the server finds the object invalid.
pub(super) fn is_invalid(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == 422)
}

/// The warning of a plan: an error would also block a destroy. The apply reports the error.
pub(super) fn warning(error: &Error, written: &Json, live: &Observed) -> Diagnostic {
    let mut warning = explained(error, "Plan", written, Some(live));
    warning.severity = Severity::Warning;
    warning.detail.push_str(
        "\n\nyaml_body has not changed since the last apply, so another manager's change of the live object is the reason. What \
         an apply would do is not known; it fails as long as the server rejects it.",
    );
    warning.hint(CLASH)
}

/// The error of a rejected apply of `written`, with what the server does not name.
pub(super) fn explained(
    error: &Error,
    operation: &str,
    written: &Json,
    live: Option<&Observed>,
) -> Diagnostic {
    let mut diagnostic = error.diagnostic(operation);
    let clashes = live.map(|live| clashes(error, written, live)).unwrap_or_default();
    if !clashes.is_empty() {
        diagnostic.detail.push_str("\n\nThe live object also has:\n");
        for line in clashes {
            diagnostic.detail.extend(["\n  ", line.as_str()]);
        }
        return diagnostic.hint(CLASH);
    }
    let is_quantity = |message: &str| message.contains("quantities must match");
    if error.status().is_some_and(|status| is_quantity(&status.message)) {
        let schema = Schema::of(written);
        for (path, text) in bad_quantities(written, &FieldPath::root(), schema.root()) {
            let problem = format!("\n\n  Field: {path}\n  Error: {text:?} is not a quantity");
            diagnostic.detail.push_str(&problem);
            diagnostic.field.get_or_insert(path);
        }
    }
    diagnostic
}

/// The items of the live object that others added and whose values would be doubled, with their managers.
fn clashes(error: &Error, written: &Json, live: &Observed) -> Vec<String> {
    let causes = error.status().map_or(&[][..], |status| &status.details.causes);
    let doubled = causes.iter().filter(|cause| cause.reason == "FieldValueDuplicate");
    let mut lines: Vec<String> = doubled
        .filter_map(|cause| {
            // spec.ports[1].name, Duplicate value: "http"
            let (list, rest) = cause.field.rsplit_once('[')?;
            let name = rest.split_once("].")?.1;
            let (_, value) = cause.message.split_once("Duplicate value: ")?;
            let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
            Some(items_with(live, written, list, (name, &value)))
        })
        .flatten()
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

fn items_with(live: &Observed, written: &Json, list: &str, (name, value): (&str, &Json)) -> Vec<String> {
    let (mut path, mut shape, mut items) = (FieldPath::root(), live.schema().root(), live.object());
    for field in list.split('.') {
        let element = PathElement::field(field);
        (path, shape, items) = (path.child(element.clone()), shape.step(&element), &items[field]);
    }
    let items = items.as_array().into_iter().flatten().enumerate();
    let doubled = items.filter(|(_, item)| item[name] == *value);
    let paths = doubled.map(|(index, item)| path.child(shape.item(index, item)));
    let others = paths.filter(|path| fields::value_at(written, path, live.schema()).is_none());
    others
        .map(|path| {
            let path = path.child(PathElement::field(name));
            let holders = live.managed().holders(&path);
            let names: Vec<&str> = holders.into_iter().map(FieldManager::as_str).collect();
            format!("{path}: {value} (modified by: {})", names.join(", "))
        })
        .collect()
}

/// The fields of `value` that have to be quantities and are not, with their texts.
fn bad_quantities(value: &Json, path: &FieldPath, shape: Shape<'_>) -> Vec<(String, String)> {
    match value {
        Json::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                let element = PathElement::field(name);
                bad_quantities(value, &path.child(element.clone()), shape.step(&element))
            })
            .collect(),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| {
                bad_quantities(item, &path.child(shape.item(index, item)), shape.element())
            })
            .collect(),
        Json::String(text) if shape.is_quantity() && Quantity::from_value(value).is_none() => {
            vec![(path.to_string(), text.clone())]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bad_quantity_is_found_wherever_it_is() {
        let body = json!({
            "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
                {"name": "a", "resources": {"limits": {"cpu": "500m", "memory": "128 MB"}}},
            ]},
        });
        let schema = Schema::of(&body);
        let found = bad_quantities(&body, &FieldPath::root(), schema.root());
        let expected = "spec.containers[name=a].resources.limits.memory";
        assert_eq!(found, [(expected.to_owned(), "128 MB".to_owned())]);
    }
}
