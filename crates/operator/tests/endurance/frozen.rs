//! A leader of the composition half that is stopped and continued, as a machine that is suspended and resumed: whatever it was
//! doing, it writes nothing once another copy has taken over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cluster::{Connection, Environment, Selection, Session, Write};
use composition::protocol::{Ready, Resource};
use functions::{FunctionError, RunRequest, RunResponse, ServeOptions, Server, Transport, response};
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::proxy::{KillProxy, KillSwitch, Upstream};
use tokio::sync::{Notify, watch};

use super::place::{a_moment, condition};
use super::process::{Operator, kubeconfig_as};

const GROUP: &str = "frozen.example.org";
const FUNCTION: &str = "function-frozen";
const PATIENCE: Duration = Duration::from_secs(60);

/// Composes a map for each letter; the first call for `abc` is answered only when it is released.
#[derive(Clone, Default)]
struct Maps(Arc<Held>);

#[derive(Default)]
struct Held {
    was_called: AtomicBool,
    is_waiting: watch::Sender<bool>,
    release: Notify,
}

impl Maps {
    async fn run(self, request: RunRequest) -> Result<RunResponse, FunctionError> {
        let letters =
            request.observed.composite.object["spec"]["maps"].as_str().unwrap_or_default().to_owned();
        if letters == "abc" && !self.0.was_called.swap(true, Ordering::SeqCst) {
            self.0.is_waiting.send_replace(true);
            self.0.release.notified().await;
        }
        let mut rsp = response::to(&request);
        for letter in letters.chars().map(String::from) {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}, "data": {"which": letter},
            });
            let resource = Resource { ready: Ready::True, ..Resource::of(map) };
            rsp.desired.resources.insert(letter, resource);
        }
        Ok(rsp)
    }
}

/// A cluster, and what a person does in it.
struct Person(Session);

impl Person {
    async fn apply(&self, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let gvk = format!("{}/{}", text("/apiVersion"), text("/kind")).parse().unwrap();
        let target = ObjectRef::new(gvk, Namespace::new(text("/metadata/namespace")), text("/metadata/name"));
        self.0.apply_when_possible(&target, object, Write::by("person").force()).await.unwrap();
    }

    /// Defines XApps and Apps, composed by the function.
    async fn define(&self) {
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        self.apply(&json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": format!("xapps.{GROUP}")},
            "spec": {
                "group": GROUP, "names": {"kind": "XApp", "plural": "xapps"},
                "versions": [{
                    "name": "v1", "served": true, "referenceable": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}},
                }],
            },
        }))
        .await;
        self.apply(&json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": GROUP},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "XApp"}, "mode": "Pipeline",
                "pipeline": [{"step": "maps", "functionRef": {"name": FUNCTION}}],
            },
        }))
        .await;
    }

    async fn ask_for(&self, letters: &str) {
        self.apply(&json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "XApp", "metadata": {"name": "frozen"}, "spec": {"maps": letters},
        }))
        .await;
    }

    /// The letters of the maps that are there and stay, and whether the XR is ready.
    async fn found(&self) -> (String, bool) {
        let labels = Some("crossplane.io/composite=frozen".to_owned());
        let selection = Selection { labels, ..Selection::default() };
        let maps = self.0.list(&"v1/ConfigMap".parse().unwrap(), &selection).await.unwrap().items;
        let stays = maps.iter().filter(|map| map["metadata"]["deletionTimestamp"].is_null());
        let letters: BTreeSet<&str> = stays.filter_map(|map| map["data"]["which"].as_str()).collect();
        let xrs = self.0.list(&format!("{GROUP}/v1/XApp").parse().unwrap(), &Selection::default()).await;
        let is_ready = |xr: &Value| condition(xr, "Ready")["status"] == "True";
        (letters.into_iter().collect(), xrs.is_ok_and(|xrs| xrs.items.iter().all(is_ready)))
    }

    async fn until(&self, letters: &str, operators: &[&Operator]) {
        let wanted = (letters.to_owned(), true);
        let coming = async {
            while self.found().await != wanted {
                a_moment().await;
            }
        };
        if tokio::time::timeout(PATIENCE, coming).await.is_err() {
            let logs: Vec<String> = operators.iter().map(|operator| operator.last_words()).collect();
            panic!("{:?} instead of {letters}:\n{}", self.found().await, logs.join("\n\n"));
        }
    }
}

async fn until_logged(operator: &Operator, text: &str) {
    let coming = async {
        while !operator.log().contains(text) {
            a_moment().await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, coming).await.is_ok();
    assert!(in_time, "it does not log {text:?}:\n{}", operator.last_words());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stood_still_writes_nothing_after_another_took_over() {
    let sandbox = tokio::task::spawn_blocking(|| Sandbox::dedicated("frozen")).await.unwrap();
    let maps = Maps::default();
    let server = Server::bind(ServeOptions::new("127.0.0.1:0", Transport::Insecure)).await.unwrap();
    let endpoint = server.address().unwrap();
    let function = maps.clone();
    tokio::spawn(server.run(move |request| function.clone().run(request), std::future::pending()));
    let flags = [
        "--controllers=composition",
        "--install-crds",
        "--namespace=default",
        "--leader-elect",
        "--lease-duration=10s",
        &format!("--function={FUNCTION}={endpoint}"),
    ]
    .map(str::to_owned);

    // The requests of the first pass a proxy, which records them.
    let requests = KillSwitch::default();
    let upstream = Upstream::Kubernetes(sandbox.client().await);
    let proxy = KillProxy::start(upstream, requests.clone(), |_| true).await;
    let folder = tempfile::tempdir().unwrap();
    let first = Operator::start(&kubeconfig_as(folder.path(), &proxy.url(), &json!({})), None, &flags);
    until_logged(&first, "acquired the lease").await;
    let second = Operator::start(&sandbox.kubeconfig(), None, &flags);
    until_logged(&second, "another copy of the operator leads").await;
    let connection = Connection { config_paths: vec![sandbox.kubeconfig()], ..Connection::default() };
    let person = Person(Session::connect(&connection, &Environment::default(), "person").unwrap());
    person.define().await;
    person.ask_for("ab").await;
    person.until("ab", &[&first, &second]).await;

    // The first waits for the function, and has the answer when it goes on.
    person.ask_for("abc").await;
    let mut waiting = maps.0.is_waiting.subscribe();
    tokio::time::timeout(PATIENCE, waiting.wait_for(|waiting| *waiting)).await.unwrap().unwrap();
    first.send("STOP");
    maps.0.release.notify_one();
    until_logged(&second, "acquired the lease").await;
    person.until("abc", &[&first, &second]).await;
    person.ask_for("ad").await;
    person.until("ad", &[&first, &second]).await;

    let before = requests.requests().len();
    first.send("CONT");
    until_logged(&first, "lost the lease").await;
    until_logged(&first, "another copy of the operator leads").await;
    let written: Vec<String> = requests
        .requests()
        .split_off(before)
        .into_iter()
        .filter(|request| !request.starts_with("GET ") && !request.contains("/leases/"))
        .collect();
    assert_eq!(written, Vec::<String>::new());
    assert_eq!(person.found().await, ("ad".to_owned(), true));
}
