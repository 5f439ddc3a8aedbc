use super::*;
use crate::object::object;

const EARLY: &str = "2026-01-01T00:00:00Z";

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn xr_ref(name: &str) -> ObjectRef {
    ObjectRef::new("example.org/v1/XDatabase".parse().unwrap(), None, name)
}

fn claim(metadata: &Value, spec: &Value, status: &Value) -> Object {
    let mut claim = json!({
        "apiVersion": "example.org/v1", "kind": "Database",
        "metadata": {"name": "cool-claim", "namespace": "default", "generation": 20},
        "spec": spec, "status": status,
    });
    for (key, value) in metadata.as_object().unwrap() {
        claim["metadata"][key] = value.clone();
    }
    object(claim)
}

fn xr(metadata: &Value, spec: &Value, status: &Value) -> Object {
    let mut xr = json!({
        "apiVersion": "example.org/v1", "kind": "XDatabase", "metadata": {"name": "cool-claim-x"},
        "spec": spec, "status": status,
    });
    for (key, value) in metadata.as_object().unwrap() {
        xr["metadata"][key] = value.clone();
    }
    object(xr)
}

fn sync_specs(claim_spec: &Value, xr_spec: Option<&Value>, enforced: bool) -> (Value, Value) {
    let xr = xr_spec.map(|spec| xr(&json!({}), spec, &json!({})));
    let claim = claim(&json!({}), claim_spec, &json!({}));
    let synced = sync(&claim, xr.as_ref(), &xr_ref("cool-claim-x"), enforced).unwrap();
    (synced.composite["spec"].clone(), synced.claim["spec"].clone())
}

fn claim_ref() -> Value {
    json!({"apiVersion": "example.org/v1", "kind": "Database", "namespace": "default", "name": "cool-claim"})
}

fn resource_ref() -> Value {
    json!({"apiVersion": "example.org/v1", "kind": "XDatabase", "name": "cool-claim-x"})
}

fn with(mut base: Value, key: &str, value: Value) -> Value {
    base[key] = value;
    base
}

/// Crossplane's case XRDoesNotExist.
#[test]
fn a_new_xr_gets_what_the_claim_propagates() {
    let claim = claim(
        &json!({
            "labels": {"k8s.io/some-label": "filter-me-out", "app.kubernetes.io/name": "filter-me-out", "team": "a"},
            "annotations": {"kubernetes.io/some-anno": "filter-me-out", "note": "b",
                            "crossplane.io/external-name": "external"},
        }),
        &json!({"size": 3, "compositionSelector": {"matchLabels": {"env": "test"}}, "compositeDeletePolicy": "Background",
                "writeConnectionSecretToRef": {"name": "s"}}),
        &json!({}),
    );
    let synced = sync(&claim, None, &xr_ref("cool-claim-x"), false).unwrap();
    let expected = json!({
        "apiVersion": "example.org/v1", "kind": "XDatabase",
        "metadata": {
            "name": "cool-claim-x",
            "labels": {"team": "a", "crossplane.io/claim-name": "cool-claim", "crossplane.io/claim-namespace": "default"},
            "annotations": {"note": "b", "crossplane.io/external-name": "external"},
        },
        "spec": {"size": 3, "compositionSelector": {"matchLabels": {"env": "test"}}, "claimRef": claim_ref()},
    });
    assert_eq!(Value::Object(synced.composite), expected);
    assert!(synced.claim_changed);
    assert_eq!(synced.claim["spec"]["resourceRef"], resource_ref());
    // A second sync finds nothing to do on the claim.
    assert!(!sync(&synced.claim, None, &xr_ref("cool-claim-x"), false).unwrap().claim_changed);
}

/// Crossplane's case DoNotPropagateInjectedMachineryFields: they stay on the claim and never reach the XR.
#[test]
fn a_claim_cannot_write_the_engines_fields_through_us() {
    let injected = json!({"resourceRefs": [{"name": "victim"}], "claimRef": {"name": "other"}, "resourceRef": {"name": "x"}});
    let (xr, claim) = sync_specs(&with(injected, "size", json!(1)), None, false);
    assert_eq!(xr, json!({"size": 1, "claimRef": claim_ref()}));
    assert_eq!(claim["resourceRefs"], json!([{"name": "victim"}]));
}

