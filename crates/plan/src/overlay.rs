//! One object laid over another by the rules of server-side apply: maps by key, keyed lists by their keys.

use fields::{KeyField, ListKind, Shape};
use serde_json::{Map, Value};

/// Lays `over` on `under`: an element of a keyed list is overridden, never doubled.
pub fn lay_over(under: &mut Value, over: &Value, shape: Shape<'_>) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                lay_over(under.entry(name.clone()).or_insert(Value::Null), value, shape.field(name));
            }
        }
        (Value::Array(under), Value::Array(over)) => match shape.list_kind() {
            ListKind::Keyed(keys) => {
                for item in over {
                    match under.iter_mut().find(|other| is_same_item(keys, other, item)) {
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

/// Replaces the values that `object` has at the leaves of `with` by those leaves. Adds nothing.
pub fn replace_present(object: &mut Value, with: &Value, shape: Shape<'_>) {
    match (object, with) {
        (Value::Object(object), Value::Object(with)) => {
            for (name, value) in with {
                if let Some(present) = object.get_mut(name) {
                    replace_present(present, value, shape.field(name));
                }
            }
        }
        (Value::Array(object), Value::Array(with)) if let ListKind::Keyed(keys) = shape.list_kind() => {
            for item in with {
                if let Some(present) = object.iter_mut().find(|present| is_same_item(keys, present, item)) {
                    replace_present(present, item, shape.element());
                }
            }
        }
        (object, with) => object.clone_from(with),
    }
}

/// The same fields as in `like`, with the values that `object` has there; null where it has none.
pub fn values_at(object: &Value, like: &Value, shape: Shape<'_>) -> Value {
    match (object, like) {
        (Value::Object(_), Value::Object(like)) => {
            let field = |(name, like): (&String, &Value)| {
                (name.clone(), values_at(&object[name], like, shape.field(name)))
            };
            like.iter().map(field).collect()
        }
        (Value::Array(items), Value::Array(like)) if let ListKind::Keyed(keys) = shape.list_kind() => {
            let item = |like: &Value| {
                let present = items.iter().find(|item| is_same_item(keys, item, like));
                present.map_or(Value::Null, |present| values_at(present, like, shape.element()))
            };
            like.iter().map(item).collect()
        }
        _ => object.clone(),
    }
}

fn is_same_item(keys: &[KeyField], one: &Value, other: &Value) -> bool {
    let read = |item: &Value, key: &KeyField| item.get(&*key.name).or(key.default.as_ref()).cloned();
    keys.iter().all(|key| read(one, key) == read(other, key))
}

#[cfg(test)]
mod tests {
    use fields::Schema;
    use serde_json::json;

    use super::*;

    fn container(env: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "web", "env": env}]}})
    }

    #[test]
    fn an_element_of_a_keyed_list_is_overridden_and_not_doubled() {
        let mut under = container(&json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
        let over = json!({"spec": {"containers": [
            {"name": "web", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
        ]}});
        lay_over(&mut under, &over, Schema::of_kind("v1", "Pod").root());
        let expected = json!([
            {"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"},
        ]);
        assert_eq!(under, container(&expected));
    }

    #[test]
    fn only_what_is_present_is_replaced_or_read() {
        let schema = Schema::of_kind("v1", "Pod");
        let like = json!({"spec": {"nodeName": "x", "containers": [
            {"name": "web", "env": [{"name": "B", "value": "x"}, {"name": "C", "value": "x"}]},
        ]}});
        let mut object = container(&json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
        let read = values_at(&object, &like, schema.root());
        let env = json!([{"name": "B", "value": "2"}, null]);
        assert_eq!(read, json!({"spec": {"nodeName": null, "containers": [{"name": "web", "env": env}]}}));
        replace_present(&mut object, &like, schema.root());
        assert_eq!(object, container(&json!([{"name": "A", "value": "1"}, {"name": "B", "value": "x"}])));
    }
}
