//! The operator under test, functions for it to call, and what tests do to objects.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use cluster::{Check, Connection, Environment, Session, WaitOutcome, Write};
use functions::certs::{IssueOptions, Issued, issue};
use functions::{Certificates, Function, ServeOptions, Server, Transport};
use jiff::Timestamp;
use manifest::{Namespace, ObjectRef};
use operator::runtime::events::Events;
use operator::runtime::metrics::Metrics;
use operator::{Context, FunctionOptions, Options, composition};
use serde_json::{Value, json};
use testkit::Sandbox;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How long a test waits for something that should happen; much longer than it takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How long the operator waits for a function.
pub(crate) const FUNCTION_TIMEOUT: Duration = Duration::from_secs(2);

/// How large a message of a function may be.
pub(crate) const MAX_MESSAGE: usize = 1 << 20;

/// The operator all tests share, and the certificates of its functions.
pub(crate) struct World {
    certificates: Issued,
    /// Where the operator runs functions.
    pub(crate) namespace: String,
    /// A function that the operator reaches at this address instead of its Service: no Pod of the sandbox runs anything.
    pub(crate) packaged: (String, SocketAddr),
    runtime: Runtime,
    _folder: tempfile::TempDir,
    _turn: File,
}

/// The world, made for the first test that needs it. XRDs have no namespaces, so two operators would conflict;
/// another run of the tests waits until this one has ended.
pub(crate) fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    // On a thread of its own, since the first to need it is a test with a runtime.
    WORLD.get_or_init(|| std::thread::spawn(World::make).join().unwrap())
}

impl World {
    fn make() -> Self {
        let turn = File::create(Sandbox::shared().kubeconfig().with_extension("composition-lock")).unwrap();
        turn.lock().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let sans = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificates = issue(
            folder.path(),
            &IssueOptions { sans, days: 1, ..IssueOptions::new("fn") },
            Timestamp::now(),
        )
        .unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (namespace, kubeconfig) = runtime.block_on(prepare(folder.path()));
        let packaged = (format!("function-packaged-{}", std::process::id()), free_address());
        let functions = FunctionOptions {
            certs_dir: Some(certificates.client.clone()),
            addresses: BTreeMap::from([(format!("{}.{namespace}:9443", packaged.0), packaged.1)]),
            timeout: FUNCTION_TIMEOUT,
            max_message: MAX_MESSAGE,
            ..FunctionOptions::default()
        };
        let options = Options {
            functions,
            namespace: Namespace::new(&namespace),
            ..Options::on(Connection::default())
        };
        runtime.spawn(async move {
            let session = connect(kubeconfig, "plimsoll-operator");
            let events = Events::start(session.client().clone(), "test", Metrics::new());
            let context = Context::new(session, events, Metrics::new(), options);
            composition::run(context, CancellationToken::new()).await;
        });
        Self { certificates, namespace, packaged, runtime, _folder: folder, _turn: turn }
    }

    /// Serves `function` over mutual TLS until what is returned is dropped.
    pub(crate) fn serve(&self, function: impl Function) -> Served {
        self.serve_at("127.0.0.1:0", function)
    }

    /// Serves `function` at an address that was used before.
    pub(crate) fn serve_at(&self, address: &str, function: impl Function) -> Served {
        self.serve_with(address, self.server_certificates(), function)
    }

    /// Serves `function` with the certificates in a folder.
    pub(crate) fn serve_with(&self, address: &str, certificates: &Path, function: impl Function) -> Served {
        let certificates = Certificates::Folder(certificates.to_owned());
        let options = ServeOptions::new(address, Transport::Tls(certificates));
        let (stop, stopped) = oneshot::channel::<()>();
        // Blocking on another runtime from within a test's is not allowed, hence a thread.
        let handle = self.runtime.handle().clone();
        let endpoint = std::thread::spawn(move || {
            handle.block_on(async {
                let server = Server::bind(options).await.unwrap();
                let endpoint = server.address().unwrap().to_string();
                tokio::spawn(server.run(function, async move { drop(stopped.await) }));
                endpoint
            })
        });
        Served { endpoint: endpoint.join().unwrap(), stop: Some(stop) }
    }

