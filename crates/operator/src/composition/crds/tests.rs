use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

use super::*;

#[test]
fn every_definition_round_trips() {
    for written in definitions() {
        let read: CustomResourceDefinition = serde_json::from_value(written.clone()).unwrap();
        let read_back = serde_json::to_value(&read).unwrap();
        assert_eq!(with_floats(read_back), with_floats(written), "{:?}", read.metadata.name);
    }
}

/// With every number as a float, as the type has the limits of numbers.
fn with_floats(mut value: Value) -> Value {
    match &mut value {
        Value::Number(number) => value = json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(|item| *item = with_floats(item.take())),
        Value::Object(fields) => fields.values_mut().for_each(|field| *field = with_floats(field.take())),
        _ => {}
    }
    value
}

#[test]
fn every_policy_is_an_object() {
    let of = |policy: &Value| manifest::ObjectRef::of(policy.as_object().unwrap()).unwrap().to_string();
    let names: Vec<String> = policies().iter().map(of).collect();
    assert_eq!(
        names,
        [
            "ValidatingAdmissionPolicy plimsoll-requests",
            "ValidatingAdmissionPolicyBinding plimsoll-requests",
            "ClusterRole plimsoll-requests",
        ]
    );
}
