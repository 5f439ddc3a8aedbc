//! Operators that start, take turns and end.

use std::net::SocketAddr;
use std::time::Duration;

use cluster::{Connection, Environment, Session};
use jiff::Timestamp;
use operator::install::install;
use operator::{Error, Half, Options, run};
use oraclecloud::Catalogue;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::proxy::{KillProxy, KillSwitch, TcpProxy, Upstream};
use testkit::{Namespace, Sandbox};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a test waits for something that should happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A namespace with what operators in it need.
struct Place {
    namespace: Namespace,
    kubeconfig: std::path::PathBuf,
    _folder: TempDir,
}

impl Place {
    async fn new(test: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let namespace = Sandbox::shared().namespace(test).await;
        let kubeconfig = Sandbox::shared().operator_kubeconfig(&namespace, folder.path()).await;
        Self { namespace, kubeconfig, _folder: folder }
    }

    fn options(&self) -> Options {
        let connection = Connection { config_paths: vec![self.kubeconfig.clone()], ..Connection::default() };
        Options {
            namespace: manifest::Namespace::new(self.namespace.name()),
            metrics_address: None,
            health_address: None,
            leader_elect: Some(true),
            lease_duration: Duration::from_secs(6),
            // Leases of other engines may be about in a shared cluster.
            take_over: true,
            ..Options::on(connection)
        }
    }

    /// Waits until the holder of the lease is as `wanted`; who it is.
    async fn holder(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let lease = lease();
        let seen =
            self.namespace.until(&lease, what, |lease| lease.is_some_and(|lease| wanted(&holder_of(lease))));
        holder_of(&seen.await.unwrap())
    }
}

fn lease() -> Value {
    let metadata = json!({ "name": "plimsoll-operator" });
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata })
}

fn holder_of(lease: &Value) -> String {
    lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// An operator that runs.
struct Running {
    task: JoinHandle<Result<(), Error>>,
    stop: CancellationToken,
}

impl Running {
    fn start(options: Options) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(options, stop.clone()));
        Self { task, stop }
    }

    async fn end(self) -> Result<(), Error> {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.expect("the operator ends").unwrap()
    }
}

#[tokio::test]
async fn a_stopped_operator_releases_its_lease_at_once() {
    let place = Place::new("handover").await;
    let first = Running::start(place.options());
    let holder = place.holder("the first copy leads", |holder| !holder.is_empty()).await;
    let second = Running::start(place.options());
    first.end().await.unwrap();
    let next = place.holder("the second copy leads", |next| !next.is_empty() && next != holder).await;
    second.end().await.unwrap();
    let last = place.holder("no leader", |last| last != next).await;
    assert_eq!(last, "");
}

#[tokio::test]
async fn operators_of_two_shards_lead_at_the_same_time() {
    let place = Place::new("shards").await;
    // The account may use no other lease than that of an operator for everything.
    let connection =
        Connection { config_paths: vec![Sandbox::shared().kubeconfig()], ..Connection::default() };
    let start = async |selector: &str| {
        let address = free_address().await;
        let options = Options {
            connection: connection.clone(),
            shard: selector.parse().unwrap(),
            metrics_address: Some(address),
            ..place.options()
        };
        let running = Running::start(options);
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        (running, address)
    };
    let (one, first) = start("plimsoll.dev/shard=one").await;
    let (rest, second) = start("!plimsoll.dev/shard").await;
    let both = async {
        let leads =
            async |address| get(address, "/metrics").await.lines().any(|line| line == "plimsoll_leader 1");
        while !(leads(first).await && leads(second).await) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, both).await.expect("both lead");
    for running in [one, rest] {
        running.end().await.unwrap();
    }
}

/// As after a route was lost: all connections stay open, and nothing passes over them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_connections_are_dead_renews_its_lease_over_a_new_one() {
    let place = Place::new("dead-connections").await;
    let kubeconfig = std::fs::read_to_string(&place.kubeconfig).unwrap();
    let (_, server) = kubeconfig.split_once("https://").unwrap();
    let is_part = |part: char| part.is_ascii_digit() || part == '.' || part == ':';
    let server = server.split(|part| !is_part(part)).next().unwrap();
    let proxy = TcpProxy::start(server.parse().unwrap()).await;
    std::fs::write(&place.kubeconfig, kubeconfig.replace(server, &proxy.address().to_string())).unwrap();
    let running = Running::start(place.options());
    let holder = place.holder("it leads", |holder| !holder.is_empty()).await;
    let renewed = |lease: &Value| lease["spec"]["renewTime"].clone();
    let mut last = Value::Null;
    for round in 0..4 {
        let is_new = |lease: &Value| renewed(lease) != last && holder_of(lease) == holder;
        let seen = place.namespace.until(&lease(), "it is renewed", |lease| lease.is_some_and(is_new)).await;
        last = renewed(&seen.unwrap());
        if round == 0 {
            proxy.lose();
        }
    }
    running.end().await.unwrap();
}

#[tokio::test]
async fn a_killed_operator_is_replaced_when_its_lease_has_expired() {
    let place = Place::new("followed").await;
    let first = Running::start(place.options());
    let holder = place.holder("the first copy leads", |holder| !holder.is_empty()).await;
    let second = Running::start(place.options());
    first.task.abort();
    place.holder("the second copy leads", |next| !next.is_empty() && next != holder).await;
    second.end().await.unwrap();
}

