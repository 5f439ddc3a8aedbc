use serde_json::{Value, json};

use super::*;

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn lines(object: &Object) -> Vec<String> {
    let line = |condition: &Condition| {
        let text = format!(
            "{}={} {} {}",
            condition.kind,
            condition.status.as_str(),
            condition.reason,
            condition.message
        );
        text.trim_end().to_owned()
    };
    Conditions::of(object).iter().map(line).collect()
}

#[test]
fn a_function_is_as_healthy_as_what_runs_for_it() {
    let function =
        object::object(json!({"metadata": {"name": "f", "generation": 2}, "spec": {"package": "p"}}));
    let active = |trouble: Option<&str>| Standing::Active {
        current: Some("f-1".to_owned()),
        about: "about".to_owned(),
        trouble: trouble.map(str::to_owned),
    };
    let check = |standing: &Standing, expected: &[&str]| {
        let reported = function_status(&function, standing, now()).unwrap();
        assert_eq!(lines(&reported), expected);
        assert_eq!(function_status(&reported, standing, now()), None, "a write changes nothing");
        reported
    };
    let healthy = check(
        &active(None),
        &["Installed=True ActivePackageRevision about", "Healthy=True HealthyPackageRevision"],
    );
    assert_eq!(healthy["status"]["currentRevision"], "f-1");
    assert_eq!(healthy["status"]["conditions"][0]["observedGeneration"], 2);
    check(
        &active(Some("down")),
        &["Installed=True ActivePackageRevision about", "Healthy=False UnhealthyPackageRevision down"],
    );
    check(
        &Standing::Inactive { current: "f-1".to_owned() },
        &[
            "Installed=False InactivePackageRevision Package is inactive",
            "Healthy=Unknown UnknownPackageRevisionHealth no revision is active",
        ],
    );
}

#[test]
fn a_deployment_serves_when_it_is_available() {
    let deployment = |conditions: Value| object::object(json!({"status": {"conditions": conditions}}));
    let check = |deployment: Option<Object>, expected: Option<&str>| {
        let expected = expected.map(|why| format!("post establish runtime hook failed for package: {why}"));
        assert_eq!(unavailable(deployment.as_ref()), expected);
    };
    let not_yet = "function package deployment has no condition of type \"Available\" yet";
    check(None, Some(not_yet));
    check(Some(deployment(json!([]))), Some(not_yet));
    check(Some(deployment(json!([{"type": "Available", "status": "True"}]))), None);
    let unavailable = json!([{"type": "Available", "status": "False", "message": "no Pods"}]);
    check(
        Some(deployment(unavailable)),
        Some("function package deployment is unavailable with message: no Pods"),
    );
    // A changed runtime config has not been rolled out yet.
    let mut changed = deployment(json!([{"type": "Available", "status": "True"}]));
    changed.insert("metadata".to_owned(), json!({"generation": 2}));
    changed["status"]["observedGeneration"] = json!(1);
    check(
        Some(changed),
        Some(
            "function package deployment is unavailable with message: the controller has observed generation 1 of 2",
        ),
    );
}

#[test]
fn a_package_that_is_not_installed_says_so() {
    let provider = |conditions: Value| {
        object::object(json!({
            "kind": "Provider", "metadata": {"name": "p", "generation": 1}, "status": {"conditions": conditions},
        }))
    };
    let reported = unsupported(&provider(json!([])), now()).unwrap();
    assert_eq!(unsupported(&reported, now()), None);
    assert!(
        lines(&reported)[0]
            .starts_with("Installed=False UnpackingPackage Plimsoll does not install a Provider")
    );
    let by_crossplane = json!([{"type": "Installed", "status": "True", "observedGeneration": 1}]);
    assert_eq!(unsupported(&provider(by_crossplane), now()), None, "Crossplane installed it");
    let by_an_older_one = json!([{"type": "Installed", "status": "True"}]);
    assert_eq!(unsupported(&provider(by_an_older_one), now()), None, "an older Crossplane installed it");
}