#[test]
fn revisions_follow_the_xr_when_automatic_and_the_claim_when_manual() {
    let reference = |name: &str| json!({"name": name});
    let spec = |policy: &str, revision: &str| json!({"compositionUpdatePolicy": policy, "compositionRevisionRef": reference(revision)});
    let (xr, claim) = sync_specs(&spec("Automatic", "old"), Some(&spec("Automatic", "new")), false);
    assert_eq!(xr.get("compositionRevisionRef"), None);
    assert_eq!(claim["compositionRevisionRef"], reference("new"));
    let (xr, claim) = sync_specs(&spec("Manual", "mine"), Some(&spec("Manual", "other")), false);
    assert_eq!(xr["compositionRevisionRef"], reference("mine"));
    assert_eq!(claim["compositionRevisionRef"], reference("mine"));
}

/// Crossplane's four EnforcedComposition cases.
#[test]
fn the_composition_comes_from_the_claim_unless_it_is_enforced() {
    let reference = |name: &str| json!({"compositionRef": {"name": name}});
    let check = |claim: Value, xr: Option<Value>, enforced, on_xr: Option<&str>, on_claim: Option<&str>| {
        let (xr_spec, claim_spec) = sync_specs(&claim, xr.as_ref(), enforced);
        let name = |spec: &Value| spec["compositionRef"]["name"].as_str().map(str::to_owned);
        assert_eq!(name(&xr_spec).as_deref(), on_xr, "on the XR: {claim} {xr:?} {enforced}");
        assert_eq!(name(&claim_spec).as_deref(), on_claim, "on the claim: {claim} {xr:?} {enforced}");
    };
    check(reference("mine"), Some(reference("theirs")), false, Some("mine"), Some("mine"));
    check(json!({}), Some(reference("theirs")), false, None, Some("theirs"));
    check(reference("mine"), Some(reference("enforced")), true, None, Some("enforced"));
    check(json!({}), Some(reference("enforced")), true, None, Some("enforced"));
    check(reference("mine"), None, true, None, Some("mine"));
    let selector = |label: &str| json!({"compositionRevisionSelector": {"matchLabels": {"channel": label}}});
    let (_, claim) = sync_specs(&json!({}), Some(&selector("dev")), false);
    assert_eq!(claim["compositionRevisionSelector"], selector("dev")["compositionRevisionSelector"]);
    let (_, claim) = sync_specs(&selector("prod"), Some(&selector("dev")), false);
    assert_eq!(claim["compositionRevisionSelector"], selector("prod")["compositionRevisionSelector"]);
}

#[test]
fn the_xrs_external_name_wins() {
    let name = |value: &str| json!({"annotations": {"crossplane.io/external-name": value}});
    let claim = claim(&name("wanted"), &json!({}), &json!({}));
    let xr = xr(&name("actual"), &json!({}), &json!({}));
    let synced = sync(&claim, Some(&xr), &xr_ref("cool-claim-x"), false).unwrap();
    assert_eq!(synced.composite["metadata"]["annotations"]["crossplane.io/external-name"], "actual");
    assert_eq!(synced.claim["metadata"]["annotations"]["crossplane.io/external-name"], "actual");
}

