use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::*;

#[test]
fn every_definition_round_trips() {
    for written in definitions() {
        let read: CustomResourceDefinition = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), written, "{:?}", read.metadata.name);
    }
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
