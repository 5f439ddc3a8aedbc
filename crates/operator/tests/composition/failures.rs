//! Functions that are down, slow, too large or wrong: the XR has the cause, the claim a sentence for its user, nothing is
//! deleted, others do not notice, and it heals by itself.

use std::sync::{Arc, Mutex};

use composition::protocol::{ConditionStatus, FunctionCondition, FunctionResult, Resource, Severity, Target};
use functions::{Function, FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::fixture::{
    MAX_MESSAGE, apply, composition, condition, condition_line, events, function, get, group, is_true,
    legacy_xrd, session, until, world,
};
use crate::platform::{Platform, children, desire, map};

/// How a function behaves, changed while it is called.
#[derive(Clone, Default)]
struct Mood(Arc<Mutex<&'static str>>);

impl Mood {
    fn set(&self, mood: &'static str) {
        *self.0.lock().unwrap() = mood;
    }

    /// A function that behaves so.
    fn function(&self) -> impl Function + use<> {
        let mood = self.clone();
        move |request: RunRequest| {
            let mood = *mood.0.lock().unwrap();
            async move { behave(mood, &request).await }
        }
    }
}

async fn behave(mood: &str, request: &RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(request);
    desire(&mut rsp, "map", map(&json!({"mood": "well"})));
    response::normal(&mut rsp, "the map is drawn");
    match mood {
        "slow" => std::future::pending::<()>().await,
        "oversized" => desire(&mut rsp, "huge", map(&json!({"text": "x".repeat(2 * MAX_MESSAGE)}))),
        "failing" => return Err(FunctionError("no route to the database".to_owned())),
        "fatal" => {
            response::fatal(&mut rsp, "the price list is broken");
        }
        "nonsense" => {
            rsp.desired.resources.insert("nothing".to_owned(), Resource::of(json!({"data": {}})));
        }
        _ => {}
    }
    Ok(rsp)
}

/// The uid of the only child of a claim's XR.
async fn child(platform: &Platform, claim: &Value) -> Value {
    let xr = platform.xr(claim, "it has a child", |xr| xr.pointer("/spec/resourceRefs/0").is_some()).await;
    children(&xr).await[0]["metadata"]["uid"].clone()
}

fn unwell(object: &Value) -> bool {
    condition(object, "Healthy").is_some_and(|healthy| healthy["status"] == "False")
}

#[tokio::test]
async fn every_failure_of_a_function_is_reported_and_recovers() {
    let mood = Mood::default();
    let platform = Platform::new("moody", mood.function()).await;
    let session = session();
    let claim = apply(&session, &platform.claim("moody", json!({}))).await;
    until(&session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    let uid = child(&platform, &claim).await;
    let causes = [
        ("slow", "did not respond within 2 s"),
        ("oversized", "a message is too large"),
        ("failing", "no route to the database"),
        ("fatal", "the price list is broken"),
        ("nonsense", "it has no apiVersion or no kind"),
    ];
    for (how, cause) in causes {
        mood.set(how);
        // Something is asked for, so that the function is called.
        let mut asked = platform.claim("moody", json!({}));
        asked["spec"]["asked"] = how.into();
        apply(&session, &asked).await;
        let xr = platform.xr(&claim, &format!("it is not healthy: {how}"), unwell).await;
        assert_eq!(condition_line(&xr, "Synced"), "Synced=False ReconcileError", "{how}");
        let synced = condition(&xr, "Synced").unwrap()["message"].as_str().unwrap();
        assert!(synced.contains(cause), "{how}: {synced}");
        let reported = until(&session, &claim, "the claim says so", unwell).await;
        assert_eq!(condition_line(&reported, "Healthy"), "Healthy=False InternalError", "{how}");
        let sentence = condition(&reported, "Healthy").unwrap()["message"].as_str().unwrap();
        assert!(!sentence.contains(cause), "the cause is not for the claim's user: {sentence}");
        assert!(sentence.contains("quote composite resource"), "{sentence}");
        // What was there before stays, and stays ready.
        assert!(is_true(&reported, "Ready"), "{how}");
        assert_eq!(child(&platform, &claim).await, uid, "{how}");
        mood.set("well");
        let healed = Instant::now();
        until(&session, &claim, "it is healthy again", |claim| is_true(claim, "Healthy")).await;
        eprintln!("healed from {how} after {:?}", healed.elapsed());
    }
    // It never changed, so it was recorded once.
    let xr = platform.xr(&claim, "it is there", |_| true).await;
    let reported = events(&session, &xr, 7).await;
    assert_eq!(
        reported.iter().filter(|event| event.contains("the map is drawn")).count(),
        1,
        "{reported:#?}"
    );
}

#[tokio::test]
async fn a_function_that_is_down_blocks_no_others_and_its_claims_resume_when_it_is_back() {
    let session = session();
    let healthy = Platform::new("unhurt", Mood::default().function()).await;
    // This one is served by hand, so that it can go and come back at the same place.
    let group = group("down");
    let name = format!("function-{}", group.split('.').next().unwrap());
    let served = world().serve(Mood::default().function());
    let endpoint = served.endpoint.clone();
    apply(&session, &function(&name, &endpoint)).await;
    apply(&session, &composition(&group, &group, &[&name])).await;
    apply(&session, &legacy_xrd(&group)).await;
    let claim = |number: usize| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "App",
            "metadata": {"name": format!("down-{number}"), "namespace": "default"},
            "spec": {"compositionRef": {"name": group}},
        })
    };
    let first = apply(&session, &claim(0)).await;
    until(&session, &first, "it is ready", |claim| is_true(claim, "Ready")).await;
    drop(served);
    // More claims than the function may have calls, so that all of them are taken.
    let waiting = 40;
    for number in 1..=waiting {
        apply(&session, &claim(number)).await;
    }
    let reported = until(&session, &claim(waiting), "it says that something is wrong", unwell).await;
    assert_eq!(condition_line(&reported, "Healthy"), "Healthy=False InternalError");
    // A claim of another function does not notice.
    let other = apply(&session, &healthy.claim("unhurt", json!({}))).await;
    until(&session, &other, "it is ready", |claim| is_true(claim, "Ready")).await;
    let still = get(&session, &claim(waiting)).await.unwrap();
    assert!(unwell(&still), "the function is still down");
    let _served = world().serve_at(&endpoint, Mood::default().function());
    let back = Instant::now();
    for number in 0..=waiting {
        until(&session, &claim(number), "it is ready", |claim| {
            is_true(claim, "Ready") && is_true(claim, "Healthy")
        })
        .await;
    }
    eprintln!("{} claims recovered after {:?}", waiting + 1, back.elapsed());
}

