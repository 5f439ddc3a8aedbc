//! An operator that replaces another one repeats neither its writes nor its Events.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{Selection, Session};
use composition::protocol::{Match, Ready, Resource, ResourceSelector, RunRequest};
use functions::{FunctionError, RunResponse, ServeOptions, Server, Transport, response};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::fixture::{
    PATIENCE, apply, composition, delete, events, get, is_true, legacy_xrd, until, until_recorded,
};
use crate::operators::{Operator, Writes, alone};
use crate::platform::{desire, map};

const GROUP: &str = "restart.example.org";
const FUNCTION: &str = "function-restart";

/// Composes a ConfigMap and a Deployment that will never be ready, and speaks to XR and claim.
fn answer(request: &RunRequest) -> RunResponse {
    let mut rsp = response::to(request);
    rsp.meta.ttl = Some(Duration::from_secs(1));
    desire(&mut rsp, "map", map(&json!({"a": "1"})));
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "default"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "restart"}},
            "template": {
                "metadata": {"labels": {"app": "restart"}},
                "spec": {"containers": [{
                    "name": "web", "image": "web:1", "ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "0.5", "memory": "64Mi"}},
                }]},
            },
        },
    });
    let resource = Resource { ready: Ready::False, ..Resource::of(deployment) };
    rsp.desired.resources.insert("deployment".to_owned(), resource);
    response::normal(&mut rsp, "the price list is of today").target_composite_and_claim();
    response::condition_true(&mut rsp, "DatabaseReady", "Available").target_composite_and_claim();
    rsp
}

/// Calls of the function so far.
fn counted() -> (watch::Receiver<usize>, impl functions::Function) {
    let (count, calls) = watch::channel(0);
    let function = move |request: RunRequest| {
        count.send_modify(|calls| *calls += 1);
        async move { Ok::<_, FunctionError>(answer(&request)) }
    };
    (calls, function)
}

#[tokio::test]
async fn a_restarted_operator_repeats_neither_writes_nor_events() {
    let (sandbox, _turn) = alone().await;
    let session = Session::new(sandbox.client().await);
    let (mut calls, function) = counted();
    let options = ServeOptions::new("127.0.0.1:0", Transport::Insecure);
    let server = Server::bind(options).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(function, std::future::pending()));
    apply(&session, &composition("restart", GROUP, &[FUNCTION])).await;
    apply(&session, &legacy_xrd(GROUP)).await;
    let first = Operator::start(sandbox, functions.clone(), None);
    let claim = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "App",
        "metadata": {"name": "restart", "namespace": "default", "labels": {"team": "a"}},
        "spec": {"sizes": [1, 2]},
    });
    let claim = apply(&session, &claim).await;
    let claim =
        until(&session, &claim, "it shows the condition", |claim| is_true(claim, "DatabaseReady")).await;
    let xr = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "XApp",
        "metadata": {"name": claim["spec"]["resourceRef"]["name"]},
    });
    let xr = get(&session, &xr).await.unwrap();
    // Bound, not ready, and what the function has to say.
    let on_claim = events(&session, &claim, 3).await;
    let on_xr = events(&session, &xr, 4).await;
    passes(&mut calls, 2).await;
    first.kill();

    let writes = Writes::default();
    let recording = writes.clone();
    let second = Operator::start_with(functions.clone(), async move || recording.of(sandbox.client().await));
    passes(&mut calls, 3).await;
    second.kill();
    assert_eq!(writes.all(), Vec::<String>::new());
    let reported = async |object: &Value| {
        let fields = Some(format!("involvedObject.uid={}", object["metadata"]["uid"].as_str().unwrap()));
        let selection = Selection { fields, ..Selection::default() };
        session.list(&"v1/Event".parse().unwrap(), &selection).await.unwrap().items
    };
    let counts = (reported(&claim).await.len(), reported(&xr).await.len());
    assert_eq!(counts, (on_claim.len(), on_xr.len()), "{on_claim:#?} {on_xr:#?}");
    // As if the first had died before they were sent.
    for mut event in reported(&claim).await {
        event["apiVersion"] = "v1".into();
        event["kind"] = "Event".into();
        delete(&session, &event).await;
    }

    // Changes made while no operator runs are reverted and reported.
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": xr_child(&session, &xr, "ConfigMap").await},
        "data": {"a": "2"},
    });
    apply(&session, &map).await;
    let third = Operator::start(sandbox, functions, None);
    until(&session, &map, "it is put right", |map| map["data"]["a"] == "1").await;
    until_recorded(&session, &claim, "Normal ComposeResources: the price list is of today").await;
    third.kill();
}

