//! Fields that are ignored and that only we hold: applying without them would delete their values (decisions, seed 001, 7).

use fields::{FieldPath, FieldSet, IgnoreFields, ListKind, PathElement, Schema, Shape};
use ownership::{ManagedFields, ManagedFieldsError};
use serde_json::{Map, Value};

use super::manager;

/// The ignored fields that nobody but us holds in `live`.
pub(super) fn to_release(
    live: &Value,
    written: &Value,
    ignored: &IgnoreFields,
) -> Result<FieldSet, ManagedFieldsError> {
    let managed = ManagedFields::of(live)?;
    let schema = managed.schema(live);
    let held = managed.held_by(&manager());
    let ignored = held.difference(&ignored.on(written, &schema).remove_from_set(&held));
    let us = manager();
    let only_ours = |path: &FieldPath| managed.holders(path).into_iter().all(|holder| *holder == us);
    Ok(ignored.paths().into_iter().filter(only_ours).collect())
}

/// What an update sends: the body without what is ignored, except that an object without a kind or a name is none.
pub(super) fn sent(written: &Value, ignored: &IgnoreFields, live: Option<&Value>) -> Value {
    let schema = match live.map(|live| ManagedFields::of(live).map(|managed| managed.schema(live))) {
        Some(Ok(schema)) => schema,
        _ => Schema::of(written),
    };
    let mut sent = ignored.on(written, &schema).body_without();
    let identity = fields::project(written, &fields::identity(), &schema);
    lay_over(&mut sent, &identity, schema.root());
    sent
}

/// `sent` with the live values of `released`: what a dry run sends in place of letting go of them first.
pub(super) fn with_live(sent: &Value, live: &Value, released: &FieldSet) -> Value {
    if released.is_empty() {
        return sent.clone();
    }
    let schema = ManagedFields::of(live).map_or_else(|_| Schema::of(live), |managed| managed.schema(live));
    let part = fields::project(live, &with_keys(released), &schema);
    let mut merged = sent.clone();
    lay_over(&mut merged, &part, schema.root());
    merged
}

/// The set with the merge-key fields of every list item on the way, without which an item is nobody.
fn with_keys(set: &FieldSet) -> FieldSet {
    let mut full = set.clone();
    for path in set.paths() {
        let elements = path.elements();
        for (index, element) in elements.iter().enumerate() {
            let PathElement::Key(key) = element else { continue };
            let item: FieldPath = elements[..=index].iter().cloned().collect();
            for (name, _) in key.fields() {
                full.insert(&item.child(PathElement::field(name)));
            }
        }
    }
    full
}

fn lay_over(under: &mut Value, over: &Value, shape: Shape<'_>) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                lay_over(under.entry(name.clone()).or_insert(Value::Null), value, shape.field(name));
            }
        }
        (Value::Array(under), Value::Array(over)) => match shape.list_kind() {
            ListKind::Keyed(keys) => {
                for item in over {
                    let same = |other: &&mut Value| {
                        keys.iter().all(|key| {
                            let read = |item: &Value| item.get(&*key.name).or(key.default.as_ref()).cloned();
                            read(other) == read(item)
                        })
                    };
                    match under.iter_mut().find(same) {
                        Some(found) => lay_over(found, item, shape.element()),
                        None => under.push(item.clone()),
                    }
                }
            }
            ListKind::Set => {
                let new: Vec<Value> = over.iter().filter(|item| !under.contains(item)).cloned().collect();
                under.extend(new);
            }
            ListKind::Atomic => under.clone_from(over),
        },
        (under @ Value::Null, Value::Object(over)) => {
            *under = Value::Object(Map::new());
            lay_over(under, &Value::Object(over.clone()), shape);
        }
        (under, over) => *under = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(extra: &Value) -> Value {
        let mut live = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "managedFields": [
                {"manager": "k8sconnect", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {
                     "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}},
                 }}}}}},
            ]},
            "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "a", "image": "a:9"}]}}},
        });
        live["metadata"]["managedFields"].as_array_mut().unwrap().extend(extra.as_array().unwrap().clone());
        live
    }

    fn written() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}},
        })
    }

    #[test]
    fn what_says_which_object_it_is_is_sent_whatever_is_ignored() {
        let ignored = IgnoreFields::parse(["apiVersion", "kind", "metadata", "spec"]).unwrap();
        let identity = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        assert_eq!(sent(&written(), &ignored, None), identity);
    }

    #[test]
    fn bug_16_ignored_fields_that_only_we_hold_are_released_and_previewed_with_their_live_value() {
        let check = |ignore: &[&str], others: Value, released: usize, expected: Value| {
            let (live, ignored) = (live(&others), IgnoreFields::parse(ignore).unwrap());
            let set = to_release(&live, &written(), &ignored).unwrap();
            assert_eq!(set.len(), released, "{set:?}");
            let sent = sent(&written(), &ignored, Some(&live));
            assert_eq!(with_live(&sent, &live, &set)["spec"], expected, "{ignore:?}");
        };
        let containers = |image: &str| json!({"spec": {"containers": [{"name": "a", "image": image}]}});
        check(&[], json!([]), 0, json!({"replicas": 3, "template": containers("a:1")}));
        check(&["spec.replicas"], json!([]), 1, json!({"replicas": 5, "template": containers("a:1")}));
        let image = "spec.template.spec.containers[name=a].image";
        check(&[image], json!([]), 1, json!({"replicas": 3, "template": containers("a:9")}));
        let hpa = json!([{
            "manager": "hpa", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }]);
        check(&["spec.replicas"], hpa, 0, json!({"template": containers("a:1")}));
    }
}
