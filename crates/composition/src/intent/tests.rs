use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::object::object;

fn check(name: &str, live: Value, owed: bool) {
    let intent = object(json!({
        "metadata": {"name": "a", "ownerReferences": [{"uid": "xr", "controller": true}]},
        "spec": {"replicas": 3, "ports": [{"port": 80}]},
    }));
    let answer = object(json!({
        "metadata": {"name": "a", "resourceVersion": "1", "ownerReferences": [{"uid": "xr", "controller": true}]},
        "spec": {"replicas": 3, "ports": [{"port": 80, "protocol": "TCP"}], "defaulted": true},
        "status": {"ready": 0},
    }));
    let applied = Applied::new(&intent, &answer);
    assert_eq!(is_apply_owed(&intent, Some(&applied), Some(&object(live))), owed, "{name}");
}

fn live(change: impl Fn(&mut Value)) -> Value {
    let mut live = json!({
        "metadata": {"name": "a", "resourceVersion": "9", "ownerReferences": [{"uid": "xr", "controller": true}]},
        "spec": {"replicas": 3, "ports": [{"port": 80, "protocol": "TCP"}], "defaulted": false},
        "status": {"ready": 3},
    });
    change(&mut live);
    live
}

#[test]
fn an_apply_is_left_out_when_it_would_change_nothing() {
    check("nothing of ours changed", live(|_| {}), false);
    check(
        "another owner joined",
        live(|live| live["metadata"]["ownerReferences"].as_array_mut().unwrap().push(json!({"uid": "u"}))),
        false,
    );
    check("a whole number came back as a float", live(|live| live["spec"]["replicas"] = json!(3.0)), false);
    check("a value changed", live(|live| live["spec"]["replicas"] = json!(1)), true);
    check(
        "a value vanished",
        live(|live| drop(live["spec"].as_object_mut().unwrap().remove("replicas"))),
        true,
    );
    check("a list changed", live(|live| live["spec"]["ports"][0]["protocol"] = json!("UDP")), true);
    check("our owner reference vanished", live(|live| live["metadata"]["ownerReferences"] = json!([])), true);
}

#[test]
fn without_memory_or_object_an_apply_is_needed() {
    let intent = object(json!({"a": 1}));
    let applied = Applied::new(&intent, &intent);
    assert!(is_apply_owed(&intent, None, Some(&intent)));
    assert!(is_apply_owed(&intent, Some(&applied), None));
    assert!(is_apply_owed(&object(json!({"a": 2})), Some(&applied), Some(&intent)));
    // A field we no longer ask for has to be released, though it stands as it stood.
    assert!(is_apply_owed(&object(json!({})), Some(&applied), Some(&intent)));
}

#[test]
fn conditions_of_other_managers_cause_no_write() {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let status = |conditions: Value| object(json!({"status": {"conditions": conditions}}));
    let intent = status(json!([condition("Ready", "True")]));
    let applied = Applied::new(&intent, &intent);
    assert!(
        applied
            .still_holds(&intent, &status(json!([condition("Theirs", "False"), condition("Ready", "True")])))
    );
    assert!(!applied.still_holds(&intent, &status(json!([condition("Ready", "False")]))));
    // Nor is the order in which they are listed.
    let (a, b) = (condition("A", "True"), condition("B", "True"));
    let (intent, reordered) = (status(json!([a, b])), status(json!([b, a])));
    assert!(Applied::new(&intent, &reordered).still_holds(&reordered, &intent));
}

fn any_value(keys: &'static str) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5_i64..5).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(keys, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_object(keys: &'static str) -> impl Strategy<Value = Object> {
    any_value(keys).prop_map(|value| object(json!({"spec": value})))
}

const WITH_KEYED_LISTS: &str = "a|b|conditions|type";
/// Without lists whose order does not matter, two intents are the same only if they are equal.
const WITHOUT: &str = "a|b|type";

