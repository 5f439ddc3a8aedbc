//! What of an object lies in a set, wherever its list items stand.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{arbitrary, value_at, written};

fn live() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "labels": {"app.kubernetes.io/name": "web", "tier": "front"},
            "finalizers": ["b", "a"],
        },
        "spec": {
            "replicas": 3,
            "template": {"spec": {"containers": [
                {"name": "sidecar", "image": "proxy"},
                {
                    "name": "web", "image": "nginx",
                    "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}],
                    "args": ["-v", "-x"],
                },
            ]}},
        },
    })
}

fn check(wire: &str, leaves: &[(&str, Value)], pruned: &Value) {
    let (object, set) = (live(), FieldSet::from_json(wire).unwrap());
    let schema = Schema::of(&object);
    let found: Vec<_> = leaf_values(&object, &set, &schema)
        .into_iter()
        .map(|(path, value)| (path.to_string(), value))
        .collect();
    let expected: Vec<_> = leaves.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
    assert_eq!(found, expected, "{wire}");
    assert_eq!(project(&object, &set, &schema), *pruned, "{wire}");
}

#[test]
fn names_with_dots_stay_whole() {
    check(
        r#"{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}}}"#,
        &[("metadata.labels.app.kubernetes.io/name", json!("web"))],
        &json!({"metadata": {"labels": {"app.kubernetes.io/name": "web"}}}),
    );
}

#[test]
fn list_items_are_found_by_key_wherever_they_stand() {
    let wire = r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{
        "k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:args":{},"f:ports":{
            "k:{\"containerPort\":53,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}},
        "k:{\"name\":\"gone\"}":{".":{},"f:image":{}}}}}}}"#;
    check(
        wire,
        &[
            ("spec.template.spec.containers[name=web].args", json!(["-v", "-x"])),
            ("spec.template.spec.containers[name=web].image", json!("nginx")),
            (
                "spec.template.spec.containers[name=web].ports[containerPort=53,protocol=TCP].containerPort",
                json!(53),
            ),
        ],
        &json!({"spec": {"template": {"spec": {"containers": [
            {"image": "nginx", "args": ["-v", "-x"], "ports": [{"containerPort": 53}]},
        ]}}}}),
    );
}

#[test]
fn set_elements_are_found_by_value() {
    check(
        r#"{"f:metadata":{"f:finalizers":{".":{},"v:\"a\"":{},"v:\"gone\"":{}}}}"#,
        &[("metadata.finalizers[=a]", json!("a"))],
        &json!({"metadata": {"finalizers": ["a"]}}),
    );
}

#[test]
fn what_the_object_lacks_is_left_out() {
    check(r#"{"f:spec":{"f:replicas":{"f:deeper":{}},"f:paused":{}},"f:x":{"f:y":{}}}"#, &[], &json!({}));
}

#[test]
fn an_item_that_is_held_keeps_its_place_when_nothing_below_is_left() {
    check(
        r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:gone":{}}}}}}}"#,
        &[],
        &json!({"spec": {"template": {"spec": {"containers": [{}]}}}}),
    );
}

#[test]
fn a_custom_list_is_read_by_the_keys_in_the_set() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {
        "parts": [{"id": 2, "size": "l"}, {"id": 1, "side": "left", "size": "s"}],
        "tags": ["x", "y"],
    }});
    let wire =
        r#"{"f:spec":{"f:parts":{"k:{\"id\":2,\"side\":\"right\"}":{"f:size":{}}},"f:tags":{"v:\"y\"":{}}}}"#;
    let set = FieldSet::from_json(wire).unwrap();
    // The default of `side` is unknown, but only one item matches.
    assert_eq!(
        project(&object, &set, &Schema::of(&object)),
        json!({"spec": {"parts": [{"size": "l"}], "tags": ["y"]}})
    );
}

