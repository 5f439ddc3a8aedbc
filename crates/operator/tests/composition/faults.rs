//! What an XR is composed of meets a cluster that refuses: the XR says why, loses nothing, and recovers by itself.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use composition::object;
use composition::protocol::RunRequest;
use functions::{FunctionError, RunResponse, response};
use serde_json::{Value, json};
use testkit::{Sandbox, Webhook};
use tokio::sync::watch;

use crate::fixture::{
    PATIENCE, apply, condition, delete, get, group, is_true, legacy_xrd, session, until, until_gone, world,
};
use crate::platform::{Platform, asked, asked_text, children, desire, map};
use crate::unserved::{grant_widgets, widgets};

/// The number of calls of the function, by the name of the XR.
static CALLS: LazyLock<watch::Sender<BTreeMap<String, usize>>> = LazyLock::new(watch::Sender::default);

/// Composes an object of the asked kind for each asked letter, ConfigMaps unless another kind is asked for.
async fn compose(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let name = object::name(&request.observed.composite.object).unwrap_or_default().to_owned();
    CALLS.send_modify(|calls| *calls.entry(name).or_default() += 1);
    let mut rsp = response::to(&request);
    for letter in asked_text(&request, "letters").chars().map(String::from) {
        let object = match asked_text(&request, "group").as_str() {
            "" => map(&json!({"which": letter})),
            group => json!({
                "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {},
                "spec": {"which": letter, "size": asked(&request, "size")},
            }),
        };
        let mut object = object;
        object["metadata"]["namespace"] = asked(&request, "space");
        desire(&mut rsp, &letter, object);
    }
    Ok(rsp)
}

/// An XR of a platform of its own.
struct Composed {
    platform: Platform,
    xr: Value,
}

impl Composed {
    async fn new(test: &str, spec: &Value) -> Self {
        let platform = Platform::with(test, compose, legacy_xrd, &[]).await;
        let xr = platform.object("XApp", test, None, spec);
        let composed = Self { platform, xr };
        composed.ask(spec).await;
        composed
    }

    async fn ask(&self, spec: &Value) {
        let mut xr = self.xr.clone();
        xr["spec"] = spec.clone();
        xr["spec"]["compositionRef"] = json!({"name": self.platform.group});
        apply(&session(), &xr).await;
    }

    /// Waits until the XR says that it cannot be composed, in these words.
    async fn until_refused(&self, words: &str) {
        let says = |xr: &Value| {
            let synced = condition(xr, "Synced").filter(|synced| synced["status"] == "False");
            synced.is_some_and(|synced| synced["message"].as_str().unwrap_or_default().contains(words))
        };
        until(&session(), &self.xr, words, says).await;
    }

    /// Waits until the operator has tried several times although nothing has changed: what follows has not been waited for by the
    /// one attempt that every write brings about.
    async fn until_tried_again(&self) {
        let name = self.xr["metadata"]["name"].as_str().unwrap();
        let count = |calls: &BTreeMap<String, usize>| calls.get(name).copied().unwrap_or_default();
        let mut calls = CALLS.subscribe();
        let enough = count(&calls.borrow()) + 3;
        let tried = calls.wait_for(|calls| count(calls) >= enough);
        tokio::time::timeout(PATIENCE, tried).await.unwrap().unwrap();
    }

    /// Waits until the XR is ready, and returns what it is composed of, which is one object for each letter.
    async fn until_composed(&self, letters: usize) -> Vec<Value> {
        let is_whole = |xr: &Value| {
            let refs = xr["spec"]["resourceRefs"].as_array().map_or(0, Vec::len);
            refs == letters && is_true(xr, "Synced") && is_true(xr, "Ready")
        };
        let xr = until(&session(), &self.xr, "it is composed", is_whole).await;
        let children = children(&xr).await;
        assert_eq!(children.len(), letters, "{children:#?}");
        children
    }

