//! The steps of a switch. Each changes little, remembers what it changed in an annotation, and can be repeated.

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::{Error, PatchType, Selection, Session, Write};
use composition::condition::{Conditions, HEALTHY};
use composition::object;
use composition::protocol::Object;
use manifest::{Namespace, ObjectRef};
use operator::{CONDITION_SERVED as SERVED, Engine, Half, Rival, composed_kinds};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::inventory::needing_crossplane;

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

pub(super) fn replicas(deployment: &Object) -> i64 {
    object::nested(deployment, &["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(1)
}

/// Scales a Deployment to zero; whether it was not already.
pub(super) async fn scale_down(session: &Session, deployment: &Object) -> Result<bool, Error> {
    let replicas = replicas(deployment);
    if replicas == 0 {
        return Ok(false);
    }
    let patch = json!({
        "metadata": {"annotations": {REPLICAS: replicas.to_string()}}, "spec": {"replicas": 0},
    });
    patch_object(session, deployment, PatchType::Merge, &patch).await
}

/// Scales a Deployment to what it was; whether it was at zero.
pub(super) async fn scale_up(session: &Session, deployment: &Object) -> Result<bool, Error> {
    if replicas(deployment) != 0 {
        return Ok(false);
    }
    let before = object::annotation(deployment, REPLICAS).and_then(|before| before.parse::<i64>().ok());
    let patch = json!({
        "metadata": {"annotations": {REPLICAS: null}}, "spec": {"replicas": before.unwrap_or(1)},
    });
    patch_object(session, deployment, PatchType::Merge, &patch).await
}

/// Whether a Deployment is at zero because of a switch.
pub(super) fn is_scaled_down(deployment: &Object) -> bool {
    replicas(deployment) == 0
}

/// Lets requests pass that Crossplane does not answer.
pub(super) async fn ignore_failures(session: &Session, configuration: &Object) -> Result<bool, Error> {
    let mut names = failing(configuration);
    let changed: Vec<(usize, &str)> = needing_crossplane(configuration)
        .filter_map(|(index, webhook)| Some((index, webhook["name"].as_str()?)))
        .collect();
    names.extend(changed.iter().map(|(_, name)| *name));
    let annotations = object::map(configuration, &["metadata", "annotations"]);
    let remember = match annotations {
        Some(_) => json!({"op": "add", "path": annotation_path(FAILING), "value": names.join(",")}),
        None => json!({"op": "add", "path": "/metadata/annotations", "value": {FAILING: names.join(",")}}),
    };
    let patch = [remember].into_iter().chain(set_policy(&changed, "Ignore")).collect();
    patch_object(session, configuration, PatchType::Json, &patch).await
}

/// Refuses requests again that Crossplane does not answer.
pub(super) async fn restore_failures(session: &Session, configuration: &Object) -> Result<bool, Error> {
    let before = failing(configuration);
    let webhooks = object::list(configuration, &["webhooks"]).enumerate();
    let changed: Vec<(usize, &str)> = webhooks
        .filter(|(_, webhook)| webhook["failurePolicy"] == "Ignore")
        .filter_map(|(index, webhook)| Some((index, webhook["name"].as_str()?)))
        .filter(|(_, name)| before.contains(name))
        .collect();
    let forget = json!({"op": "remove", "path": annotation_path(FAILING)});
    let patch = [forget].into_iter().chain(set_policy(&changed, "Fail")).collect();
    patch_object(session, configuration, PatchType::Json, &patch).await
}

fn failing(configuration: &Object) -> Vec<&str> {
    let names = object::annotation(configuration, FAILING).unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).collect()
}

fn annotation_path(name: &str) -> String {
    format!("/metadata/annotations/{}", name.replace('/', "~1"))
}

/// Changes the policy of some webhooks and nothing else, if they are still where they were.
fn set_policy(webhooks: &[(usize, &str)], policy: &str) -> Vec<Value> {
    let set = |(index, name): &(usize, &str)| {
        let path = |field: &str| format!("/webhooks/{index}/{field}");
        [
            json!({"op": "test", "path": path("name"), "value": name}),
            json!({"op": "replace", "path": path("failurePolicy"), "value": policy}),
        ]
    };
    webhooks.iter().flat_map(set).collect()
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

async fn patch_object(
    session: &Session,
    object: &Object,
    kind: PatchType,
    patch: &Value,
) -> Result<bool, Error> {
    let Ok(target) = ObjectRef::of(object) else { return Ok(false) };
    session.patch(&target, kind, patch, Write::by(MANAGER)).await?;
    Ok(true)
}

/// Waits until Crossplane runs, or no longer does; whether that happened in time.
pub(super) async fn until_crossplane(
    session: &Session,
    runs: bool,
    timeout: Duration,
) -> Result<bool, Error> {
    let crossplane = Engine::rival_of(Half::Composition);
    until(timeout, async || Ok(crossplane.find(session).await?.is_some() == runs)).await
}

/// Waits until an operator of Plimsoll runs; whether that happened in time.
pub(super) async fn until_plimsoll(session: &Session, timeout: Duration) -> Result<bool, Error> {
    until(timeout, async || Ok(!Engine::find_ours(session).await?.is_empty())).await
}

/// Waits until no operator of Plimsoll runs but those in some namespaces; whether that happened in time.
pub(super) async fn until_plimsoll_stopped(
    session: &Session,
    but: &BTreeSet<&str>,
    timeout: Duration,
) -> Result<bool, Error> {
    let runs_on = |rival: &Rival| rival.lease.split_once('/').is_some_and(|(it, _)| but.contains(it));
    until(timeout, async || Ok(Engine::find_ours(session).await?.iter().all(runs_on))).await
}

/// Waits until Deployments that were scaled to zero have no Pods; the first that is left when time is up.
pub(super) async fn until_no_pods<'d>(
    session: &Session,
    deployments: impl IntoIterator<Item = &'d Object>,
    timeout: Duration,
) -> Result<Option<String>, Error> {
    for deployment in deployments {
        let selection = Selection {
            namespace: object::namespace(deployment).and_then(Namespace::new),
            labels: Some(pod_labels(deployment)),
            ..Selection::default()
        };
        let left = async || {
            let pods = session.list(&"v1/Pod".parse().expect("a fixed kind"), &selection).await?.items;
            Ok::<_, Error>(pods.into_iter().map(object::from_value).find(has_not_ended))
        };
        if let Some(pod) = until_none(timeout, left).await? {
            return Ok(Some(named(&pod)));
        }
    }
    Ok(None)
}

/// The labels of a Deployment's Pods, as a selector.
fn pod_labels(deployment: &Object) -> String {
    let labels = object::map(deployment, &["spec", "selector", "matchLabels"]).into_iter().flatten();
    let labels = labels.filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)));
    labels.collect::<Vec<_>>().join(",")
}