#[tokio::test]
async fn a_lost_lease_ends_the_term_and_a_regained_one_starts_another() {
    let place = Place::new("taken").await;
    let address = free_address().await;
    let running = Running::start(Options { metrics_address: Some(address), ..place.options() });
    let holder = place.holder("it leads", |holder| !holder.is_empty()).await;
    let held_by =
        |holder: &str| json!({ "spec": { "holderIdentity": holder, "leaseDurationSeconds": 3600 } });
    place.namespace.merge_as("thief", &lease(), &held_by("a thief")).await;
    let ended = async {
        let mut looks = tokio::time::interval(Duration::from_millis(50));
        while !get(address, "/metrics").await.lines().any(|line| line == "plimsoll_leader 0") {
            looks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("the term ends");
    assert_eq!(place.holder("the thief leads", |_| true).await, "a thief");
    place.namespace.merge_as("thief", &lease(), &held_by("")).await;
    assert_eq!(place.holder("it leads again", |next| !next.is_empty()).await, holder);
    running.end().await.unwrap();
}

#[tokio::test]
async fn an_operator_without_leader_election_does_not_start_beside_another_engine() {
    let place = Place::new("rival").await;
    let now = Timestamp::now();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "40558063.oci" },
        "spec": { "holderIdentity": "osok-0", "leaseDurationSeconds": 3600, "renewTime": format!("{now:.6}") },
    });
    place.namespace.apply_as("osok", &lease).await;
    let careful = Options { take_over: false, leader_elect: Some(false), ..place.options() };
    let error = run(careful, CancellationToken::new()).await.unwrap_err();
    let expected = format!(
        "the OCI Service Operator is running: osok-0 holds the lease {}/40558063.oci",
        place.namespace.name()
    );
    assert_eq!(error.to_string(), expected);
    assert!(error.diagnostic().hint.unwrap().contains("--take-over"));
    let bold = Running::start(place.options());
    place.holder("it leads all the same", |holder| !holder.is_empty()).await;
    bold.end().await.unwrap();
    place.namespace.kubectl(&["delete", "lease", "40558063.oci"]).unwrap();
}

#[tokio::test]
async fn an_operator_without_leader_election_stops_cleanly_every_time() {
    let place = Place::new("alone").await;
    for _ in 0..8 {
        let address = free_address().await;
        let alone = Options { leader_elect: Some(false), health_address: Some(address), ..place.options() };
        let running = Running::start(alone);
        let ready = async {
            let mut looks = tokio::time::interval(Duration::from_millis(20));
            while TcpStream::connect(address).await.is_err() || get(address, "/readyz").await != "ok\n" {
                looks.tick().await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.expect("it gets ready");
        running.end().await.unwrap();
    }
}

#[tokio::test]
async fn a_missing_right_to_list_leases_is_reported() {
    let place = Place::new("forbidden").await;
    let powerless =
        cluster::Impersonate { user: Some("powerless".to_owned()), ..cluster::Impersonate::default() };
    let connection = Connection {
        config_paths: vec![Sandbox::shared().kubeconfig()],
        impersonate: Some(powerless),
        ..Connection::default()
    };
    let options = Options { connection, take_over: false, ..place.options() };
    let error = run(options, CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, Error::Cluster(_)), "{error:?}");
    assert_eq!(error.to_string(), "cannot list objects of kind Lease");
}

#[tokio::test]
async fn an_operator_serves_readiness_and_metrics() {
    let place = Place::new("health").await;
    let address: SocketAddr = free_address().await;
    let options =
        Options { metrics_address: Some(address), health_address: Some(address), ..place.options() };
    let running = Running::start(options.clone());
    place.holder("it leads", |holder| !holder.is_empty()).await;
    assert_eq!(get(address, "/readyz").await, "ok\n");
    let metrics = get(address, "/metrics").await;
    assert!(metrics.lines().any(|line| line == "plimsoll_leader 1"), "{metrics}");
    let second = run(options, CancellationToken::new()).await.unwrap_err();
    assert!(matches!(&second, Error::Listen(error) if error.is_taken()), "{second:?}");
    assert!(second.diagnostic().hint.unwrap().contains("--metrics-address off"));
    running.end().await.unwrap();
}

#[tokio::test]
async fn definitions_are_installed_on_request() {
    let place = Place::new("install").await;
    let running = Running::start(Options { install_crds: true, ..place.options() });
    place.holder("it leads", |holder| !holder.is_empty()).await;
    running.end().await.unwrap();
    let shown = place.namespace.kubectl(&["get", "queues,streams"]);
    assert_eq!(shown.as_deref(), Ok(""));
}

#[tokio::test]
async fn definitions_that_are_installed_are_not_written_again() {
    const TRIES: usize = 5;
    let namespace = Sandbox::shared().namespace("installed").await;
    let requests = KillSwitch::default();
    let upstream = Upstream::Kubernetes(namespace.client().clone());
    let proxy = KillProxy::start(upstream, requests.clone(), |_| true).await;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": proxy.url()}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": ""}}],
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let connection = Connection { config_paths: vec![kubeconfig], ..Connection::default() };
    let session = Session::connect(&connection, &Environment::default(), "plimsoll-operator-tests").unwrap();
    let kinds = Catalogue::standard();
    let mut written = Vec::new();
    for _ in 0..TRIES {
        requests.reset();
        let installed = install(&session, &[Half::Composition, Half::Oci], &kinds).await.unwrap();
        assert!(installed.len() > 30, "{installed:?}");
        written = requests.requests().into_iter().filter(|request| !request.starts_with("GET ")).collect();
        // Other tests apply the same definitions as another manager.
        if written.is_empty() {
            return;
        }
    }
    panic!("{TRIES} times: {written:?}");
}

/// An address without a listener.
async fn free_address() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

async fn get(address: SocketAddr, path: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}