/// Crossplane's case CompositeAlreadyBoundError, and late binding.
#[test]
fn an_xr_of_another_claim_is_left_alone() {
    let claim = claim(&json!({}), &json!({}), &json!({}));
    let check = |claim_ref: Option<Value>| {
        let spec = claim_ref.map_or_else(|| json!({}), |claim_ref| json!({"claimRef": claim_ref}));
        sync(&claim, Some(&xr(&json!({}), &spec, &json!({}))), &xr_ref("cool-claim-x"), false).map(|_| ())
    };
    assert_eq!(check(None), Ok(()));
    assert_eq!(check(Some(claim_ref())), Ok(()));
    let error = check(Some(with(claim_ref(), "namespace", json!("other")))).unwrap_err();
    insta::assert_snapshot!(error, @r#"refusing to operate on composite resource "cool-claim-x" that is not bound to this claim: bound to claim "cool-claim""#);
}

/// Crossplane's cases WeirdClaimSpec and WeirdXRStatus.
#[test]
fn weird_objects_are_errors() {
    let weird = claim(&json!({}), &json!("text"), &json!({}));
    assert_eq!(sync(&weird, None, &xr_ref("x"), false), Err(ClaimError::Spec));
    let xr = xr(&json!({}), &json!({}), &json!("text"));
    let fine = claim(&json!({}), &json!({}), &json!({}));
    assert_eq!(status(&fine, &xr, None, now()), Err(ClaimError::Status));
}

fn was(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": EARLY})
}

fn shown(status: &Object) -> String {
    let conditions = Conditions::of(&object(json!({"status": status})));
    let line = |c: &Condition| {
        format!("{} {} {} {}", c.kind, c.status.as_str(), c.reason, c.message).trim_end().to_owned()
    };
    conditions.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Crossplane's case ClaimConditions. `Healthy` is absent because the XR does not have it.
#[test]
fn a_claim_shows_the_conditions_meant_for_it() {
    let claim = claim(
        &json!({}),
        &json!({}),
        &json!({"conditions": [was("Synced", "True", "ReconcileSuccess"), was("Ready", "True", "Available"),
            was("DatabaseReady", "False", "Creating")]}),
    );
    let xr = xr(
        &json!({}),
        &json!({}),
        &json!({
            "conditions": [was("Ready", "True", "Available"), was("DatabaseReady", "True", "Available"),
                was("BucketReady", "False", "Creating"), was("InternalSync", "False", "Syncing")],
            "claimConditionTypes": ["DatabaseReady", "BucketReady"],
        }),
    );
    let status = status(&claim, &xr, None, now()).unwrap();
    insta::assert_snapshot!(shown(&status), @r"
    Synced True ReconcileSuccess
    Ready True Available
    DatabaseReady True Available
    BucketReady False Creating
    ");
    let copied = &status["conditions"][2];
    assert_eq!((&copied["observedGeneration"], &copied["lastTransitionTime"]), (&json!(20), &json!(EARLY)));
}

/// Crossplane's case XRExists.
#[test]
fn a_claim_keeps_its_own_conditions_and_takes_the_users_fields() {
    let custom = with(was("ExampleCustomStatus", "True", "SomeReason"), "observedGeneration", json!(20));
    let claim = claim(
        &json!({}),
        &json!({}),
        &json!({"conditions": [was("Synced", "True", "ReconcileSuccess"), was("Ready", "False", "Waiting"), custom],
            "connectionDetails": {"lastPublishedTime": EARLY}, "stale": 1}),
    );
    let xr = xr(
        &json!({}),
        &json!({}),
        &json!({
            "userDefinedField": "status", "crossplane": {"pipeline": []},
            "conditions": [was("Synced", "True", "ReconcileSuccess"), was("Other", "True", "R")],
            "claimConditionTypes": ["ExampleCustomStatus"], "connectionDetails": {"lastPublishedTime": "2020-01-01T00:00:00Z"},
        }),
    );
    let status = status(&claim, &xr, None, now()).unwrap();
    assert_eq!(status.keys().collect::<Vec<_>>(), ["conditions", "connectionDetails", "userDefinedField"]);
    assert_eq!(status["connectionDetails"], json!({"lastPublishedTime": EARLY}));
    insta::assert_snapshot!(shown(&status), @r"
    Synced True ReconcileSuccess
    Ready False Waiting Claim is waiting for composite resource to become Ready
    ExampleCustomStatus True SomeReason
    ");
}

#[test]
fn a_waiting_claim_names_what_it_waits_for_and_no_causes() {
    let ready = with(was("Ready", "False", "Creating"), "message", json!("Unready resources: a, b, and c"));
    let healthy = with(
        was("Healthy", "False", "ChildRefused"),
        "message",
        json!("a: secret cause (error id 01234567)"),
    );
    let xr = xr(
        &json!({}),
        &json!({}),
        &json!({"conditions": [ready, healthy], "crossplane": {"failure": {"id": "01234567", "reportedToClaim": false}}}),
    );
    let claim = claim(&json!({}), &json!({}), &json!({}));
    insta::assert_snapshot!(shown(&status(&claim, &xr, Some("We are on it."), now()).unwrap()), @r#"
    Synced True ReconcileSuccess
    Ready False Waiting Claim is waiting for composite resource to become Ready: a, b, and c
    Healthy False InternalError We are on it. For help, quote composite resource "cool-claim-x" and error id 01234567.
    "#);
}

#[test]
fn a_retired_condition_leaves_the_claim_and_others_stay() {
    let claim = claim(
        &json!({}),
        &json!({}),
        &json!({"conditions": [was("Left", "True", "R"), was("Foreign", "True", "R"), was("Back", "True", "R")]}),
    );
    let xr = xr(
        &json!({}),
        &json!({}),
        &json!({"conditions": [was("Ready", "True", "Available"), was("Left", "True", "R"), was("Back", "True", "R")],
            "claimConditionTypes": ["Back"],
            "crossplane": {"retiredConditionTypes": ["Left", "Back", "Ready"]}}),
    );
    insta::assert_snapshot!(shown(&status(&claim, &xr, None, now()).unwrap()), @r"
    Foreign True R
    Back True R
    Synced True ReconcileSuccess
    Ready True Available
    ");
}

#[test]
fn a_second_look_at_the_same_xr_changes_nothing() {
    let xr = xr(
        &json!({}),
        &json!({}),
        &json!({"field": 1, "conditions": [was("Healthy", "False", "FatalResult"), was("DatabaseReady", "True", "R")],
            "claimConditionTypes": ["DatabaseReady"], "crossplane": {"failure": {"id": "01234567"}}}),
    );
    let before = claim(&json!({}), &json!({}), &json!({}));
    let first = status(&before, &xr, None, now()).unwrap();
    let after = claim(&json!({}), &json!({}), &Value::Object(first.clone()));
    let later = now() + jiff::SignedDuration::from_secs(60);
    assert_eq!(status(&after, &xr, None, later).unwrap(), first);
}

/// Crossplane's deletion cases.
#[test]
fn deletion_goes_by_policy() {
    let check = |policy: Option<&str>, xr: Option<&Object>, expected| {
        let spec = policy.map_or_else(|| json!({}), |policy| json!({"compositeDeletePolicy": policy}));
        assert_eq!(deletion(&claim(&json!({}), &spec, &json!({})), xr), expected, "{policy:?}");
    };
    let alive = xr(&json!({}), &json!({}), &json!({}));
    let dying = xr(&json!({"deletionTimestamp": EARLY}), &json!({}), &json!({}));
    check(None, Some(&alive), Deletion::DeleteThenRelease);
    check(Some("Background"), Some(&dying), Deletion::DeleteThenRelease);
    check(Some("Foreground"), Some(&alive), Deletion::DeleteInForeground);
    check(Some("Foreground"), Some(&dying), Deletion::Wait);
    check(Some("Foreground"), None, Deletion::Release);
    check(None, None, Deletion::Release);
}

/// Crossplane's cases ReconciliationPaused, ReconciliationUnpaused and SuccessfulDelete, and errors that stop a sync.
#[test]
fn a_claim_that_is_not_synced_keeps_what_it_shows() {
    let before = json!({"conditions": [was("Synced", "True", "ReconcileSuccess"), was("Custom", "True", "R")], "field": 1});
    let paused =
        with_conditions(&claim(&json!({}), &json!({}), &before), [crate::readiness::reconcile_paused(now())]);
    insta::assert_snapshot!(shown(&paused), @r"
    Synced False ReconcilePaused Reconciliation (including deletion) is paused via the pause annotation
    Custom True R
    ");
    assert_eq!(paused["field"], 1);
    let again = claim(&json!({}), &json!({}), &Value::Object(paused));
    let xr = xr(&json!({}), &json!({}), &json!({}));
    insta::assert_snapshot!(shown(&status(&again, &xr, None, now()).unwrap()), @r"
    Synced True ReconcileSuccess
    Custom True R
    Ready False Waiting Claim is waiting for composite resource to become Ready
    ");
    let error = crate::readiness::reconcile_error("cannot get bound composite resource: boom", now());
    insta::assert_snapshot!(shown(&with_conditions(&again, [error])), @r"
    Synced False ReconcileError cannot get bound composite resource: boom
    Custom True R
    ");
}
