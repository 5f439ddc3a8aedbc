//! Which of the fields that cannot be changed an apply would change.
//!
//! The API server often names more than that: `spec` of a StatefulSet, of which only some fields may change, or
//! `spec.template` of a Job. Comparing what is written with the live object shows what it is about.

use fields::{Change, FieldPath, IgnoreFields, NamedField, PathElement};
use manifest::secret::{self, MaskKey};
use ownership::{Desired, Observed};
use serde_json::Value;

use crate::overlay::lay_over;
use crate::preview::visible;

/// The visible part of `live` before and after an apply, as far as the files alone say: neither defaults nor webhooks are
/// part of it. Values of Secrets are masked.
pub fn written_over(desired: &Desired<'_>, live: &Observed, key: &MaskKey) -> (Value, Value) {
    let schema = live.schema();
    let before = visible(live.object(), key);
    let written = fields::written(desired.written, schema).leaves();
    let dropped = live.held_by(desired.manager).leaves().difference(&written);
    let dropped = live.managed().held_only_by(desired.manager, &dropped);
    let kept = fields::written(&before, schema).leaves().difference(&dropped);
    let mut after = fields::project(&before, &kept, schema);
    lay_over(&mut after, &secret::masked(desired.written, key), schema.root());
    (before, after)
}

/// Those of `changes` that the API server refuses, where `refused` are the fields that it names, each with its message.
pub fn immutable_changes<'c>(
    changes: &'c [Change],
    refused: &[(String, String)],
    desired: &Desired<'_>,
    live: &Observed,
) -> Vec<&'c Change> {
    let refused: Vec<Refused> =
        refused.iter().map(|(field, message)| Refused::read(field, message, desired, live)).collect();
    let is_refused =
        |change: &&Change| refused.iter().any(|refused| refused.covers(&change.path, desired, live));
    changes.iter().filter(is_refused).collect()
}

/// A field whose change the API server refuses.
struct Refused {
    path: FieldPath,
    /// The beginning of the name of a field in it; empty if all of it is meant.
    name: String,
    /// What may be changed in it nevertheless.
    except: Option<IgnoreFields>,
}

impl Refused {
    fn read(field: &str, message: &str, desired: &Desired<'_>, live: &Observed) -> Self {
        let found = NamedField::find(desired.written, live.schema().root(), field);
        let name = found.rest.split(['.', '[']).next().unwrap_or_default().to_owned();
        let patterns = exceptions(message).into_iter().map(|except| {
            let is_whole = except.split('.').next() == field.split(['.', '[']).next();
            if is_whole || field.is_empty() { except } else { format!("{field}.{except}") }
        });
        let patterns = patterns.filter_map(|pattern| IgnoreFields::naming(&pattern).ok());
        Self { path: found.path, name, except: patterns.reduce(IgnoreFields::and) }
    }

    fn covers(&self, path: &FieldPath, desired: &Desired<'_>, live: &Observed) -> bool {
        let is_around = path.starts_with(&self.path) || self.path.starts_with(path);
        let next = path.elements().get(self.path.elements().len()).and_then(PathElement::as_field);
        let is_named = self.name.is_empty() || next.is_some_and(|next| is_related(next, &self.name));
        let is_excepted = || {
            self.except
                .as_ref()
                .is_some_and(|except| except.on(desired.written, live.schema()).contains(path))
        };
        is_around && is_named && !is_excepted()
    }
}

/// Whether one name begins with the other: a Service's `clusterIP` is refused as `clusterIPs[0]`.
fn is_related(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The fields that a message says may be changed.
fn exceptions(message: &str) -> Vec<String> {
    let Some(at) =
        ["other than ", "except "].iter().find_map(|words| Some(message.find(words)? + words.len()))
    else {
        return Vec::new();
    };
    let text = message[at..].lines().next().unwrap_or_default();
    let quoted: Vec<String> = text.split(['\'', '`']).skip(1).step_by(2).map(str::to_owned).collect();
    if !quoted.is_empty() {
        return quoted;
    }
    let end = [" for ", " are forbidden"].iter().filter_map(|words| text.find(words)).min();
    let list = text[..end.unwrap_or(text.len())].replace(" and ", ",");
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use ownership::FieldManager;
    use serde_json::json;

    use super::*;

    fn check(live: Value, written: &Value, refused: (&str, &str), expected: &[&str]) {
        let (live, manager) = (Observed::new(live).unwrap(), FieldManager::new("us"));
        let desired = Desired::new(&manager, written);
        let (before, after) = written_over(&desired, &live, &MaskKey::new(1));
        let changes = fields::diff(&before, &after, live.schema());
        let refused = [(refused.0.to_owned(), refused.1.to_owned())];
        let found = immutable_changes(&changes, &refused, &desired, &live);
        let found: Vec<String> = found.iter().map(|change| change.path.notation().to_string()).collect();
        assert_eq!(found, expected, "{refused:?}");
    }

    #[test]
    fn the_changes_that_are_refused_are_found_in_what_the_server_names() {
        let object = |api: &str, kind: &str, spec: &Value| json!({ "apiVersion": api, "kind": kind, "metadata": { "name": "a" }, "spec": spec });
        let set = |service: &str, replicas: u8| {
            object("apps/v1", "StatefulSet", &json!({ "serviceName": service, "replicas": replicas }))
        };
        let message = "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template' and \
                       'minReadySeconds' are forbidden";
        check(set("a", 1), &set("b", 2), ("spec", message), &["spec.serviceName"]);

        let claim = |class: &str, size: &str| {
            object(
                "v1",
                "PersistentVolumeClaim",
                &json!({ "storageClassName": class, "resources": { "requests": { "storage": size } } }),
            )
        };
        let message = "Forbidden: spec is immutable after creation except resources.requests and \
                       volumeAttributesClassName for bound claims";
        check(claim("a", "1Gi"), &claim("b", "2Gi"), ("spec", message), &["spec.storageClassName"]);

        let pod = |image: &str, node: &str| {
            object("v1", "Pod", &json!({ "nodeName": node, "containers": [{ "name": "a", "image": image }] }))
        };
        let message = "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
                       `spec.tolerations` (only additions to existing tolerations)\n  core.PodSpec{";
        check(pod("a", "n"), &pod("b", "m"), ("spec", message), &["spec.nodeName"]);

        let service = |address: &str, port: u16| {
            object("v1", "Service", &json!({ "clusterIP": address, "ports": [{ "port": port }] }))
        };
        let mut live = service("10.0.0.1", 80);
        live["spec"]["clusterIPs"] = json!(["10.0.0.1"]);
        let message = "Invalid value: [\"10.0.0.2\"]: may not change once set";
        check(live, &service("10.0.0.2", 81), ("spec.clusterIPs[0]", message), &["spec.clusterIP"]);
    }

    #[test]
    fn what_only_we_hold_and_no_longer_write_goes() {
        let mut live = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "managedFields": [{
                "manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": { "f:data": { "f:k": {}, "f:l": {} }, "f:immutable": {} },
            }] },
            "immutable": true, "data": { "k": "1", "l": "1", "other": "1" },
        });
        live["metadata"]["uid"] = json!("u");
        let written = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "immutable": true, "data": { "k": "2" },
        });
        check(
            live,
            &written,
            ("data", "Forbidden: field is immutable when `immutable` is set"),
            &["data.k", "data.l"],
        );
    }
}