    /// The names that the XR refers to.
    async fn refs(&self) -> Value {
        get(&session(), &self.xr).await.unwrap()["spec"]["resourceRefs"].clone()
    }
}

fn uids(objects: &[Value]) -> Vec<&Value> {
    objects.iter().map(|object| &object["metadata"]["uid"]).collect()
}

#[tokio::test]
async fn an_admission_webhook_that_is_down_is_reported_and_survived() {
    world();
    let (session, space) = (session(), Sandbox::shared().namespace("composed-webhook").await);
    let webhook = Webhook::start().await;
    let admission = webhook.admission(space.name(), ("", "configmaps"), space.name());
    apply(&session, &admission).await;
    let composed = Composed::new("faults-admission", &json!({"letters": "ab", "space": space.name()})).await;
    composed.until_refused("failed calling webhook").await;
    composed.until_tried_again().await;
    webhook.set_up(true);
    let before = composed.until_composed(2).await;
    // It flaps: what is there stays, and what is asked for comes later.
    webhook.set_up(false);
    composed.ask(&json!({"letters": "bc", "space": space.name()})).await;
    composed.until_refused("failed calling webhook").await;
    composed.until_tried_again().await;
    webhook.set_up(true);
    let after = composed.until_composed(2).await;
    let kept = before.iter().find(|map| map["data"]["which"] == "b").unwrap();
    assert!(uids(&after).contains(&&kept["metadata"]["uid"]), "{after:#?}");
    delete(&session, &admission).await;
}

#[tokio::test]
async fn a_quota_that_is_exceeded_is_reported_and_what_it_refused_comes_when_it_is_raised() {
    world();
    let (session, space) = (session(), Sandbox::shared().namespace("composed-quota").await);
    // Every namespace has a ConfigMap with the certificates of the API server.
    let quota = |maps: u32| {
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": "maps", "namespace": space.name()},
            "spec": {"hard": {"count/configmaps": maps.to_string()}},
        })
    };
    apply(&session, &quota(2)).await;
    let counted = |quota: &Value| quota.pointer("/status/used/count~1configmaps").is_some();
    until(&session, &quota(2), "it is counted", counted).await;
    let composed = Composed::new("faults-quota", &json!({"letters": "ab", "space": space.name()})).await;
    composed.until_refused("exceeded quota").await;
    composed.until_tried_again().await;
    apply(&session, &quota(9)).await;
    composed.until_composed(2).await;
}

#[tokio::test]
async fn a_namespace_that_terminates_is_reported_and_composed_into_when_it_is_back() {
    world();
    let (session, space) = (session(), Sandbox::shared().namespace("composed-going").await);
    let name = space.name();
    let held = |finalizers: &[&str]| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": name, "finalizers": finalizers},
        })
    };
    apply(&session, &held(&["example.org/hold"])).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    delete(&session, &namespace).await;
    let composed = Composed::new("faults-going", &json!({"letters": "ab", "space": name})).await;
    composed.until_refused("because it is being terminated").await;
    space.merge_as("test", &held(&[]), &json!({"metadata": {"finalizers": null}})).await;
    until_gone(&session, &namespace).await;
    composed.until_refused("not found").await;
    apply(&session, &namespace).await;
    composed.until_composed(2).await;
}

#[tokio::test]
async fn objects_that_went_with_their_crd_are_composed_again_when_it_is_back() {
    world();
    let (session, kind) = (session(), group("faults-crd"));
    grant_widgets(&kind).await;
    let definition = apply(&session, &widgets(&kind, true)).await;
    until(&session, &definition, "it is established", |crd| is_true(crd, "Established")).await;
    let spec = json!({"letters": "ab", "space": "default", "group": kind});
    let composed = Composed::new("faults-crd", &spec).await;
    composed.until_composed(2).await;
    let refs = composed.refs().await;

    delete(&session, &definition).await;
    until_gone(&session, &definition).await;
    composed.until_refused("no matches for kind").await;
    assert_eq!(composed.refs().await, refs, "it still knows what it was composed of");
    apply(&session, &widgets(&kind, true)).await;
    composed.until_composed(2).await;
    assert_eq!(composed.refs().await, refs);

    // Objects that have gone with their kind do not keep the XR from being composed of something else.
    delete(&session, &definition).await;
    until_gone(&session, &definition).await;
    composed.until_refused("no matches for kind").await;
    composed.ask(&json!({"letters": "abc", "space": "default"})).await;
    let maps = composed.until_composed(3).await;
    assert!(maps.iter().all(|map| map["kind"] == "ConfigMap"), "{maps:#?}");
}

