//! Operators that can be killed: each on a runtime of its own, on a sandbox of their own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cluster::{Connection, Session};
use functions::{Function, ServeOptions, Server, Transport};
use http::{Method, Request};
use kube::client::Body;
use operator::runtime::events::Events;
use operator::runtime::metrics::Metrics;
use operator::{Context, FunctionOptions, Options, composition};
use serde_json::{Value, json};
use testkit::Sandbox;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio_util::sync::CancellationToken;

use crate::crash::maps;
use crate::fixture::{apply, composition, group, is_true, legacy_xrd, until};

/// The sandbox for tests with operators of their own, one test at a time.
pub(crate) async fn alone() -> (&'static Sandbox, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::const_new(());
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    let turn = TURN.lock().await;
    let sandbox = tokio::task::spawn_blocking(|| SANDBOX.get_or_init(|| Sandbox::dedicated("operators")));
    let sandbox = sandbox.await.unwrap();
    install(&Session::new(sandbox.client().await)).await;
    (sandbox, turn)
}

/// Installs the kinds of the engine.
pub(crate) async fn install(session: &Session) {
    for definition in composition::crds::definitions() {
        apply(session, &definition).await;
        until(session, &definition, "it is established", |crd| is_true(crd, "Established")).await;
    }
}

/// When an operator dies, seen from the write that is its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// The API server never receives the write.
    Before,
    /// The write is done, and the operator never learns of it.
    After,
}

/// The last write of an operator.
#[derive(Clone)]
pub(crate) struct Last {
    nth: usize,
    when: When,
    subject: String,
    count: Arc<AtomicUsize>,
    struck: watch::Sender<bool>,
}

impl Last {
    /// The `nth` write about something whose name or group contains `subject`, from 1.
    pub(crate) fn new(nth: usize, when: When, subject: &str) -> Self {
        let subject = subject.to_owned();
        Self { nth, when, subject, count: Arc::default(), struck: watch::Sender::new(false) }
    }

    /// Waits until it has come.
    pub(crate) async fn struck(&self) {
        let mut struck = self.struck.subscribe();
        // The sender is our own.
        let _struck = struck.wait_for(|struck| *struck).await;
    }

    /// What becomes of a request: after the last write there are no more.
    async fn pass(
        self,
        client: kube::Client,
        request: Request<Body>,
    ) -> Result<http::Response<Body>, kube::Error> {
        let is_write = *request.method() != Method::GET;
        if is_write && *self.struck.borrow() {
            return std::future::pending().await;
        }
        let counts = is_write && request.uri().path().contains(&self.subject);
        if !counts || self.count.fetch_add(1, Ordering::SeqCst) + 1 != self.nth {
            return client.send(request).await;
        }
        self.struck.send_replace(true);
        if self.when == When::After {
            drop(client.send(request).await);
        }
        std::future::pending().await
    }
}

/// The settings of an operator that calls `functions`.
fn options(functions: BTreeMap<String, String>) -> Options {
    Options {
        functions: FunctionOptions { endpoints: functions, ..FunctionOptions::default() },
        namespace: manifest::Namespace::new("default"),
        ..Options::on(Connection::default())
    }
}

/// An XRD and its Composition, whose function composes a map for each letter that is asked for.
pub(crate) struct Offer {
    pub(crate) sandbox: &'static Sandbox,
    pub(crate) session: Session,
    pub(crate) functions: BTreeMap<String, String>,
    pub(crate) xrd: Value,
    name: String,
    group: String,
}

impl Offer {
    pub(crate) async fn new(sandbox: &'static Sandbox, test: &str) -> Self {
        Self::with(sandbox, test, maps).await
    }

    /// One whose function is `run`.
    pub(crate) async fn with(sandbox: &'static Sandbox, test: &str, run: impl Function) -> Self {
        let server = Server::bind(ServeOptions::new("127.0.0.1:0", Transport::Insecure)).await.unwrap();
        let function = format!("function-{test}");
        let functions = BTreeMap::from([(function.clone(), server.address().unwrap().to_string())]);
        tokio::spawn(server.run(run, std::future::pending()));
        let (session, group) = (Session::new(sandbox.client().await), group(test));
        apply(&session, &composition(&group, &group, &[&function])).await;
        let xrd = apply(&session, &legacy_xrd(&group)).await;
        Self { sandbox, session, functions, xrd, name: test.to_owned(), group }
    }