proptest! {
    #[test]
    fn a_second_pass_with_the_same_inputs_owes_no_write(
        intent in any_object(WITH_KEYED_LISTS), answer in any_object(WITH_KEYED_LISTS),
    ) {
        let applied = Applied::new(&intent, &answer);
        prop_assert!(!is_apply_owed(&intent, Some(&applied), Some(&answer)));
    }

    #[test]
    fn another_intent_is_always_applied(a in any_object(WITHOUT), b in any_object(WITHOUT)) {
        let applied = Applied::new(&a, &a);
        prop_assert_eq!(is_apply_owed(&b, Some(&applied), Some(&a)), a != b);
    }
}

const MANAGER: &str = "apiextensions.crossplane.io/composed/1a";

/// A Deployment as we ask for it, and with it what managedFields say once it is applied.
fn asked() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "example.org/v1", "kind": "XR", "name": "x", "uid": "u", "controller": true}],
        },
        "spec": {
            "replicas": 2.0,
            "template": {"spec": {"containers": [{
                "name": "web", "image": "web:1", "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "500m"}},
            }]}},
        },
    })
}

fn held_by_us() -> Value {
    json!({
        "f:metadata": {"f:labels": {"f:app": {}}, "f:ownerReferences": {r#"k:{"uid":"u"}"#: {}}},
        "f:spec": {
            "f:replicas": {},
            "f:template": {"f:spec": {"f:containers": {r#"k:{"name":"web"}"#: {
                ".": {}, "f:name": {}, "f:image": {},
                "f:ports": {r#"k:{"containerPort":80,"protocol":"TCP"}"#: {".": {}, "f:containerPort": {}}},
                "f:resources": {"f:requests": {"f:cpu": {}}},
            }}}},
        },
    })
}

/// The Deployment as the API server has it: with defaults, a status, and fields of others.
fn deployed() -> Value {
    let mut live = asked();
    live["metadata"]["resourceVersion"] = "7".into();
    live["metadata"]["labels"]["theirs"] = "x".into();
    live["metadata"]["managedFields"] = json!([
        {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {"f:metadata": {}}},
        {"manager": MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": held_by_us()},
    ]);
    live["spec"]["replicas"] = 2.into();
    live["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = "TCP".into();
    live["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "0.5".into();
    live["status"] = json!({"readyReplicas": 2});
    live
}

#[test]
fn an_apply_that_is_not_remembered_is_known_by_what_its_manager_holds() {
    let check = |name: &str, as_asked: bool, change: fn(&mut Value, &mut Value)| {
        let (mut intent, mut there) = (asked(), deployed());
        change(&mut intent, &mut there);
        assert_eq!(Applied::found(&object(intent), &object(there), MANAGER).is_some(), as_asked, "{name}");
    };
    check("nothing has changed", true, |_, _| {});
    check("as text", true, |_, live| {
        let fields = &mut live["metadata"]["managedFields"][1]["fieldsV1"];
        *fields = fields.to_string().into();
    });
    check("a value is another", false, |_, live| live["spec"]["replicas"] = 3.into());
    check("a value is to be another", false, |intent, _| intent["spec"]["replicas"] = 3.into());
    check("a field is new", false, |intent, _| intent["spec"]["paused"] = false.into());
    check("a field is to be let go of", false, |intent, _| {
        intent["metadata"]["labels"] = json!({});
    });
    check("a field is another's", false, |_, live| {
        let fields = &mut live["metadata"]["managedFields"][1]["fieldsV1"];
        fields["f:spec"].as_object_mut().unwrap().remove("f:replicas");
    });
    check("a list element is new", false, |intent, _| {
        let containers = &mut intent["spec"]["template"]["spec"]["containers"];
        containers.as_array_mut().unwrap().push(json!({"name": "proxy"}));
    });
    check("applied in another version", false, |_, live| {
        live["metadata"]["managedFields"][1]["apiVersion"] = "apps/v1beta1".into();
    });
    check("written, not applied", false, |_, live| {
        live["metadata"]["managedFields"][1]["operation"] = "Update".into();
    });
    check("the status was applied", false, |_, live| {
        live["metadata"]["managedFields"][1]["subresource"] = "status".into();
    });
    check("applied by another", false, |_, live| {
        live["metadata"]["managedFields"][1]["manager"] = "other".into();
    });
    check("no managedFields", false, |_, live| {
        live["metadata"].as_object_mut().unwrap().remove("managedFields");
    });
}
