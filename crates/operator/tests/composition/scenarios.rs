//! What the user of a claim reads: exactly the conditions that the author of the composition addressed to the claim, beside
//! those of the engine.

use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{apply, condition, events, reference, session, until};
use crate::platform::{Platform, asked_text};

const NOT_FOUND: &str = "The image provided does not exist or you are not authorized to use it.";
const WAITING: &str = "Waiting for the deployment to be available.";

/// The platform team's function: it reads what the claim requests and reports its state, for each audience in its own words.
async fn team(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let scenario = asked_text(&request, "scenario");
    let mut rsp = response::to(&request);
    if scenario == "internal-error" {
        response::fatal(&mut rsp, "cannot resolve registry.internal: no such host");
        return Ok(rsp);
    }
    response::condition_true(&mut rsp, "DatabaseReady", "Available").target_composite_and_claim();
    response::condition_true(&mut rsp, "InternalSync", "Synced");
    match scenario.as_str() {
        "image-not-found" => {
            response::condition_false(&mut rsp, "ImageReady", "NotFound")
                .with_message(NOT_FOUND)
                .target_composite_and_claim();
        }
        "image-not-found-fatal" => {
            response::fatal(&mut rsp, NOT_FOUND)
                .condition_false("ImageReady", "NotFound")
                .target_composite_and_claim();
        }
        "progressing" => {
            response::condition_true(&mut rsp, "ImageReady", "Available").target_composite_and_claim();
            response::condition_false(&mut rsp, "AppReady", "Creating")
                .with_message(WAITING)
                .target_composite_and_claim();
        }
        _ => {
            response::condition_true(&mut rsp, "ImageReady", "Available").target_composite_and_claim();
            response::condition_true(&mut rsp, "AppReady", "Available").target_composite_and_claim();
        }
    }
    Ok(rsp)
}

/// What the user reads: the lines of all conditions, without times and generations.
fn read(claim: &Value) -> Vec<String> {
    let conditions =
        claim.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let line = |condition: &Value| {
        let text = |key: &str| condition[key].as_str().unwrap_or_default();
        let message =
            if text("message").is_empty() { String::new() } else { format!(": {}", text("message")) };
        format!("{}={} {}{message}", text("type"), text("status"), text("reason"))
    };
    let mut lines: Vec<String> = conditions.iter().map(line).collect();
    lines.sort();
    lines
}

async fn check(platform: &Platform, scenario: &str, expected: &[&str]) -> Value {
    let session = session();
    let claim = platform.claim(scenario, json!({"scenario": scenario}));
    apply(&session, &claim).await;
    let healthy = |claim: &Value| condition(claim, "Healthy").is_some();
    let claim = until(&session, &claim, "its XR has said how it is", healthy).await;
    // As its user reads it.
    let sandbox = testkit::Sandbox::shared();
    let target = reference(&claim);
    let (name, namespace) = (target.name.as_str(), "default");
    let kind = format!("apps.v1.{}", platform.group);
    let output = sandbox.kubectl(&["get", &kind, name, "--namespace", namespace, "--output", "yaml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let document = manifest::read(&diag::Source::new("claim.yaml", text), &manifest::Limits::default());
    let shown = document.single().unwrap().value().clone();
    let lines = read(&shown);
    // An id differs from claim to claim, and so does the name of the XR.
    let lines: Vec<String> = lines
        .into_iter()
        .map(|line| match line.split_once(" For help, quote composite resource ") {
            Some((before, after)) => {
                assert!(after.contains("error id"), "{after}");
                before.to_owned()
            }
            None => line,
        })
        .collect();
    assert_eq!(lines, expected, "{scenario}");
    shown
}

#[tokio::test]
async fn conditions_with_a_claim_target_reach_the_claim() {
    let platform = Platform::new("seed", team).await;
    let image_not_found = format!("ImageReady=False NotFound: {NOT_FOUND}");
    check(
        &platform,
        "image-not-found",
        &[
            "DatabaseReady=True Available",
            "Healthy=True Healthy",
            &image_not_found,
            "Ready=True Available",
            "Synced=True ReconcileSuccess",
        ],
    )
    .await;
    let fatal = check(
        &platform,
        "image-not-found-fatal",
        &[
            "DatabaseReady=True Available",
            "Healthy=False ReportedByComposition: The conditions and events of this claim say what is wrong.",
            &image_not_found,
            "Ready=False Waiting: Claim is waiting for composite resource to become Ready",
            "Synced=True ReconcileSuccess",
        ],
    )
    .await;
    let reported = events(&session(), &fatal, 3).await;
    assert!(reported.contains(&format!("Warning ComposeResources: {NOT_FOUND}")), "{reported:?}");
    check(
        &platform,
        "progressing",
        &[
            &format!("AppReady=False Creating: {WAITING}"),
            "DatabaseReady=True Available",
            "Healthy=True Healthy",
            "ImageReady=True Available",
            "Ready=True Available",
            "Synced=True ReconcileSuccess",
        ],
    )
    .await;
    check(
        &platform,
        "success",
        &[
            "AppReady=True Available",
            "DatabaseReady=True Available",
            "Healthy=True Healthy",
            "ImageReady=True Available",
            "Ready=True Available",
            "Synced=True ReconcileSuccess",
        ],
    )
    .await;
}

#[tokio::test]
async fn an_internal_error_reaches_the_claim_in_words_for_its_user() {
    let platform = Platform::new("internal", team).await;
    let claim = check(
        &platform,
        "internal-error",
        &[
            "Healthy=False InternalError: An internal error prevents this claim from being fulfilled. The claim itself is not the cause.",
            "Ready=False Waiting: Claim is waiting for composite resource to become Ready",
            "Synced=True ReconcileSuccess",
        ],
    )
    .await;
    let session = session();
    let xr = json!({
        "apiVersion": claim["apiVersion"], "kind": "XApp",
        "metadata": {"name": claim["spec"]["resourceRef"]["name"]},
    });
    let cause = "cannot compose resources: pipeline step \"run-function-internal\" returned a fatal result: cannot resolve registry.internal: no such host";
    let synced = |xr: &Value| condition(xr, "Synced").is_some_and(|synced| synced["message"] == cause);
    let xr = until(&session, &xr, "it has the cause", synced).await;
    // What the user quotes leads the team to the cause.
    let message = condition(&claim, "Healthy").unwrap()["message"].as_str().unwrap().to_owned();
    let id = message.split("error id ").nth(1).unwrap().trim_end_matches('.').to_owned();
    assert_eq!(id.len(), 8);
    let healthy = condition(&xr, "Healthy").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(healthy.ends_with(&format!("(error id {id})")), "{healthy}");
    assert!(message.contains(xr["metadata"]["name"].as_str().unwrap()));
}

/// The user watches one claim through all of it.
#[tokio::test]
async fn a_claim_shows_each_scenario_after_the_other() {
    let platform = Platform::new("story", team).await;
    let session = session();
    for (scenario, kind, status) in [
        ("image-not-found", "ImageReady", "False"),
        ("progressing", "AppReady", "False"),
        ("success", "AppReady", "True"),
    ] {
        let claim = platform.claim("story", json!({"scenario": scenario}));
        apply(&session, &claim).await;
        let is_so =
            |claim: &Value| condition(claim, kind).is_some_and(|condition| condition["status"] == status);
        let claim = until(&session, &claim, scenario, is_so).await;
        let generation = claim["metadata"]["generation"].as_i64();
        assert!(condition(&claim, kind).unwrap()["observedGeneration"].as_i64() <= generation);
        assert!(condition(&claim, "InternalSync").is_none(), "what is for the team stays with the team");
    }
}