#[test]
fn items_of_one_name_are_held_together() {
    let variables =
        json!([{"name": "A", "value": "1"}, {"name": "B", "value": "x"}, {"name": "A", "value": "2"}]);
    let object = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "web", "env": variables}]}});
    let schema = Schema::of(&object);
    let set = written(&object, &schema);
    assert_eq!(project(&object, &set, &schema), object);
    let leaves = leaf_values(&object, &set, &schema);
    let texts: Vec<String> = leaves.iter().skip(2).map(|(path, value)| format!("{path} {value}")).collect();
    assert_eq!(
        texts,
        [
            r#"spec.containers[name=web].env[name=A] [{"name":"A","value":"1"},{"name":"A","value":"2"}]"#,
            r#"spec.containers[name=web].env[name=B].name "B""#,
            r#"spec.containers[name=web].env[name=B].value "x""#,
            r#"spec.containers[name=web].name "web""#,
        ]
    );
}

/// Ports of an unknown kind: the set names them by port and protocol, whose default only the server knows.
#[test]
fn items_that_leave_key_fields_out_belong_to_the_first_entry_that_fits() {
    let object = json!({ "apiVersion": "example.com/v1", "kind": "Gate", "spec": { "ports": [
        { "port": 53 }, { "port": 80, "name": "web" }, { "protocol": "SCTP" }, { "port": 9 },
    ] } });
    let wire = r#"{"f:spec":{"f:ports":{
        "k:{\"port\":53,\"protocol\":\"TCP\"}":{"f:port":{}}, "k:{\"port\":53,\"protocol\":\"UDP\"}":{"f:port":{}},
        "k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}, "k:{\"port\":81,\"protocol\":\"SCTP\"}":{"f:protocol":{}}
    }}}"#;
    let set = FieldSet::from_json(wire).unwrap();
    let schema = Schema::of(&object).learning_from(&set);
    let found = leaf_values(&object, &set, &schema);
    let shown: Vec<String> = found.iter().map(|(path, value)| format!("{path} {value}")).collect();
    assert_eq!(
        shown,
        [
            "spec.ports[port=53,protocol=TCP].port 53",
            "spec.ports[port=80,protocol=TCP].name \"web\"",
            "spec.ports[port=81,protocol=SCTP].protocol \"SCTP\"",
        ]
    );
    let positions = crate::Positions::of(&object, &schema);
    let printed: Vec<String> = found.keys().map(|path| positions.print(path)).collect();
    assert_eq!(printed, ["spec.ports[0].port", "spec.ports[1].name", "spec.ports[2].protocol"]);
}

/// Whether `part` is `whole` with fields and list items left out.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(name, field)| whole.get(name).is_some_and(|against| is_part(field, against)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            let mut rest = whole.iter();
            part.iter().all(|item| rest.any(|against| is_part(item, against)))
        }
        _ => part == whole,
    }
}

proptest! {
    #[test]
    fn columns_have_what_leaf_values_has(
        object in prop_oneof![arbitrary::deployment(), arbitrary::value()],
        other in prop_oneof![arbitrary::deployment(), arbitrary::value()],
        more in arbitrary::set(),
        choice in any::<u64>(),
    ) {
        let schema = Schema::of(&object);
        let set = arbitrary::some_of(&written(&object, &schema), choice).union(&written(&other, &schema)).union(&more);
        let leaves = [&object, &other].map(|object| leaf_values(object, &set, &schema));
        let expected: Vec<_> =
            set.paths().iter().map(|path| leaves.each_ref().map(|leaves| leaves.get(path))).collect();
        let columns = leaf_columns([&object, &other], &set, &schema);
        let found = columns.iter().map(|leaves| leaves.each_ref().map(Option::as_deref));
        prop_assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_projection_is_part_of_the_object(object in arbitrary::deployment(), choice in any::<u64>()) {
        let schema = Schema::of(&object);
        let held = arbitrary::some_of(&written(&object, &schema), choice);
        let leaves = leaf_values(&object, &held, &schema);
        prop_assert_eq!(leaves.len(), held.clone().leaves().len());
        for (path, value) in &leaves {
            prop_assert_eq!(value_at(&object, path, &schema), Some(value));
        }
        let projection = project(&object, &held, &schema);
        prop_assert!(is_part(&projection, &object), "{projection}");
    }

    #[test]
    fn an_object_projected_onto_what_it_writes_is_itself(object in arbitrary::deployment()) {
        let schema = Schema::of(&object);
        let projection = project(&object, &written(&object, &schema), &schema);
        prop_assert_eq!(crate::diff(&object, &projection, &schema), []);
    }
}
