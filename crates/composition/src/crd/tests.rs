use diag::Severity;

use super::*;

/// `reference.jsonl` holds XRDs and what crossplane-runtime v2.4.0's `xcrd` package makes of them, one a line.
#[test]
fn crds_are_those_of_crossplane_with_our_status_added() {
    let mut cases = 0;
    for line in include_str!("reference.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        check(&case);
        cases += 1;
    }
    assert_eq!(cases, 19);
}

/// Where `xcrd` has an error, the XRD is refused when it is read, unless it merely offers no claim.
fn check(case: &Value) {
    let name = case["name"].as_str().unwrap();
    let no_claim = case["claimError"] == "invalid resource claim names: missing names";
    let is_refused = case.get("compositeError").is_some() || (case.get("claimError").is_some() && !no_claim);
    let Ok((definition, _)) = Definition::read(case["xrd"].as_object().unwrap()) else {
        assert!(is_refused, "{name}");
        return;
    };
    assert!(!is_refused, "{name}");
    assert_eq!(without_ours(composite(&definition), name), case["composite"], "{name}: XR");
    assert_eq!(claim(&definition).map(Value::Object), case.get("claim").cloned(), "{name}: claim");
}

/// Takes out what Crossplane does not have, after checking that it is there.
fn without_ours(crd: Object, name: &str) -> Value {
    let mut crd = Value::Object(crd);
    for version in crd["spec"]["versions"].as_array_mut().unwrap() {
        let status = &mut version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
        let ours = status.as_object_mut().unwrap().remove("crossplane");
        assert_eq!(ours, Some(schema::engine_status()), "{name}");
    }
    crd
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

#[test]
fn what_crossplane_generated_differs_from_what_users_wrote() {
    let generated: Vec<Value> = include_str!("reference.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .flat_map(|case: Value| [case["composite"].clone(), case["claim"].clone()])
        .filter(Value::is_object)
        .collect();
    assert!(generated.len() > 19);
    for crd in &generated {
        let crd = object::from_value(crd.clone());
        assert!(is_generated(&crd, &crd), "{crd:?}");
        for part in ["names", "versions"] {
            let mut written = crd.clone();
            let names = json!({"kind": "X", "plural": "xs", "categories": ["all"]});
            let version = json!({"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}});
            written["spec"][part] = if part == "names" { names } else { json!([version]) };
            assert!(!is_generated(&written, &crd), "{part}: {written:?}");
        }
    }
    let of = |category: &str| {
        let of_category = |crd: &&Value| {
            crd["spec"]["names"]["categories"].as_array().is_some_and(|all| all.contains(&json!(category)))
        };
        object::from_value(generated.iter().find(of_category).unwrap().clone())
    };
    assert!(!is_generated(&of("claim"), &of("composite")));
}