    /// The folder with a function's certificates.
    pub(crate) fn server_certificates(&self) -> &Path {
        &self.certificates.server
    }
}

/// A function that is served until this is dropped.
pub(crate) struct Served {
    pub(crate) endpoint: String,
    stop: Option<oneshot::Sender<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

/// An address at which nothing listens.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Kinds and rights as people install them, and what the tests compose granted as people grant what they compose; the
/// namespace of the operator, and the kubeconfig of the account that has them.
async fn prepare(folder: &Path) -> (String, PathBuf) {
    let namespace = Sandbox::shared().namespace("composition").await;
    let kubeconfig = Sandbox::shared().operator_kubeconfig(&namespace, folder).await;
    let session = session();
    let composed = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": "plimsoll-composition-test",
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
        },
        "rules": [{"apiGroups": ["", "apps"], "resources": ["configmaps", "deployments", "secrets"], "verbs": ["*"]}],
    });
    apply(&session, &composed).await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "plimsoll-composed"},
    });
    let grants = |role: &Value| {
        let granted = &composed["rules"][0];
        role["rules"].as_array().is_some_and(|rules| rules.contains(granted))
    };
    until(&session, &role, "its rules are aggregated", grants).await;
    (namespace.name().to_owned(), kubeconfig)
}

/// A session with every right, for the runtime of the calling test.
pub(crate) fn session() -> Session {
    connect(Sandbox::shared().kubeconfig(), "plimsoll-tests")
}

/// A session by a kubeconfig, for the runtime of the caller.
pub(crate) fn connect(kubeconfig: PathBuf, agent: &str) -> Session {
    let connection = Connection { config_paths: vec![kubeconfig], ..Connection::default() };
    Session::connect(&connection, &Environment::default(), agent).unwrap()
}

/// What `object` calls itself.
pub(crate) fn reference(object: &Value) -> ObjectRef {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let gvk = format!("{}/{}", text("/apiVersion"), text("/kind")).parse().unwrap();
    ObjectRef::new(gvk, Namespace::new(text("/metadata/namespace")), text("/metadata/name"))
}

/// Applies `object` as a person does, waiting for its kind if need be.
pub(crate) async fn apply(session: &Session, object: &Value) -> Value {
    let applied = session.apply_when_possible(&reference(object), object, Write::by("person").force()).await;
    applied.unwrap_or_else(|error| panic!("{error:?}")).object
}

/// The object that `object` names, as it is now.
pub(crate) async fn get(session: &Session, object: &Value) -> Option<Value> {
    session.read(&reference(object)).await.unwrap().map(|reply| reply.object)
}

/// Deletes the object that `object` names, without waiting for anything.
pub(crate) async fn delete(session: &Session, object: &Value) {
    let how = cluster::Delete { timeout: Duration::ZERO, ..cluster::Delete::of(&reference(object)) };
    session.delete(&reference(object), &how).await.unwrap();
}

/// Waits until the object that `object` names is there and `is_so`, and returns it.
pub(crate) async fn until(
    session: &Session,
    object: &Value,
    what: &str,
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let check = |object: Option<&Value>| match object {
        Some(object) if is_so(object) => Check::Met(()),
        _ => Check::NotYet(what.to_owned()),
    };
    match session.wait_until(&reference(object), PATIENCE, check).await {
        Ok(WaitOutcome::Met { object: Some(object), .. }) => object,
        other => {
            let last = get(session, object).await.map(|last| manifest::to_yaml(&last));
            panic!("waiting until {what}: {other:?}\n{}", last.unwrap_or_default())
        }
    }
}

/// Waits until the object that `object` names is gone.
pub(crate) async fn until_gone(session: &Session, object: &Value) {
    let check = |object: Option<&Value>| match object {
        None => Check::Met(()),
        Some(_) => Check::NotYet("it is still there".to_owned()),
    };
    let target = reference(object);
    match session.wait_until(&target, PATIENCE, check).await {
        Ok(WaitOutcome::Met { .. }) => {}
        Err(error) if error.class() == cluster::Class::KindMissing => {}
        other => panic!("waiting until {target} is gone: {other:?}"),
    }
}

