//! Objects that `kubectl apply` wrote without server-side apply.
//!
//! It writes by updates, which add to what their manager holds and never give anything back, and keeps a copy of the
//! manifest in an annotation. A server-side apply beside it would conflict with that manager for ever, and a key that is
//! later dropped would stay. So the first server-side apply takes over everything that manager holds, the annotation
//! included, as `kubectl apply --server-side` does.

use diag::Diagnostic;
use fields::{FieldPath, FieldSet};

use crate::codes;
use crate::desired::Desired;
use crate::handover::Handover;
use crate::managed::Entry;
use crate::manager::{FieldManager, Operation};
use crate::observed::Observed;

/// Where kubectl keeps the manifest that it applied.
pub const LAST_APPLIED: [&str; 3] =
    ["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"];
/// Under this name kubectl keeps the annotation up to date beside a server-side apply; it holds nothing else.
const COPY_KEEPER: &str = "kubectl-last-applied";

/// The managers by whose names `kubectl apply` wrote the object: those that hold its copy of the manifest by an update.
/// Users may choose the name, so it proves nothing.
pub fn client_side_appliers(object: &Observed) -> Vec<FieldManager> {
    let copy = FieldPath::of_fields(LAST_APPLIED);
    let entries = object.managed().entries().iter();
    entries.filter(|entry| is_applier(entry, &copy)).map(|entry| entry.manager.clone()).collect()
}

fn is_applier(entry: &Entry, copy: &FieldPath) -> bool {
    entry.operation == Operation::Update
        && entry.subresource.is_empty()
        && entry.manager.as_str() != COPY_KEEPER
        && entry.fields.contains(copy)
}

impl Handover<'_> {
    /// Moves what `kubectl apply` holds into what `to` holds by apply.
    #[must_use]
    pub fn take_over_client_side(self, to: &FieldManager) -> Self {
        let copy = FieldPath::of_fields(LAST_APPLIED);
        self.hand_over(to, "", |entry| is_applier(entry, &copy).then(|| entry.fields.clone()))
    }
}

/// What an apply by `manager` would remove after it has taken over what `kubectl apply` holds: fields that are not in
/// `written`, and that no other manager holds in `answer`.
pub fn dropped_by_takeover(
    live: &Observed,
    answer: &Observed,
    written: &FieldSet,
    manager: &FieldManager,
) -> FieldSet {
    let appliers = client_side_appliers(live);
    let mut held = FieldSet::new();
    for entry in answer.managed().entries().iter().filter(|entry| is_of(entry, &appliers)) {
        held.add_all(&entry.fields);
    }
    let is_left = |path: &FieldPath| {
        let others = answer.managed().holders(path);
        !written.contains(path)
            && others.into_iter().all(|holder| holder == manager || appliers.contains(holder))
    };
    held.leaves().paths().into_iter().filter(is_left).collect()
}

/// The warning about a take-over of the object called `identity` that removes values; none without one.
pub fn takeover_warning(
    identity: &str,
    desired: &Desired<'_>,
    live: &Observed,
    answer: &Observed,
) -> Option<Diagnostic> {
    let appliers = client_side_appliers(live);
    if appliers.is_empty() {
        return None;
    }
    let written = fields::written(desired.written, answer.schema());
    let dropped = dropped_by_takeover(live, answer, &written, desired.manager);
    let lines: Vec<String> = dropped.paths().iter().map(|path| format!("\n  {path}")).collect();
    let lines = lines.concat();
    let names: Vec<&str> = appliers.iter().map(FieldManager::as_str).collect();
    let summary = format!("Taking Over from kubectl apply ({identity})");
    let detail = format!(
        "{} wrote the object with `kubectl apply`. What it holds is taken over, and what is not in this configuration is \
         removed, or falls back to the API server's default:\n{lines}",
        names.join(", ")
    );
    Some(
        Diagnostic::warning(codes::TAKEOVER, summary)
            .object(identity)
            .detail(detail)
            .hint("Write the fields that should stay."),
    )
}

fn is_of(entry: &Entry, appliers: &[FieldManager]) -> bool {
    entry.operation == Operation::Update && entry.subresource.is_empty() && appliers.contains(&entry.manager)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    fn object(entries: &[Value]) -> Observed {
        let metadata = json!({ "name": "a", "resourceVersion": "1", "managedFields": entries });
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "k": "v", "l": "w" } });
        Observed::new(object).unwrap()
    }

    fn copy_and(data: &Value) -> Value {
        let copy = json!({ "f:kubectl.kubernetes.io/last-applied-configuration": {} });
        json!({ "f:metadata": { "f:annotations": copy }, "f:data": data })
    }

    #[test]
    fn a_manager_that_updates_kubectls_copy_is_an_applier() {
        let names = |entries: &[Value]| {
            let found = client_side_appliers(&object(entries));
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let copy = copy_and(&json!({ "f:k": {} }));
        assert_eq!(names(&[entry("ci", "Update", &copy)]), ["ci"]);
        assert!(names(&[entry("ci", "Apply", &copy)]).is_empty());
        assert!(names(&[entry("kubectl-last-applied", "Update", &copy)]).is_empty());
        assert!(names(&[entry("kubectl-edit", "Update", &json!({ "f:data": { "f:k": {} } }))]).is_empty());
    }

    #[test]
    fn a_takeover_moves_everything_the_copy_included() {
        let live = object(&[entry("ci", "Update", &copy_and(&json!({ "f:k": {}, "f:l": {} })))]);
        let us = FieldManager::new("us");
        let after = Handover::of(&live).take_over_client_side(&us).observed();
        assert!(client_side_appliers(&after).is_empty());
        assert_eq!(after.held_by(&us).leaves().len(), 3);
        let written = FieldSet::from_iter([FieldPath::of_fields(["data", "k"])]);
        let dropped = dropped_by_takeover(&live, &live, &written, &us);
        assert_eq!(dropped.len(), 2, "the other key and the copy: {dropped:?}");
    }
}
