//! A write that another writer got ahead of is repeated, on what is there by then, without calling functions again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cluster::Session;
use functions::{FunctionError, RunRequest, ServeOptions, Server, Transport};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::crash::maps;
use crate::fixture::{apply, composition, group, is_true, legacy_xrd, until, until_gone};
use crate::operators::{Operator, alone};

const FUNCTION: &str = "function-conflicts";
/// More conflicts in a row than one reconcile repeats its writes for.
const MANY: usize = 12;

#[tokio::test]
async fn functions_are_called_once_however_many_conflicts_their_output_meets() {
    let (sandbox, _turn) = alone().await;
    let (session, group) = (Session::new(sandbox.client().await), group("conflicts"));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let function = move |request: RunRequest| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { maps(request).await.map_err(|error: FunctionError| error) }
    };
    let options = ServeOptions::new("127.0.0.1:0", Transport::Insecure);
    let server = Server::bind(options).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(function, std::future::pending()));
    apply(&session, &composition(&group, &group, &[FUNCTION])).await;
    apply(&session, &legacy_xrd(&group)).await;

    // From then on another writer is always ahead when a ConfigMap is replaced.
    let is_contended = Arc::new(AtomicBool::new(false));
    let (conflicts, mut seen) = watch::channel(0);
    let contended = Arc::clone(&is_contended);
    let operator = Operator::start_with(functions, async move || {
        let client = sandbox.client().await;
        let conflicts = Arc::new(conflicts);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (client, conflicts) = (client.clone(), Arc::clone(&conflicts));
            let is_replace =
                *request.method() == Method::PUT && request.uri().path().contains("/configmaps/");
            let is_refused = is_replace && contended.load(Ordering::SeqCst);
            async move {
                if !is_refused {
                    return client.send(request).await;
                }
                conflicts.send_modify(|conflicts| *conflicts += 1);
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409, "reason": "Conflict",
                    "message": "the object has been modified; please apply your changes to the latest version",
                });
                let body = kube::client::Body::from(status.to_string().into_bytes());
                Ok(http::Response::builder().status(409).body(body).unwrap())
            }
        });
        kube::Client::new(service, "default")
    });
    let xr = |maps: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "XApp",
            "metadata": {"name": "conflicts"}, "spec": {"maps": maps},
        })
    };
    apply(&session, &xr("ab")).await;
    let ready = until(&session, &xr("ab"), "it is ready", |xr| is_true(xr, "Ready")).await;
    let map = |name: &Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name},
        })
    };
    let refs = ready["spec"]["resourceRefs"].as_array().unwrap();
    let maps: Vec<Value> = refs.iter().map(|one| map(&one["name"])).collect();

    // What the operator wrote comes back through its watches, and may be observed once more.
    let before = loop {
        let calls_so_far = calls.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(2)).await;
        if calls.load(Ordering::SeqCst) == calls_so_far {
            break calls_so_far;
        }
    };
    is_contended.store(true, Ordering::SeqCst);
    // One map is no longer desired: it loses its labels, by a replace, before it is deleted.
    apply(&session, &xr("a")).await;
    seen.wait_for(|conflicts| *conflicts >= MANY).await.unwrap();
    let called = calls.load(Ordering::SeqCst) - before;
    assert_eq!(called, 1, "calls for one observed state");
    is_contended.store(false, Ordering::SeqCst);
    let done = |xr: &Value| xr["spec"]["resourceRefs"].as_array().is_some_and(|refs| refs.len() == 1);
    let done = until(&session, &xr("a"), "it refers to the one that is desired", done).await;
    let kept = &done["spec"]["resourceRefs"][0]["name"];
    let gone = maps.iter().find(|map| map["metadata"]["name"] != *kept).unwrap();
    until_gone(&session, gone).await;
    operator.kill();
}
