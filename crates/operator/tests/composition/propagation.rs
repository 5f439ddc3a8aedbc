//! A claim and its XR in step: fields both ways, fields that go, XRs that were there before, Compositions and revisions.

use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{apply, composition, condition_line, delete, get, is_true, session, until, until_gone};
use crate::platform::Platform;

/// Says in the status what its step was given as input.
async fn echo(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    if let Some(say) = request.input.as_ref().and_then(|input| input.get("say")) {
        rsp.desired.composite = composition::protocol::Resource::of(json!({"status": {"coolerField": say}}));
    }
    Ok(rsp)
}

fn ready(object: &Value) -> bool {
    is_true(object, "Ready")
}

/// Crossplane's TestLegacyPropagateFieldsRemovalToXR.
#[tokio::test]
async fn what_is_removed_from_a_claim_is_removed_from_its_xr() {
    let platform = Platform::new("removal", echo).await;
    let session = session();
    let claim = |labels: Value, annotations: Value, numbers: Value, tags: Value| {
        let mut claim = platform.claim("removal", json!({"numbers": numbers, "tags": tags}));
        claim["metadata"]["labels"] = labels;
        claim["metadata"]["annotations"] = annotations;
        claim
    };
    let first = claim(
        json!({"foo": "1", "bar": "2", "topology.kubernetes.io/zone": "a"}),
        json!({"test/foo": "1", "test/bar": "2"}),
        json!(["one", "three"]),
        json!({"tag": "v1", "newtag": "v2"}),
    );
    apply(&session, &first).await;
    let shows = |labels: Value, annotations: Value, numbers: Value, tags: Value| {
        move |xr: &Value| {
            let subset = |have: &Value, want: &Value| {
                want.as_object().unwrap().iter().all(|(key, value)| have.get(key) == Some(value))
            };
            subset(&xr["metadata"]["labels"], &labels)
                && subset(&xr["metadata"]["annotations"], &annotations)
                && xr["spec"]["numbers"] == numbers
                && xr["spec"]["tags"] == tags
        }
    };
    let xr = platform
        .xr(
            &first,
            "it has what the claim has",
            shows(
                json!({"foo": "1", "bar": "2"}),
                json!({"test/foo": "1", "test/bar": "2"}),
                json!(["one", "three"]),
                json!({"tag": "v1", "newtag": "v2"}),
            ),
        )
        .await;
    assert_eq!(
        xr["metadata"]["labels"].get("topology.kubernetes.io/zone"),
        None,
        "Kubernetes' own stay behind"
    );
    assert_eq!(xr["metadata"]["labels"]["crossplane.io/claim-name"], "removal");

    let second = claim(
        json!({"foo": "1", "foo2": "3"}),
        json!({"test/foo": "1", "test/foo2": "4"}),
        json!(["one", "five"]),
        json!({"tag": "v1"}),
    );
    apply(&session, &second).await;
    let xr = platform
        .xr(
            &second,
            "it has what the claim has now",
            shows(
                json!({"foo": "1", "foo2": "3"}),
                json!({"test/foo": "1", "test/foo2": "4"}),
                json!(["one", "five"]),
                json!({"tag": "v1"}),
            ),
        )
        .await;
    assert_eq!(xr["metadata"]["labels"].get("bar"), None);
    assert_eq!(xr["metadata"]["annotations"].get("test/bar"), None);
}

/// Crossplane's TestLegacyBindToExistingXR.
#[tokio::test]
async fn a_claim_can_be_bound_to_an_existing_xr() {
    let platform = Platform::new("bind", echo).await;
    let session = session();
    let name = format!("bind-{}", platform.group.split('.').next().unwrap());
    let xr = platform.object("XApp", &name, None, &json!({"coolField": "Set by XR"}));
    let xr = apply(&session, &xr).await;
    let mut claim = platform.claim("bind", json!({"coolField": "Set by claim"}));
    claim["spec"]["resourceRef"] =
        json!({"apiVersion": format!("{}/v1", platform.group), "kind": "XApp", "name": name});
    apply(&session, &claim).await;
    let bound =
        |xr: &Value| xr["spec"]["claimRef"]["name"] == "bind" && xr["spec"]["coolField"] == "Set by claim";
    until(&session, &xr, "it is bound", bound).await;
    until(&session, &claim, "it is ready", ready).await;

    // Another claim for the same XR is refused, and the XR stays whose it is.
    let mut other = platform.claim("other", json!({"coolField": "Set by another"}));
    other["spec"]["resourceRef"] = claim["spec"]["resourceRef"].clone();
    apply(&session, &other).await;
    let refused = |claim: &Value| condition_line(claim, "Synced") == "Synced=False ReconcileError";
    until(&session, &other, "it is refused", refused).await;
    assert_eq!(get(&session, &xr).await.unwrap()["spec"]["coolField"], "Set by claim");
    delete(&session, &other).await;

    delete(&session, &claim).await;
    until_gone(&session, &claim).await;
    until_gone(&session, &xr).await;
}

