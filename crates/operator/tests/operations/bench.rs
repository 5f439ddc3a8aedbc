//! The controllers between a real API server and the signed server, with intervals of seconds instead of minutes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cluster::{Connection, Environment, Session};
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use operations::Schedule;
use operator::Context;
use operator::operations::run;
use operator::runtime::events::Events;
use operator::runtime::metrics::Metrics;
use oraclecloud::{Catalogue, Client, Connections, Credentials, Endpoints, RateLimiter, Resources};
use oraclecloud_emulator::{Operation, Options, Outcome, Script, Server, Timeline, TimelineRule, serve};
use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};
use tokio::sync::{Mutex, OnceCell};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::namespace;

/// Making a key takes longer than most tests, so servers share one; the first to start makes it.
pub(crate) async fn server() -> Server {
    serve_with(Script::default(), &Catalogue::default()).await
}

async fn serve_with(script: Script, added: &Catalogue) -> Server {
    static FIRST: Mutex<()> = Mutex::const_new(());
    let _alone = FIRST.lock().await;
    let kinds = Catalogue::standard().and(added);
    serve(Options { key_dir: Some(key_dir()), seed: Some(1), script, kinds, ..Options::default() })
        .await
        .unwrap()
}

/// The folder with the key and the configuration file of all servers.
pub(crate) fn key_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("operator-keys")
}

/// A client that is who the server's configuration file says.
pub(crate) fn client(server: &Server) -> Client {
    let nothing = |_: &str| None;
    let credentials = Credentials::from_config_file(server.config_file(), None, &nothing);
    Client::new(credentials, Connections::new(), calls(server, CALLS_PER_SECOND), &nothing).unwrap()
}

/// The queues of a client, as another program would call them.
pub(crate) fn queues(client: &Client) -> Resources<'_> {
    client.resources(Catalogue::standard().get("queue/Queue").unwrap())
}

/// So many that no test waits for its turn.
const CALLS_PER_SECOND: f64 = 10_000.0;

fn calls(server: &Server, per_second: f64) -> oraclecloud::Settings {
    let mut endpoints = Endpoints::default();
    // Each region has resources of its own.
    endpoints.add(&format!("{}/{{region}}/{{service}}", server.url())).unwrap();
    oraclecloud::Settings {
        deadline: Duration::from_secs(60),
        endpoints,
        limiter: RateLimiter::new(per_second),
    }
}

/// The environment of an operator whose own credentials are those of the server's configuration file.
pub(crate) fn at_home(name: &str) -> Option<String> {
    (name == "OCI_CONFIG_FILE_PATH").then(|| key_dir().join("config").display().to_string())
}

/// A Secret with these entries.
pub(crate) fn secret(name: &str, entries: &[(&str, &str)]) -> Value {
    let data = entries.iter().map(|(key, value)| ((*key).to_owned(), json!(BASE64_STANDARD.encode(value))));
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "data": data.collect::<serde_json::Map<_, _>>(),
    })
}