    /// An operator that calls its function.
    pub(crate) fn start(&self) -> Operator {
        Operator::start(self.sandbox, self.functions.clone(), None)
    }

    /// An XR or a claim that asks for these letters.
    pub(crate) fn object(&self, kind: &str, namespace: Option<&str>, letters: &str) -> Value {
        self.named(kind, &self.name, namespace, letters)
    }

    /// One of several.
    pub(crate) fn named(&self, kind: &str, name: &str, namespace: Option<&str>, letters: &str) -> Value {
        let mut object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind,
            "metadata": {"name": name}, "spec": {"maps": letters},
        });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    }
}

/// What an operator has written, as method and path.
#[derive(Clone, Default)]
pub(crate) struct Writes(Arc<std::sync::Mutex<Vec<String>>>);

impl Writes {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// `client`, whose writes are recorded here.
    pub(crate) fn of(self, client: kube::Client) -> kube::Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            if *request.method() != Method::GET {
                self.0.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
            }
            let client = client.clone();
            async move { client.send(request).await }
        });
        kube::Client::new(service, "default")
    }
}

/// An operator that runs until it is killed.
pub(crate) struct Operator {
    runtime: Option<Runtime>,
    pub(crate) metrics: Metrics,
}

impl Operator {
    /// Starts one that calls `functions` in the clear, and dies at `last`.
    pub(crate) fn start(
        sandbox: &'static Sandbox,
        functions: BTreeMap<String, String>,
        last: Option<Last>,
    ) -> Self {
        let connect = async move || {
            let client = sandbox.client().await;
            match last {
                None => client,
                Some(last) => {
                    let service =
                        tower::service_fn(move |request| last.clone().pass(client.clone(), request));
                    kube::Client::new(service, "default")
                }
            }
        };
        Self::start_with(functions, connect)
    }

    /// Starts one whose API server is what `connect` connects to.
    pub(crate) fn start_with<F>(
        functions: BTreeMap<String, String>,
        connect: impl FnOnce() -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = kube::Client> + Send,
    {
        Self::start_on(options(functions), connect)
    }

    /// Starts one that writes composed resources as `account` of the namespace they are composed for.
    pub(crate) fn start_for_tenants<F>(
        functions: BTreeMap<String, String>,
        account: &str,
        connect: impl FnOnce() -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = kube::Client> + Send,
    {
        let options = Options { default_service_account: Some(account.to_owned()), ..options(functions) };
        Self::start_on(options, connect)
    }

    /// Starts one that reconciles what `selector` selects.
    pub(crate) fn start_shard(
        sandbox: &'static Sandbox,
        functions: BTreeMap<String, String>,
        selector: &str,
        writes: Writes,
    ) -> Self {
        let options = Options { shard: selector.parse().unwrap(), ..options(functions) };
        Self::start_on(options, async move || writes.of(sandbox.client().await))
    }

    /// Starts one that makes one call of a function at a time, and lets others wait for so long.
    pub(crate) fn start_calling_one_by_one(
        sandbox: &'static Sandbox,
        functions: BTreeMap<String, String>,
        max_wait: Duration,
    ) -> Self {
        let functions =
            FunctionOptions { endpoints: functions, concurrency: 1, max_wait, ..FunctionOptions::default() };
        let options = Options { functions, ..options(BTreeMap::new()) };
        Self::start_on(options, async || sandbox.client().await)
    }

    fn start_on<F>(options: Options, connect: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = kube::Client> + Send,
    {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let metrics = Metrics::new();
        let counted = metrics.clone();
        runtime.spawn(async move {
            let session = Session::new(connect().await);
            let events = Events::start(session.client().clone(), "test", counted.clone());
            let context = Context::new(session, events, counted, options);
            composition::run(context, CancellationToken::new()).await;
        });
        Self { runtime: Some(runtime), metrics }
    }

    /// Kills it: nothing it is doing is finished.
    pub(crate) fn kill(mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
