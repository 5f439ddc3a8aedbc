use diag::Severity;

use super::*;
use crate::object::object;

/// Row U. `reference.jsonl` holds XRDs and what crossplane-runtime v2.4.0's `xcrd` package makes of them, one a line.
#[test]
fn crds_are_those_of_the_reference_with_our_status_added() {
    let mut cases = 0;
    for line in include_str!("reference.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        check(&case);
        cases += 1;
    }
    assert_eq!(cases, 19);
}

fn check(case: &Value) {
    let name = case["name"].as_str().unwrap();
    let definition = read_anyway(&case["xrd"]);
    let found = composite(&definition);
    match case.get("compositeError") {
        Some(error) => assert_eq!(found.unwrap_err().to_string(), *error, "{name}"),
        None => assert_eq!(without_ours(found.unwrap(), name), case["composite"], "{name}: XR"),
    }
    let found = claim(&definition);
    match case.get("claimError") {
        Some(error) => assert_eq!(found.unwrap_err().to_string(), *error, "{name}"),
        None => assert_eq!(Value::Object(found.unwrap()), case["claim"], "{name}: claim"),
    }
}

/// Takes out what the reference does not have, after checking that it is there.
fn without_ours(crd: Object, name: &str) -> Value {
    let mut crd = Value::Object(crd);
    for version in crd["spec"]["versions"].as_array_mut().unwrap() {
        let status = &mut version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
        let ours = status.as_object_mut().unwrap().remove("crossplane");
        assert_eq!(ours, Some(schema::engine_status()), "{name}");
    }
    crd
}

/// Reads an XRD that may have errors, as it would be if it had got past the API server before they were known.
fn read_anyway(xrd: &Value) -> Definition {
    let mut sound = xrd.clone();
    let versions = sound["spec"]["versions"].as_array_mut().unwrap();
    for version in versions {
        version.as_object_mut().unwrap().entry("schema").or_insert_with(|| json!({"openAPIV3Schema": {}}));
    }
    sound["spec"].as_object_mut().unwrap().remove("claimNames");
    let (mut definition, _) = Definition::read(&object(sound)).unwrap();
    let names = &xrd["spec"]["claimNames"];
    definition.spec.claim_names = (!names.is_null()).then(|| serde_json::from_value(names.clone()).unwrap());
    for (version, written) in
        definition.spec.versions.iter_mut().zip(xrd["spec"]["versions"].as_array().unwrap())
    {
        if written.get("schema").is_none() {
            version.schema = None;
        }
    }
    definition
}

#[test]
fn only_what_is_dropped_is_warned_of() {
    for line in include_str!("reference.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Ok((_, warnings)) = Definition::read(case["xrd"].as_object().unwrap()) else { continue };
        let dropped = case["name"] == "DroppedKeywords";
        assert_eq!(warnings.len(), if dropped { 3 } else { 0 }, "{}", case["name"]);
        assert!(warnings.iter().all(|warning| warning.severity == Severity::Warning));
    }
}
