//! The flat text maps that Terraform shows and stores: `managed_state_projection` and `managed_fields`.
//!
//! Keys and values are those of the Go provider, so that a state it wrote reads as unchanged: paths with positions,
//! dots in names not escaped, scalars as `%v` prints them, everything else as compact JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::jsonpath::go_text;
use crate::{FieldPath, FieldSet, INTERNAL_ANNOTATIONS, PathElement, Positions};

#[cfg(test)]
mod tests;

/// Annotations that Kubernetes itself keeps; who holds them says nothing to a user.
const SYSTEM_ANNOTATIONS: &[&str] = &[
    "deployment.kubernetes.io/",
    "kubectl.kubernetes.io/",
    "autoscaling.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "kubernetes.io/",
];

/// `managed_state_projection`: the values of held fields, as text. The provider's own annotations are left out.
pub fn flat_values(values: &BTreeMap<FieldPath, Value>, positions: &Positions) -> BTreeMap<String, String> {
    let shown = values.iter().filter(|(path, _)| !is_annotation(path, &[INTERNAL_ANNOTATIONS]));
    shown.map(|(path, value)| (positions.print(path), flat_text(value))).collect()
}

/// A value as the flat maps have it: strings as they are, `1e+06`, `<nil>`, `{"a":"\u003cb\u003e"}`.
pub fn flat_text(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => manifest::to_json(value),
        scalar => go_text(scalar),
    }
}

/// `managed_fields`: who holds which field. Of several managers `own` is shown if it is one, else the first by name.
///
/// Status and annotations that the provider or Kubernetes keep for themselves are left out.
pub fn flat_managers<'a>(
    held: impl IntoIterator<Item = (&'a str, &'a FieldSet)>,
    own: &str,
    positions: &Positions,
) -> BTreeMap<String, String> {
    let mut managers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (manager, set) in held {
        for path in set.paths() {
            if is_shown(&path, set) {
                managers.entry(positions.print(&path)).or_default().insert(manager);
            }
        }
    }
    let shown =
        |managers: &BTreeSet<&str>| managers.get(own).or(managers.first()).map(|name| (*name).to_owned());
    managers.iter().filter_map(|(path, managers)| Some((path.clone(), shown(managers)?))).collect()
}

fn is_shown(path: &FieldPath, set: &FieldSet) -> bool {
    let is_status = path.elements().first().and_then(PathElement::as_field) == Some("status");
    // That a list has an element is shown by what is held below it.
    let is_bare_element =
        matches!(path.elements().last(), Some(PathElement::Key(_))) && set.below(path).is_some();
    !is_status
        && !is_bare_element
        && !is_annotation(path, &[INTERNAL_ANNOTATIONS])
        && !is_annotation(path, SYSTEM_ANNOTATIONS)
}

/// Whether `path` is an annotation whose key begins with one of `prefixes`.
fn is_annotation(path: &FieldPath, prefixes: &[&str]) -> bool {
    let names: Option<Vec<&str>> = path.elements().iter().map(PathElement::as_field).collect();
    matches!(names.as_deref(), Some(["metadata", "annotations", key]) if prefixes.iter().any(|prefix| key.starts_with(prefix)))
}
