//! Detects other patches of the same fields: of another resource, or of one that Terraform could not record.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use diag::Diagnostic;
use fields::{FieldPath, FieldSet, PathElement, Positions};
use manifest::ObjectRef;
use ownership::{FieldManager, Observed};

use crate::codes;

/// The prefix of every patch's manager.
const PREFIX: &str = "k8sconnect-patch-";

/// The warning about fields of `live` that other patches hold and that `manager` holds in `answer`, if there are any.
pub(super) fn warning(
    target: &ObjectRef,
    live: &Observed,
    answer: &Observed,
    manager: &FieldManager,
) -> Option<Diagnostic> {
    let ours = answer.held_by(manager);
    let positions = Positions::of(answer.object(), answer.schema());
    let mut shared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in live.managed().entries() {
        if entry.manager == *manager || !entry.manager.as_str().starts_with(PREFIX) {
            continue;
        }
        let both = settings(&entry.fields.intersection(&ours));
        let names = both.iter().map(|path| positions.print(path));
        shared.entry(entry.manager.to_string()).or_default().extend(names);
    }
    shared.retain(|_, fields| !fields.is_empty());
    (!shared.is_empty()).then(|| overlapping(target, &shared))
}

/// The fields without the merge keys of list items, which patches of one item share.
fn settings(set: &FieldSet) -> Vec<FieldPath> {
    let is_setting = |path: &FieldPath| match path.elements() {
        [.., PathElement::Key(_)] => false,
        [.., PathElement::Key(key), PathElement::Field(name)] => {
            key.fields().all(|(named, _)| *named != **name)
        }
        _ => true,
    };
    set.clone().leaves().paths().into_iter().filter(is_setting).collect()
}

fn overlapping(target: &ObjectRef, shared: &BTreeMap<String, Vec<String>>) -> Diagnostic {
    let mut detail = format!("Other patches hold fields of {target} that this one sets:\n");
    for (manager, fields) in shared {
        let _infallible = write!(detail, "\n  {} (held by: {manager})", fields.join(", "));
    }
    detail.push_str(
        "\n\nThey belong to another k8sconnect_patch, here or in another state, or to one whose creation was interrupted \
         before Terraform could record it. The end of a manager's name is the id of its patch.",
    );
    Diagnostic::warning(codes::PATCH_OVERLAP, "Patch Conflicts with Existing Patch")
        .detail(detail)
        .object(target.to_string())
        .hint("Set each field in one patch only. What an interrupted patch left behind does no harm: its values are those it set.")
}

#[cfg(test)]
mod tests {
    use manifest::Namespace;
    use serde_json::{Value, json};

    use super::*;

    fn deployment(entries: &[(&str, Value)]) -> Observed {
        let entry = |(manager, fields): &(&str, Value)| json!({"manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "managedFields": entries.iter().map(entry).collect::<Vec<_>>()},
            "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "web", "image": "a"}]}}},
        });
        Observed::new(object).unwrap()
    }

    fn containers(fields: &Value) -> Value {
        let mut item = json!({".": {}, "f:name": {}});
        item.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": item}}}}})
    }

    #[test]
    fn another_patch_of_the_same_field_is_named() {
        let target = ObjectRef::new("apps/v1/Deployment".parse().unwrap(), Namespace::new("shop"), "web");
        let check = |other: (&str, Value), expected: Option<&str>| {
            let ours = "k8sconnect-patch-0123456789ab";
            let image = containers(&json!({"f:image": {}}));
            let answer = deployment(&[(ours, image)]);
            let live = deployment(&[other]);
            let found = warning(&target, &live, &answer, &FieldManager::new(ours));
            let detail = found.map(|found| found.detail).unwrap_or_default();
            match expected {
                Some(line) => assert!(detail.contains(line), "{detail}"),
                None => assert_eq!(detail, ""),
            }
        };
        let field = "spec.template.spec.containers[0].image (held by: k8sconnect-patch-ffffffffffff)";
        let theirs = "k8sconnect-patch-ffffffffffff";
        check((theirs, containers(&json!({"f:image": {}}))), Some(field));
        check((theirs, containers(&json!({"f:env": {}}))), None);
        check((theirs, json!({"f:spec": {"f:replicas": {}}})), None);
        check(("kubectl", containers(&json!({"f:image": {}}))), None);
        check(("k8sconnect-patch-0123456789ab", containers(&json!({"f:image": {}}))), None);
    }
}
