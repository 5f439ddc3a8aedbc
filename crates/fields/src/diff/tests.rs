//! What counts as a change, what does not, and that changes lead from old to new.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{arbitrary, equal};

fn pod(spec: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod"});
    pod["spec"] = spec;
    pod
}

fn check(old: Value, new: Value, expected: &[&str]) {
    let (old, new) = (pod(old), pod(new));
    let show = |value: &Option<Value>| value.as_ref().map_or("(none)".to_owned(), Value::to_string);
    let changes: Vec<String> = diff(&old, &new, &Schema::of(&old))
        .iter()
        .map(|change| format!("{}: {} -> {}", change.path, show(&change.old), show(&change.new)))
        .collect();
    assert_eq!(changes, expected);
}

#[test]
fn values_that_mean_the_same_do_not_differ() {
    let container = |resources| json!({"containers": [{"name": "web", "resources": resources}]});
    check(container(json!({"limits": {"cpu": "1000m"}})), container(json!({"limits": {"cpu": 1}})), &[]);
    check(
        container(json!({"limits": {"memory": "1Gi"}})),
        container(json!({"limits": {"memory": "1024Mi"}})),
        &[],
    );
    check(json!({"priority": 1}), json!({"priority": 1.0}), &[]);
    check(json!({"nodeName": null, "containers": [], "nodeSelector": {}}), json!({}), &[]);
    let probe = |port| json!({"containers": [{"name": "web", "livenessProbe": {"httpGet": {"port": port}}}]});
    check(probe(json!(80)), probe(json!("80")), &[]);
}

#[test]
fn keyed_lists_are_compared_by_key_and_defaults_count() {
    let ports = |list| json!({"containers": [{"name": "web", "ports": list}]});
    check(
        ports(json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}])),
        ports(json!([{"containerPort": 53, "protocol": "UDP", "name": "dns-udp"}, {"containerPort": 53}])),
        &[r#"spec.containers[name=web].ports[containerPort=53,protocol=UDP].name: "dns" -> "dns-udp""#],
    );
    check(
        json!({"containers": [{"name": "a"}, {"name": "b", "image": "x"}]}),
        json!({"containers": [{"name": "c"}, {"name": "a"}]}),
        &[
            r#"spec.containers[name=b]: {"image":"x","name":"b"} -> (none)"#,
            r#"spec.containers[name=c]: (none) -> {"name":"c"}"#,
        ],
    );
}

#[test]
fn sets_are_compared_in_any_order_and_other_lists_as_a_whole() {
    let widget = |finalizers: Value, tags: Value| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"finalizers": finalizers}, "spec": {"tags": tags}});
    let old = widget(json!(["a", "b"]), json!([1, 2]));
    let new = widget(json!(["b", "c"]), json!([2, 1]));
    let changes = diff(&old, &new, &Schema::of(&old));
    let paths: Vec<String> = changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["metadata.finalizers[=a]", "metadata.finalizers[=c]", "spec.tags"]);
}

#[test]
fn what_differs_is_said_at_the_highest_place() {
    check(
        json!({"nodeSelector": {"a": "1", "b": "2"}}),
        json!({"nodeSelector": {"a": "1"}}),
        &[r#"spec.nodeSelector: {"a":"1","b":"2"} -> {"a":"1"}"#],
    );
    check(
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
        json!({"volumes": [{"name": "v"}]}),
        &["spec.volumes[name=v].emptyDir: {} -> (none)"],
    );
    check(json!({"hostname": "a"}), json!({"hostname": {"a": 1}}), &[r#"spec.hostname: "a" -> {"a":1}"#]);
    check(
        json!({"securityContext": {"fsGroup": 1}}),
        json!({}),
        &[r#"spec.securityContext: {"fsGroup":1} -> (none)"#],
    );
}

#[test]
fn several_items_of_one_name_are_compared_together() {
    let env = |list| json!({"containers": [{"name": "web", "env": list}]});
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    check(env(twice.clone()), env(twice.clone()), &[]);
    check(
        env(twice),
        env(json!([{"name": "A", "value": "2"}])),
        &[
            r#"spec.containers[name=web].env[name=A]: [{"name":"A","value":"1"},{"name":"A","value":"2"}] -> {"name":"A","value":"2"}"#,
        ],
    );
}

#[test]
fn values_stay_out_of_debug_output() {
    let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "data": {"key": value}});
    let changes = diff(&secret("hunter2"), &secret("hunter3"), &Schema::of_kind("v1", "Secret"));
    assert_eq!(format!("{changes:?}"), "[Change(data.key changed)]");
}

/// `object` with `changes` made.
fn apply(object: &Value, changes: &[Change], schema: &Schema) -> Value {
    let mut object = object.clone();
    for change in changes {
        set(&mut object, change.path.elements(), change.new.as_ref(), schema.root());
    }
    object
}

fn set(value: &mut Value, path: &[PathElement], new: Option<&Value>, shape: Shape<'_>) {
    let Some((element, rest)) = path.split_first() else {
        *value = new.cloned().unwrap_or_default();
        return;
    };
    match (element, value) {
        (PathElement::Field(name), Value::Object(fields)) => match new {
            None if rest.is_empty() => {
                fields.remove(&**name);
            }
            _ => set(fields.entry(&**name).or_insert(Value::Null), rest, new, shape.field(name)),
        },
        (_, Value::Array(list)) => match (items::find(list, element, shape.list_kind()), new) {
            (Some((index, _)), None) if rest.is_empty() => {
                list.remove(index);
            }
            (Some((index, _)), _) => set(&mut list[index], rest, new, shape.element()),
            (None, new) => list.extend(new.cloned()),
        },
        (element, other) => panic!("no place for {element} in {other}"),
    }
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(object in arbitrary::deployment(), value in arbitrary::value()) {
        prop_assert_eq!(diff(&object, &object, &Schema::of(&object)), []);
        prop_assert_eq!(diff(&value, &value, &Schema::of(&value)), []);
    }

    #[test]
    fn the_changes_lead_from_the_old_to_the_new(old in arbitrary::deployment(), new in arbitrary::deployment()) {
        let schema = Schema::of(&old);
        let changes = diff(&old, &new, &schema);
        prop_assert!(changes.is_sorted_by(|left, right| left.path < right.path));
        let reached = apply(&old, &changes, &schema);
        prop_assert_eq!(diff(&reached, &new, &schema), []);
        prop_assert!(equal(&reached, &new, schema.root()));
        let back: Vec<_> = diff(&new, &old, &schema);
        prop_assert_eq!(changes.iter().map(|change| &change.path).collect::<Vec<_>>(), back.iter().map(|change| &change.path).collect::<Vec<_>>());
    }

    #[test]
    fn equality_and_an_empty_diff_agree(left in arbitrary::value(), right in arbitrary::value()) {
        let schema = Schema::of(&left);
        prop_assert_eq!(equal(&left, &right, schema.root()), diff(&left, &right, &schema).is_empty());
    }
}
