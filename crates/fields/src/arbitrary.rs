//! Random paths, sets and values for property tests, from an alphabet so small that they meet often.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::{FieldPath, FieldSet, PathElement};

/// A value that can name a list element.
pub(crate) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2_i64..3).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(-0.0), Just(1.0), Just(1e21), Just(1e-7)].prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ]
}

/// Names and strings: plain ones, ones with dots and slashes, and ones that need escaping.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let odd =
        ['a', '<', '>', '&', '"', '\\', '\n', '\u{1}', '\u{8}', '\u{7f}', '\u{2028}', 'é', '💻', ' ', '.'];
    prop_oneof![
        6 => one_of(&["a", "b", "c"]),
        2 => one_of(&["a.b/c", "name", ""]),
        1 => prop::collection::vec(select(odd.to_vec()), 0..4).prop_map(String::from_iter),
    ]
}

/// One of these texts; a pattern would be compiled anew for each.
fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(texts).prop_map(str::to_owned)
}

pub(crate) fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        6 => text().prop_map(|name| PathElement::field(&name)),
        2 => prop::collection::vec((text(), scalar()), 1..3).prop_map(PathElement::key),
        2 => value().prop_map(PathElement::value),
        1 => (0_usize..3).prop_map(PathElement::Index),
    ]
}

pub(crate) fn path() -> impl Strategy<Value = FieldPath> {
    prop::collection::vec(element(), 1..5).prop_map(|elements| elements.into_iter().collect())
}

pub(crate) fn set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(path(), 0..12).prop_map(|paths| paths.into_iter().collect())
}

/// Any JSON value of little depth.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![8 => scalar(), 1 => Just(Value::Null), 1 => Just(json!({})), 1 => Just(json!([]))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A Deployment as a user might write it: keyed lists with and without their defaults, sets, quantities, atomic
/// lists and maps, and keys with dots.
pub(crate) fn deployment() -> impl Strategy<Value = Value> {
    let labels = || {
        prop::collection::btree_map(one_of(&["a", "b", "app.kubernetes.io/name"]), one_of(&["x", "y"]), 0..3)
    };
    let metadata = (labels(), labels(), prop::collection::btree_set(one_of(&["a", "b", "c"]), 0..3)).prop_map(
        |(labels, annotations, finalizers)| {
            json!({"name": "web", "labels": labels, "annotations": annotations, "finalizers": finalizers})
        },
    );
    let spec = (
        prop::option::of(0_i64..3),
        labels(),
        prop::collection::vec(container(), 0..3),
        prop::option::of(labels()),
    )
        .prop_map(|(replicas, selector, containers, node_selector)| {
            json!({
                "replicas": replicas,
                "selector": {"matchLabels": selector},
                "template": {"spec": {
                    "containers": unique(containers, |container| container["name"].clone()),
                    "nodeSelector": node_selector,
                    "tolerations": [{"key": "a"}, {"key": "a"}],
                    "volumes": [{"name": "cache", "emptyDir": {}}],
                }},
            })
        });
    (metadata, spec).prop_map(|(metadata, spec)| {
        without_nulls(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}),
        )
    })
}

fn container() -> impl Strategy<Value = Value> {
    let port = (
        1_u16..4,
        prop::option::of(prop_oneof![Just("TCP"), Just("UDP")]),
        prop::option::of(one_of(&["a", "b", "c"])),
    )
        .prop_map(
            |(port, protocol, name)| json!({"containerPort": port, "protocol": protocol, "name": name}),
        );
    let variable = (one_of(&["A", "B"]), one_of(&["x", "y"]))
        .prop_map(|(name, value)| json!({"name": name, "value": value}));
    let quantity = prop_oneof![
        Just(json!("1")),
        Just(json!("1000m")),
        Just(json!(1)),
        Just(json!("2")),
        Just(json!("1Ki"))
    ];
    (
        one_of(&["a", "b", "c"]),
        prop::option::of(one_of(&["x", "y"])),
        prop::collection::vec(port, 0..4),
        prop::collection::vec(variable, 0..3),
        prop::collection::btree_map(prop_oneof![Just("cpu"), Just("example.com/gpu")], quantity, 0..3),
        prop::collection::vec(one_of(&["x", "y"]), 0..3),
    )
        .prop_map(|(name, image, ports, env, limits, args)| {
            let port_name =
                |port: &Value| json!([port["containerPort"], port["protocol"].as_str().unwrap_or("TCP")]);
            json!({
                "name": name, "image": image, "args": args,
                "ports": unique(ports, port_name),
                "env": unique(env, |variable| variable["name"].clone()),
                "resources": {"limits": limits},
            })
        })
}

/// The items whose names differ; a list with two of one name is tested by itself.
fn unique(items: Vec<Value>, name: impl Fn(&Value) -> Value) -> Vec<Value> {
    let mut unique: Vec<Value> = Vec::new();
    for item in items {
        if unique.iter().all(|known| name(known) != name(&item)) {
            unique.push(item);
        }
    }
    unique
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(name, field)| (name, without_nulls(field)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        scalar => scalar,
    }
}

/// Some of the fields of `set`: those whose turn in `choice` is a one.
pub(crate) fn some_of(set: &FieldSet, choice: u64) -> FieldSet {
    let chosen = set.paths().into_iter().enumerate().filter(|(turn, _)| choice >> (turn % 64) & 1 == 1);
    chosen.map(|(_, path)| path).collect()
}