/// The entries of a Secret with the credentials of the server's configuration file.
pub(crate) fn entries() -> [(&'static str, String); 5] {
    let config = std::fs::read_to_string(key_dir().join("config")).unwrap();
    let value = |name: &str| {
        let line = config.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap().to_owned()
    };
    let key = std::fs::read_to_string(value("key_file")).unwrap();
    [
        ("tenancy", value("tenancy")),
        ("user", value("user")),
        ("fingerprint", value("fingerprint")),
        ("region", value("region")),
        ("privatekey", key),
    ]
}

/// The intervals of a test: everything that takes minutes takes seconds.
pub(crate) fn quick() -> Schedule {
    Schedule {
        poll_interval: Duration::from_millis(200),
        operation_deadline: Duration::from_secs(60),
        create_grace: Duration::from_secs(6),
        slow_retry: Duration::from_secs(1),
        drift_interval: Duration::from_secs(1),
    }
}

/// A namespace, a cloud, and an operator that looks after both.
pub(crate) struct Bench {
    pub(crate) namespace: Namespace,
    pub(crate) server: Server,
    running: Vec<DropGuard>,
}

impl Bench {
    pub(crate) async fn new(test: &str) -> Self {
        Self::with(test, Script::default(), quick(), at_home).await
    }

    pub(crate) async fn with(
        test: &str,
        script: Script,
        settings: Schedule,
        environment: fn(&str) -> Option<String>,
    ) -> Self {
        let options =
            operator::Options { operations: settings, ..operator::Options::on(Connection::default()) };
        Self::run(test, script, options, environment).await
    }

    /// With these options, in this test's namespace and cloud.
    pub(crate) async fn run(
        test: &str,
        script: Script,
        options: operator::Options,
        environment: fn(&str) -> Option<String>,
    ) -> Self {
        Self::within(namespace(test).await, test, script, options, environment).await
    }

    /// With these options, in this namespace.
    pub(crate) async fn within(
        namespace: Namespace,
        test: &str,
        script: Script,
        options: operator::Options,
        environment: fn(&str) -> Option<String>,
    ) -> Self {
        let server = serve_with(script, &options.kinds).await;
        let session = session(&namespace).await;
        Self::start(test, namespace, server, session, options, environment)
    }

    /// With an operator that makes no more calls in a second than this.
    pub(crate) async fn limited(test: &str, per_second: f64) -> Self {
        let namespace = namespace(test).await;
        let server = server().await;
        let options = operator::Options {
            // A create waits for its turn, too.
            operations: Schedule { create_grace: Duration::from_secs(120), ..quick() },
            oci: calls(&server, per_second),
            ..operator::Options::on(Connection::default())
        };
        let session = session(&namespace).await;
        Self::start_with(test, namespace, server, session, options, at_home)
    }

    /// With the rights of this session, and no others.
    pub(crate) async fn with_rights(test: &str, namespace: Namespace, session: Session) -> Self {
        let options =
            operator::Options { operations: quick(), ..operator::Options::on(Connection::default()) };
        Self::start(test, namespace, server().await, session, options, at_home)
    }

    /// Starts another operator where an earlier one was stopped.
    pub(crate) async fn restart(self, test: &str) -> Self {
        self.restart_after(test, async |_| {}).await
    }

    /// The same, after something has happened to the cluster.
    pub(crate) async fn restart_after(self, test: &str, happens: impl AsyncFnOnce(&Namespace)) -> Self {
        let Self { namespace, server, running } = self;
        drop(running);
        happens(&namespace).await;
        let options =
            operator::Options { operations: quick(), ..operator::Options::on(Connection::default()) };
        let session = session(&namespace).await;
        Self::start(test, namespace, server, session, options, at_home)
    }

    fn start(
        test: &str,
        namespace: Namespace,
        server: Server,
        session: Session,
        options: operator::Options,
        environment: fn(&str) -> Option<String>,
    ) -> Self {
        let options = operator::Options { oci: calls(&server, CALLS_PER_SECOND), ..options };
        Self::start_with(test, namespace, server, session, options, environment)
    }

    fn start_with(
        test: &str,
        namespace: Namespace,
        server: Server,
        session: Session,
        options: operator::Options,
        environment: fn(&str) -> Option<String>,
    ) -> Self {
        let options = operator::Options { namespace: manifest::Namespace::new(namespace.name()), ..options };
        let events = Events::start(session.client().clone(), test, Metrics::new());
        let context = Context { environment, ..Context::new(session, events, Metrics::new(), options) };
        let stop = CancellationToken::new();
        tokio::spawn(run(context, stop.clone()));
        Self { namespace, server, running: vec![stop.drop_guard()] }
    }

    /// Starts one more operator, for the objects that `selector` selects.
    pub(crate) async fn with_shard(mut self, test: &str, selector: &str) -> Self {
        let Self { namespace, server, running } = self;
        let options = operator::Options {
            shard: selector.parse().unwrap(),
            operations: quick(),
            ..operator::Options::on(Connection::default())
        };
        let session = session(&namespace).await;
        self = Self::start(test, namespace, server, session, options, at_home);
        self.running.extend(running);
        self
    }

    /// Waits until what is created from now on is certainly younger than the operator, also by whole seconds.
    pub(crate) async fn until_older_than_objects(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    /// The JSON of a queue with these fields in its spec.
    pub(crate) fn queue(&self, name: &str, fields: Value) -> Value {
        let spec = json!({"displayName": name, "compartmentId": self.server.compartment()});
        json!({
            "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue", "metadata": {"name": name},
            "spec": with(spec, fields),
        })
    }

    /// The JSON of a stream with these fields in its spec.
    pub(crate) fn stream(&self, name: &str, fields: Value) -> Value {
        let spec = json!({"name": name, "partitions": 1, "compartmentId": self.server.compartment()});
        json!({
            "apiVersion": "streaming.oracle.com/v1beta1", "kind": "Stream", "metadata": {"name": name},
            "spec": with(spec, fields),
        })
    }

    pub(crate) async fn apply(&self, object: &Value) -> Value {
        self.namespace.apply_as("person", object).await
    }

    /// Changes an object as `kubectl edit` would.
    pub(crate) async fn change(&self, object: &Value, change: &Value) -> Value {
        self.namespace.merge_as("person", object, change).await
    }

    /// Deletes an object without waiting.
    pub(crate) fn delete(&self, object: &Value) {
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        self.namespace.kubectl(&["delete", "--wait=false", &kind, &name]).unwrap();
    }

    /// Waits until the object is `Ready` for its generation and nothing is in flight.
    pub(crate) async fn until_ready(&self, object: &Value) -> Value {
        self.until(object, "ready", |object| {
            let ready = condition(object, "Ready");
            ready["status"] == "True"
                && ready["observedGeneration"] == object["metadata"]["generation"]
                && condition(object, "Stalled")["status"] == "False"
                && object["status"]["status"]["async"].get("current").is_none()
        })
        .await
    }

    /// Waits until the object is stalled for this reason.
    pub(crate) async fn until_stalled(&self, object: &Value, reason: &str) -> Value {
        self.until(object, reason, |object| {
            let stalled = condition(object, "Stalled");
            stalled["status"] == "True" && stalled["reason"] == reason
        })
        .await
    }

    pub(crate) async fn until(&self, object: &Value, what: &str, met: impl Fn(&Value) -> bool) -> Value {
        self.namespace.until(object, what, |object| object.is_some_and(&met)).await.unwrap()
    }

    pub(crate) async fn until_gone(&self, object: &Value) {
        self.namespace.until(object, "gone", |object| object.is_none()).await;
    }

    /// Waits until the operator has looked at the resource again, twice, so that the first look was a whole one.
    pub(crate) async fn another_look(&self, object: &Value, operation: Operation) {
        let before = self.server.journal().count(operation);
        for round in 1..=2 {
            let requested = json!({"metadata": {"annotations": {
                "plimsoll.dev/reconcile-requested-at": format!("{before}-{round}"),
            }}});
            self.change(object, &requested).await;
            while self.server.journal().count(operation) < before + round {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// The messages of the object's events with this reason, or with any, once there is one.
    pub(crate) async fn events(&self, name: &str, reason: &str) -> Vec<String> {
        let api = kube::Api::<Event>::namespaced(self.namespace.client().clone(), self.namespace.name());
        let mut fields = format!("involvedObject.name={name}");
        if !reason.is_empty() {
            fields = format!("{fields},reason={reason}");
        }
        loop {
            let events = api.list(&ListParams::default().fields(&fields)).await.unwrap();
            if !events.items.is_empty() {
                return events.items.into_iter().map(|event| event.message.unwrap_or_default()).collect();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// How often an operation had an effect.
    pub(crate) fn effects(&self, operation: Operation) -> usize {
        self.server.journal().effects(operation)
    }

    /// The resources at the cloud that are not deleted.
    pub(crate) fn living(&self) -> Vec<Value> {
        self.server.resources().into_iter().filter(|it| it["lifecycleState"] != "DELETED").collect()
    }

    /// Changes a resource behind everyone's back.
    pub(crate) fn edit(&self, id: &str, change: Value) {
        let Value::Object(change) = change else { panic!("{change} is no object") };
        assert!(self.server.edit(id, &change), "there is no {id}");
    }

    /// Lets operations go like this from now on.
    pub(crate) fn going(&self, operation: Operation, times: Option<u32>, timeline: Timeline) {
        self.server.set_timeline(TimelineRule { operation, name: None, times, timeline });
    }
}

/// A session with the rights that `deploy/` grants, and no other.
pub(crate) async fn session(namespace: &Namespace) -> Session {
    static FOLDER: OnceCell<PathBuf> = OnceCell::const_new();
    let kubeconfig = FOLDER.get_or_init(|| async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("operator-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Sandbox::shared().operator_kubeconfig(namespace, &folder).await
    });
    let connection = Connection { config_paths: vec![kubeconfig.await.clone()], ..Connection::default() };
    Session::connect(&connection, &Environment::default(), "plimsoll-operator-tests").unwrap()
}

/// The condition of this type; null when there is none.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

/// The types of the shared conditions, in their order.
pub(crate) fn shared_types(object: &Value) -> Vec<String> {
    let conditions = object["status"]["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().map(|condition| text(&condition["type"])).collect()
}

/// The identifier of an object's resource.
pub(crate) fn ocid(object: &Value) -> String {
    text(&object["status"]["status"]["ocid"])
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// A timeline that fails with this message.
pub(crate) fn failing(message: &str) -> Timeline {
    let outcome = Outcome::Fail { code: "OutOfCapacity".to_owned(), message: message.to_owned() };
    Timeline { outcome, ..Timeline::default() }
}

fn with(mut base: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("{fields} is no object") };
    base.as_object_mut().unwrap().extend(fields);
    base
}
