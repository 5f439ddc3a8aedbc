//! The steps of a switch. Each changes little, remembers what it changed in an annotation, and can be repeated.

use std::time::Duration;

use cluster::{Error, PatchType, Selection, Session, Write};
use composition::condition::{Conditions, HEALTHY};
use composition::object;
use composition::protocol::Object;
use manifest::ObjectRef;
use operator::{Engine, composed_kinds};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// The number of replicas before a switch.
const REPLICAS: &str = "plimsoll.dev/replicas-before-migration";
/// The names of webhooks that refused requests while Crossplane did not answer.
const FAILING: &str = "plimsoll.dev/failing-before-migration";
const MANAGER: &str = "plimsoll-migrate";
const INTERVAL: Duration = Duration::from_secs(1);

/// `Kind namespace/name`
pub(super) fn named(object: &Object) -> String {
    ObjectRef::of(object).map_or_else(|_| "an object".to_owned(), |target| target.to_string())
}

/// Scales a Deployment to zero; whether it was not already.
pub(super) async fn scale_down(session: &Session, deployment: &Object) -> Result<bool, Error> {
    let replicas = object::nested(deployment, &["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(1);
    if replicas == 0 {
        return Ok(false);
    }
    let patch = json!({
        "metadata": {"annotations": {REPLICAS: replicas.to_string()}}, "spec": {"replicas": 0},
    });
    patch_object(session, deployment, &patch).await
}

/// Scales a Deployment to what it was; whether it was at zero.
pub(super) async fn scale_up(session: &Session, deployment: &Object) -> Result<bool, Error> {
    if object::nested(deployment, &["spec", "replicas"]).and_then(Value::as_i64) != Some(0) {
        return Ok(false);
    }
    let before = object::annotation(deployment, REPLICAS).and_then(|before| before.parse::<i64>().ok());
    let patch = json!({
        "metadata": {"annotations": {REPLICAS: null}}, "spec": {"replicas": before.unwrap_or(1)},
    });
    patch_object(session, deployment, &patch).await
}

/// Lets requests pass that Crossplane does not answer.
pub(super) async fn ignore_failures(session: &Session, webhooks: &Object) -> Result<bool, Error> {
    let (mut list, mut changed) = (webhook_list(webhooks), Vec::new());
    for webhook in list.iter_mut().filter(|webhook| webhook["failurePolicy"] == "Fail") {
        webhook["failurePolicy"] = "Ignore".into();
        changed.extend(webhook["name"].as_str().map(str::to_owned));
    }
    let patch = json!({"metadata": {"annotations": {FAILING: changed.join(",")}}, "webhooks": list});
    patch_object(session, webhooks, &patch).await
}

fn webhook_list(webhooks: &Object) -> Vec<Value> {
    object::list(webhooks, &["webhooks"]).cloned().collect()
}

/// The configurations of webhooks that a switch has changed.
pub(super) async fn changed_webhooks(session: &Session) -> Result<Vec<Object>, Error> {
    let mut changed = Vec::new();
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let kind = format!("admissionregistration.k8s.io/v1/{kind}").parse().expect("a fixed kind");
        let found = session.list(&kind, &Selection::default()).await?.items;
        let found = found.into_iter().map(object::from_value);
        changed.extend(found.filter(|webhooks| object::annotation(webhooks, FAILING).is_some()));
    }
    Ok(changed)
}

/// Refuses requests again that Crossplane does not answer.
pub(super) async fn restore_failures(session: &Session, webhooks: &Object) -> Result<bool, Error> {
    let before = object::annotation(webhooks, FAILING).unwrap_or_default();
    let was_failing = |webhook: &Value| before.split(',').any(|name| webhook["name"] == name);
    let mut list = webhook_list(webhooks);
    for webhook in list.iter_mut().filter(|webhook| was_failing(webhook)) {
        webhook["failurePolicy"] = "Fail".into();
    }
    let patch = json!({"metadata": {"annotations": {FAILING: null}}, "webhooks": list});
    patch_object(session, webhooks, &patch).await
}

async fn patch_object(session: &Session, object: &Object, patch: &Value) -> Result<bool, Error> {
    let Ok(target) = ObjectRef::of(object) else { return Ok(false) };
    session.patch(&target, PatchType::Merge, patch, Write::by(MANAGER)).await?;
    Ok(true)
}

/// Waits until an engine runs, or no longer does; whether that happened in time.
pub(super) async fn until_running(
    session: &Session,
    engine: Engine,
    runs: bool,
    timeout: Duration,
) -> Result<bool, Error> {
    let deadline = Instant::now() + timeout;
    while engine.find(session).await?.is_some() != runs {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(INTERVAL).await;
    }
    Ok(true)
}

/// Waits until Plimsoll has reconciled all XRs and claims; those that are missing when time is up, and those that are not
/// healthy.
pub(super) async fn until_served(
    session: &Session,
    timeout: Duration,
) -> Result<(Vec<String>, Vec<String>), Error> {
    let deadline = Instant::now() + timeout;
    loop {
        let (mut missing, mut unhealthy) = (Vec::new(), Vec::new());
        for kind in composed_kinds(session).await? {
            for item in session.list(&kind, &Selection::default()).await?.items {
                let item = object::from_value(item);
                let is_paused = object::annotation(&item, "crossplane.io/paused") == Some("true");
                match Conditions::of(&item).get(HEALTHY) {
                    None if is_paused => {}
                    None => missing.push(named(&item)),
                    Some(healthy) if !healthy.is_true() => unhealthy.push(named(&item)),
                    Some(_) => {}
                }
            }
        }
        if missing.is_empty() || Instant::now() >= deadline {
            return Ok((missing, unhealthy));
        }
        sleep(INTERVAL).await;
    }
}