/// One of its objects has a name that Crossplane generated: it is known by the reference to it, and by nothing else.
#[tokio::test]
async fn a_conversion_webhook_that_is_down_neither_loses_nor_doubles_anything() {
    world();
    let (session, kind, webhook) = (session(), group("faults-conversion"), Webhook::start().await);
    grant_widgets(&kind).await;
    let mut definition = widgets(&kind, true);
    let called = json!({"clientConfig": webhook.client_config(), "conversionReviewVersions": ["v1"]});
    definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": called});
    apply(&session, &definition).await;
    until(&session, &definition, "it is established", |crd| is_true(crd, "Established")).await;
    webhook.set_up(true);
    let name = "faults-conversion-x7k2p";
    let refs =
        json!([{"apiVersion": format!("{kind}/v1"), "kind": "Widget", "name": name, "namespace": "default"}]);
    let platform = Platform::with("faults-conversion", compose, legacy_xrd, &[]).await;
    let none_yet = json!({"compositionRef": {"name": "none-yet"}, "resourceRefs": &refs});
    let xr = apply(&session, &platform.object("XApp", "faults-conversion", None, &none_yet)).await;
    let generated = json!({
        "apiVersion": format!("{kind}/v2"), "kind": "Widget",
        "metadata": {
            "name": name, "namespace": "default",
            "annotations": {"crossplane.io/composition-resource-name": "a"},
            "labels": {"crossplane.io/composite": "faults-conversion"},
            "ownerReferences": [{
                "apiVersion": xr["apiVersion"], "kind": "XApp", "name": "faults-conversion",
                "uid": xr["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
            }],
        },
    });
    apply(&session, &generated).await;
    let spec = |size: u32| json!({"letters": "ab", "space": "default", "group": kind, "size": size});
    let xr = platform.object("XApp", "faults-conversion", None, &Value::Null);
    let composed = Composed { platform, xr };
    let mut first = spec(1);
    first["resourceRefs"] = refs;
    composed.ask(&first).await;
    let before = composed.until_composed(2).await;
    assert!(before.iter().any(|widget| widget["metadata"]["name"] == name), "{before:#?}");
    let refs = composed.refs().await;

    webhook.set_up(false);
    composed.ask(&spec(2)).await;
    composed.until_refused("conversion webhook").await;
    // Watches end with a change of the definition, so that the operator has to read what it is composed of, and cannot.
    let column = json!([{"name": "Which", "type": "string", "jsonPath": ".spec.which"}]);
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = column;
    apply(&session, &definition).await;
    composed.until_refused("cannot get composed resource").await;
    assert_eq!(composed.refs().await, refs, "what cannot be read is not gone");
    webhook.set_up(true);
    for widget in &before {
        until(&session, widget, "it is changed", |widget| widget["spec"]["size"] == 2).await;
    }
    let after = composed.until_composed(2).await;
    assert_eq!(uids(&after), uids(&before));
    let labels = Some("crossplane.io/composite=faults-conversion".to_owned());
    let own = cluster::Selection { labels, ..cluster::Selection::default() };
    let all = session.list(&format!("{kind}/v2/Widget").parse().unwrap(), &own).await.unwrap().items;
    assert_eq!(all.len(), 2, "{all:#?}");
}