#[tokio::test]
async fn an_unknown_function_is_reported_with_remedies_and_found_when_it_appears() {
    let session = session();
    world();
    let group = group("unknown");
    let name = format!("function-{}", group.split('.').next().unwrap());
    apply(&session, &composition(&group, &group, &[&name])).await;
    apply(&session, &legacy_xrd(&group)).await;
    let claim = json!({
        "apiVersion": format!("{group}/v1"), "kind": "App",
        "metadata": {"name": "unknown", "namespace": "default"},
        "spec": {"compositionRef": {"name": group}},
    });
    apply(&session, &claim).await;
    let reported = until(&session, &claim, "it says that something is wrong", unwell).await;
    assert_eq!(condition_line(&reported, "Healthy"), "Healthy=False FunctionNotFound");
    let xr = json!({
        "apiVersion": format!("{group}/v1"), "kind": "XApp",
        "metadata": {"name": reported["spec"]["resourceRef"]["name"]},
    });
    let xr = get(&session, &xr).await.unwrap();
    assert_eq!(condition_line(&xr, "Healthy"), "Healthy=False FunctionNotFound");
    let message = condition(&xr, "Healthy").unwrap()["message"].as_str().unwrap();
    for way in ["--function", "Create a Function", "function-auto-ready"] {
        assert!(message.contains(way), "{message}");
    }
    let served = world().serve(Mood::default().function());
    apply(&session, &function(&name, &served.endpoint)).await;
    until(&session, &claim, "it is ready", |claim| is_true(claim, "Ready") && is_true(claim, "Healthy"))
        .await;
}

#[tokio::test]
async fn invalid_function_output_is_dropped_and_reported_once() {
    let breaking = |request: RunRequest| async move {
        let mut rsp = response::to(&request);
        let say = |kind: &str, reason: &str| FunctionCondition {
            kind: kind.to_owned(),
            status: ConditionStatus::True,
            reason: reason.to_owned(),
            message: None,
            target: Target::CompositeAndClaim,
        };
        rsp.conditions = vec![say("Ready", "Mine"), say("", "Nothing"), say("Custom", "")];
        let message = "who knows".to_owned();
        let unknown =
            FunctionResult { severity: Severity::Unspecified, message, ..FunctionResult::default() };
        rsp.results.push(unknown);
        Ok(rsp)
    };
    let platform = Platform::new("breaking", breaking).await;
    let session = session();
    let claim = apply(&session, &platform.claim("breaking", json!({}))).await;
    let claim =
        until(&session, &claim, "it shows the condition", |claim| condition(claim, "Custom").is_some()).await;
    assert_eq!(condition_line(&claim, "Custom"), "Custom=True Unspecified");
    let ready = until(&session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    assert_eq!(condition_line(&ready, "Ready"), "Ready=True Available");
    let xr = platform.xr(&claim, "it is there", |_| true).await;
    let reported = events(&session, &xr, 6).await;
    let breaches: Vec<&String> =
        reported.iter().filter(|event| event.contains("InvalidFunctionOutput")).collect();
    assert_eq!(breaches.len(), 4, "{reported:#?}");
    for word in
        ["\"Ready\", which only the engine sets", "without a type", "without a reason", "unknown severity"]
    {
        assert!(breaches.iter().any(|event| event.contains(word)), "{word}: {breaches:#?}");
    }
}