/// The condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// Whether the condition of this type is True.
pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// `Type=Status Reason` of the condition of this type, or nothing.
pub(crate) fn condition_line(object: &Value, kind: &str) -> String {
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    condition(object, kind).map_or_else(String::new, |condition| {
        format!("{kind}={} {}", text(condition, "status"), text(condition, "reason"))
    })
}

/// The events on `object`, `Type Reason: Message`, oldest first, once `count` of them are there.
pub(crate) async fn events(session: &Session, object: &Value, count: usize) -> Vec<String> {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap().to_owned();
    let gvk = "v1/Event".parse().unwrap();
    let selection = || cluster::Selection {
        fields: Some(format!("involvedObject.uid={uid}")),
        ..cluster::Selection::default()
    };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut seen = BTreeMap::new();
    let mut watch = session.watch(&gvk, selection(), None).await.unwrap();
    while seen.len() < count {
        let event = tokio::time::timeout_at(deadline, watch.next()).await;
        let event = event.unwrap_or_else(|_| panic!("{count} events were expected: {seen:?}")).unwrap();
        if let cluster::WatchEvent::Applied(event) = event {
            let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            let name = event.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
            // The name ends with a number that grows.
            let number = name.rsplit_once('.').map_or_else(String::new, |(_, number)| number.to_owned());
            seen.insert(number, format!("{} {}: {}", text("type"), text("reason"), text("message")));
        }
    }
    seen.into_values().collect()
}

/// Waits until an event on `object` says `text`.
pub(crate) async fn until_recorded(session: &Session, object: &Value, text: &str) {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap();
    let fields = Some(format!("involvedObject.uid={uid}"));
    let selection = cluster::Selection { fields, ..cluster::Selection::default() };
    let mut watch = session.watch(&"v1/Event".parse().unwrap(), selection, None).await.unwrap();
    let mut recorded = Vec::new();
    let coming = async {
        loop {
            if let cluster::WatchEvent::Applied(event) = watch.next().await.unwrap() {
                let part = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                recorded.push(format!("{} {}: {}", part("type"), part("reason"), part("message")));
                if recorded.iter().any(|event: &String| event.contains(text)) {
                    return;
                }
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, coming).await.is_ok();
    assert!(in_time, "{text} was not among {recorded:#?}");
}

/// An XRD of scope LegacyCluster with a claim, in a group of the test's own, whose schema takes anything.
pub(crate) fn legacy_xrd(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("xapps.{group}")},
        "spec": {
            "group": group,
            "names": {"kind": "XApp", "plural": "xapps"},
            "claimNames": {"kind": "App", "plural": "apps"},
            "versions": [version("v1", true)],
        },
    })
}

/// An XRD of a modern scope.
pub(crate) fn modern_xrd(group: &str, scope: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("xapps.{group}")},
        "spec": {
            "group": group, "scope": scope,
            "names": {"kind": "XApp", "plural": "xapps"},
            "versions": [version("v1", true)],
        },
    })
}

/// A version of an XRD that takes anything.
pub(crate) fn version(name: &str, referenceable: bool) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "name": name, "served": true, "referenceable": referenceable,
        "schema": {"openAPIV3Schema": {
            "type": "object",
            "properties": {
                "spec": anything,
                "status": {"type": "object", "properties": {"coolerField": {"type": "string"}}},
            },
        }},
    })
}

/// A Composition for XRs of `group` that runs these functions.
pub(crate) fn composition(name: &str, group: &str, functions: &[&str]) -> Value {
    let step =
        |function: &&str| json!({"step": format!("run-{function}"), "functionRef": {"name": function}});
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": name},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{group}/v1"), "kind": "XApp"},
            "mode": "Pipeline",
            "pipeline": functions.iter().map(step).collect::<Vec<_>>(),
        },
    })
}

/// A Function that is served at `endpoint`.
pub(crate) fn function(name: &str, endpoint: &str) -> Value {
    json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
        "metadata": {"name": name, "annotations": {"plimsoll.dev/endpoint": endpoint}},
        "spec": {"package": "xpkg.example.org/test/function:v1"},
    })
}

/// A name for a group that only one test of one run uses.
pub(crate) fn group(test: &str) -> String {
    let now = Timestamp::now().as_microsecond();
    format!("{test}-{now:x}.example.org")
}