/// Crossplane's TestCompositionSelection.
#[tokio::test]
async fn a_composition_is_selected_by_labels_once_and_stays_selected() {
    let platform = Platform::new("select", echo).await;
    let session = session();
    for region in ["au", "us"] {
        let name = format!("testing-{region}-{}", platform.group);
        let mut labelled = composition(&name, &platform.group, &[&platform.function]);
        labelled["metadata"]["labels"] = json!({"environment": "testing", "region": region});
        apply(&session, &labelled).await;
    }
    let claim = |labels: Value| {
        platform.object(
            "App",
            "select",
            Some("default"),
            &json!({"compositionSelector": {"matchLabels": labels}}),
        )
    };
    apply(&session, &claim(json!({"environment": "testing", "region": "au"}))).await;
    let selected = format!("testing-au-{}", platform.group);
    let chosen = |object: &Value| object["spec"]["compositionRef"]["name"] == json!(selected);
    until(&session, &claim(json!({})), "it has the XR's choice", chosen).await;

    apply(&session, &claim(json!({"environment": "testing"}))).await;
    let narrowed = |xr: &Value| {
        xr["spec"]["compositionSelector"]["matchLabels"] == json!({"environment": "testing"}) && chosen(xr)
    };
    platform.xr(&claim(json!({})), "the selector follows and the choice stays", narrowed).await;
    let shown = get(&session, &claim(json!({}))).await.unwrap();
    assert_eq!(shown["spec"]["compositionSelector"]["matchLabels"], json!({"environment": "testing"}));
}

/// Crossplane's TestCompositionRevisionSelection, with the policy that stays where it is beside it.
#[tokio::test]
async fn a_changed_composition_reaches_claims_that_follow_it() {
    let platform = Platform::new("follow", echo).await;
    let session = session();
    let say = |text: &str| {
        let mut saying = composition(&platform.group, &platform.group, &[&platform.function]);
        saying["spec"]["pipeline"][0]["input"] =
            json!({"apiVersion": "example.org/v1", "kind": "Input", "say": text});
        saying
    };
    apply(&session, &say("original")).await;
    let following = platform.claim("following", json!({}));
    let mut staying = platform.claim("staying", json!({"compositionUpdatePolicy": "Manual"}));
    apply(&session, &following).await;
    apply(&session, &staying).await;
    let says = |text: &'static str| move |claim: &Value| claim["status"]["coolerField"] == text;
    until(&session, &following, "it says what the Composition says", says("original")).await;
    staying = until(&session, &staying, "it says what the Composition says", says("original")).await;

    apply(&session, &say("updated")).await;
    until(&session, &following, "it says what the Composition says now", says("updated")).await;
    let staying = get(&session, &staying).await.unwrap();
    assert_eq!(staying["status"]["coolerField"], "original");
}

/// What the XRD's schema does not allow is reported, and nothing else is lost.
#[tokio::test]
async fn a_rejected_status_is_reported_and_recovers() {
    let platform = Platform::new("status", echo).await;
    let session = session();
    let say = |what: Value| {
        let mut saying = composition(&platform.group, &platform.group, &[&platform.function]);
        saying["spec"]["pipeline"][0]["input"] =
            json!({"apiVersion": "example.org/v1", "kind": "Input", "say": what});
        saying
    };
    apply(&session, &say(json!({"not": "a string"}))).await;
    let claim = platform.claim("status", json!({}));
    apply(&session, &claim).await;
    let failed = |xr: &Value| condition_line(xr, "Synced") == "Synced=False ReconcileError";
    let xr = platform.xr(&claim, "it failed", failed).await;
    let message = crate::fixture::condition(&xr, "Healthy").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("cannot compose resources: "), "{message}");
    let unhealthy = |claim: &Value| condition_line(claim, "Healthy") == "Healthy=False InternalError";
    until(&session, &claim, "its user knows", unhealthy).await;
    apply(&session, &say(json!("a string"))).await;
    until(&session, &claim, "it heals", |claim| ready(claim) && is_true(claim, "Healthy")).await;
}

#[tokio::test]
async fn a_paused_claim_is_left_alone_until_it_is_resumed() {
    let platform = Platform::new("paused", echo).await;
    let session = session();
    let paused = |value: &str, number: &str| {
        let mut claim = platform.claim("paused", json!({"number": number}));
        claim["metadata"]["annotations"] = json!({"crossplane.io/paused": value});
        claim
    };
    apply(&session, &paused("true", "1")).await;
    let is_paused = |object: &Value| condition_line(object, "Synced") == "Synced=False ReconcilePaused";
    let claim = until(&session, &paused("", ""), "it says that it is paused", is_paused).await;
    assert_eq!(claim["spec"].get("resourceRef"), None);
    apply(&session, &paused("false", "2")).await;
    until(&session, &claim, "it goes on", ready).await;

    // The XR takes the annotation over with all others.
    apply(&session, &paused("true", "3")).await;
    until(&session, &claim, "it is paused again", is_paused).await;
    let xr = platform.xr(&claim, "it has the number before", |xr| xr["spec"]["number"] == "2").await;
    let mut lone = platform.object("XApp", xr["metadata"]["name"].as_str().unwrap(), None, &json!({}));
    lone["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
    apply(&session, &lone).await;
    platform.xr(&claim, "it is paused too", is_paused).await;
}