/// Desires a map with the colour of the shelf that it requires, and records the colours it was given.
fn painted(given: &Arc<Mutex<Vec<String>>>) -> impl functions::Function {
    let given = Arc::clone(given);
    move |request: RunRequest| {
        let mut rsp = response::to(&request);
        // No answer holds for so short a time that it causes another call.
        rsp.meta.ttl = None;
        let selector = ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            matching: Match::Labels(BTreeMap::from([("shelf".to_owned(), "restart".to_owned())])),
            namespace: Some("default".to_owned()),
        };
        rsp.requirements.resources.insert("shelf".to_owned(), selector);
        if let Some([shelf]) = request.required_resources.get("shelf").map(Vec::as_slice) {
            let colour = shelf.object["data"]["colour"].as_str().unwrap_or_default().to_owned();
            desire(&mut rsp, "map", map(&json!({"colour": colour})));
            given.lock().unwrap().push(colour);
        }
        async move { Ok::<_, FunctionError>(rsp) }
    }
}

/// A client that counts lists of the shelf.
fn counting_lists(client: kube::Client, lists: Arc<AtomicUsize>) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let query = request.uri().query().unwrap_or_default();
        if query.contains("shelf%3Drestart") && !query.contains("watch=") {
            lists.fetch_add(1, Ordering::SeqCst);
        }
        let client = client.clone();
        async move { client.send(request).await }
    });
    kube::Client::new(service, "default")
}

#[tokio::test]
async fn a_restarted_operator_lists_what_functions_require_once_and_calls_them_once() {
    let (sandbox, _turn) = alone().await;
    let session = Session::new(sandbox.client().await);
    let (group, function) = ("restart-required.example.org", "function-restart-required");
    let given = Arc::default();
    let server = Server::bind(ServeOptions::new("127.0.0.1:0", Transport::Insecure)).await.unwrap();
    let functions = BTreeMap::from([(function.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(painted(&given), std::future::pending()));
    let shelf = |colour: &str| {
        let mut shelf = map(&json!({"colour": colour}));
        shelf["metadata"]["name"] = "restart-shelf".into();
        shelf["metadata"]["labels"] = json!({"shelf": "restart"});
        shelf
    };
    apply(&session, &shelf("red")).await;
    apply(&session, &composition(group, group, &[function])).await;
    apply(&session, &legacy_xrd(group)).await;
    let xr = json!({
        "apiVersion": format!("{group}/v1"), "kind": "XApp", "metadata": {"name": "restart-required"}, "spec": {},
    });
    let first = Operator::start(sandbox, functions.clone(), None);
    until(&session, &legacy_xrd(group), "it is established", |xrd| is_true(xrd, "Established")).await;
    apply(&session, &xr).await;
    until(&session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    first.kill();

    given.lock().unwrap().clear();
    let lists = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lists);
    let second =
        Operator::start_with(functions, async move || counting_lists(sandbox.client().await, counted));
    eventually("the function is called", || !given.lock().unwrap().is_empty()).await;
    // What is watched from a second list on would be seen to change only after that list.
    apply(&session, &shelf("blue")).await;
    eventually("the function sees the change", || given.lock().unwrap().iter().any(|it| it == "blue")).await;
    second.kill();
    let reds = given.lock().unwrap().iter().filter(|colour| *colour == "red").count();
    assert_eq!((lists.load(Ordering::SeqCst), reds), (1, 1), "lists, calls");
}

async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "{what}");
}

/// Waits until the function was called `more` times; when it is, all passes but the last are over.
async fn passes(calls: &mut watch::Receiver<usize>, more: usize) {
    let wanted = *calls.borrow() + more;
    calls.wait_for(|calls| *calls >= wanted).await.unwrap();
}

async fn xr_child(session: &Session, xr: &Value, kind: &str) -> Value {
    let xr = get(session, xr).await.unwrap();
    let refs = xr["spec"]["resourceRefs"].as_array().unwrap();
    refs.iter().find(|reference| reference["kind"] == kind).unwrap()["name"].clone()
}
