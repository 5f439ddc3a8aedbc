use serde_json::json;

use super::*;

#[test]
fn conditions_are_written_only_when_they_change() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let function = object::from_value(json!({"metadata": {"name": "f", "generation": 1}}));
    let well = report(&function, None, now).unwrap();
    let shown = |function: &Object| {
        let shown = |condition: &Condition| {
            format!("{}={} {}", condition.kind, condition.status.as_str(), condition.reason)
        };
        Conditions::of(function).iter().map(shown).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(shown(&well), "Installed=True ActivePackageRevision, Healthy=True HealthyPackageRevision");
    assert_eq!(report(&well, None, now), None);
    let ill = report(&well, Some("no connection"), now).unwrap();
    assert_eq!(shown(&ill), "Installed=True ActivePackageRevision, Healthy=False UnhealthyPackageRevision");
}

#[test]
fn a_changed_revision_concerns_the_functions_it_is_and_was_of() {
    let revision = |package: &str| {
        Some(Arc::new(json!({"metadata": {"name": "r", "labels": {LABEL_PACKAGE: package}}})))
    };
    let check = |before, after, expected: &[&str]| {
        let key = Key::cluster_scoped("r");
        assert_eq!(packages(&Change { key, before, after }), expected);
    };
    check(None, revision("a"), &["a"]);
    check(revision("a"), revision("a"), &["a"]);
    check(revision("a"), revision("b"), &["a", "b"]);
    check(revision("a"), None, &["a"]);
}