fn has_not_ended(pod: &Object) -> bool {
    !matches!(object::text(pod, &["status", "phase"]), Some("Succeeded" | "Failed"))
}

/// Waits until a running operator says of every XRD that another engine serves it; the first that is left when time is up.
pub(super) async fn until_aside(session: &Session, timeout: Duration) -> Result<Option<String>, Error> {
    let kind = "apiextensions.crossplane.io/v1/CompositeResourceDefinition".parse().expect("a fixed kind");
    let left = async || {
        if Engine::find_ours(session).await?.is_empty() {
            return Ok(None);
        }
        let xrds = session.list(&kind, &Selection::default()).await?.items;
        let served = xrds.iter().find(|xrd| readiness::condition(*xrd, SERVED, "False").is_err());
        Ok::<_, Error>(served.map(|xrd| named(&object::from_value(xrd.clone()))))
    };
    until_none(timeout, left).await
}

async fn until(timeout: Duration, is_so: impl AsyncFn() -> Result<bool, Error>) -> Result<bool, Error> {
    let left = until_none(timeout, async || Ok((!is_so().await?).then_some(()))).await?;
    Ok(left.is_none())
}

/// Waits until nothing is left; what is left when time is up.
async fn until_none<T>(
    timeout: Duration,
    left: impl AsyncFn() -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = left().await?;
        if left.is_none() || Instant::now() >= deadline {
            return Ok(left);
        }
        sleep(INTERVAL).await;
    }
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
                let is_healthy = readiness::condition(&item, HEALTHY, "True").is_ok();
                let item = object::from_value(item);
                let is_paused = object::annotation(&item, "crossplane.io/paused") == Some("true");
                if is_healthy || is_paused {
                    continue;
                }
                let names = if is_reconciled(&item) { &mut unhealthy } else { &mut missing };
                names.push(named(&item));
            }
        }
        if missing.is_empty() || Instant::now() >= deadline {
            return Ok((missing, unhealthy));
        }
        sleep(INTERVAL).await;
    }
}

/// Whether an operator has reported on this generation: only Plimsoll's sets this condition.
fn is_reconciled(object: &Object) -> bool {
    let conditions = Conditions::of(object);
    let healthy = conditions.get(HEALTHY);
    healthy.is_some_and(|healthy| healthy.observed_generation >= object::generation(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_policies_of_named_webhooks_change() {
        let patch = Value::from(set_policy(&[(1, "nousages.example.org")], "Ignore"));
        let expected = json!([
            {"op": "test", "path": "/webhooks/1/name", "value": "nousages.example.org"},
            {"op": "replace", "path": "/webhooks/1/failurePolicy", "value": "Ignore"},
        ]);
        assert_eq!(patch, expected);
    }

    #[test]
    fn pods_that_have_ended_do_not_count() {
        let deployment =
            object::from_value(json!({"spec": {"selector": {"matchLabels": {"app": "a", "b": "c"}}}}));
        assert_eq!(pod_labels(&deployment), "app=a,b=c");
        let check = |pod: Value, expected: bool| {
            assert_eq!(has_not_ended(&object::from_value(pod.clone())), expected, "{pod}");
        };
        check(json!({"status": {"phase": "Running"}}), true);
        check(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), true);
        check(json!({"status": {"phase": "Failed"}}), false);
    }

    #[test]
    fn a_report_about_an_earlier_generation_is_none() {
        let check = |generation: Value, expected: bool| {
            let object = object::from_value(json!({
                "metadata": {"generation": 2},
                "status": {"conditions": [{
                    "type": "Healthy", "status": "False", "reason": "R", "observedGeneration": generation,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            }));
            assert_eq!(is_reconciled(&object), expected, "{generation}");
        };
        check(json!(2), true);
        check(json!(1), false);
        assert!(!is_reconciled(&object::from_value(json!({}))));
    }
}
