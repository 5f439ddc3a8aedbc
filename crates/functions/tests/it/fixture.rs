//! Served functions, and an engine that finds them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use composition::function::Location;
use composition::protocol::{Capability, RequestMeta, RunRequest, RunResponse};
use composition::{FunctionRunner, RunError, RunErrorClass};
use functions::certs::{IssueOptions, Issued, issue};
use functions::{Certificates, Function, Functions, NoResolver, Options, ServeOptions, Server, Transport};
use jiff::Timestamp;
use tokio::sync::oneshot;

/// A function that is served until this is dropped.
pub(crate) struct Served {
    pub(crate) endpoint: String,
    _stop: oneshot::Sender<()>,
}

pub(crate) async fn serve_with(function: impl Function, options: ServeOptions) -> Served {
    let written = options.address.clone();
    let server = Server::bind(options).await.unwrap();
    let endpoint = server.address().map_or(written, |address| address.to_string());
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(server.run(function, async move { drop(stopped.await) }));
    Served { endpoint, _stop: stop }
}

/// Serves a function on a port of loopback, with the certificates of a folder or in plaintext.
pub(crate) async fn serve(function: impl Function, folder: Option<&Path>) -> Served {
    let tls = |folder: &Path| Transport::Tls(Certificates::Folder(folder.to_owned()));
    let transport = folder.map_or(Transport::Insecure, tls);
    serve_with(function, ServeOptions::new("127.0.0.1:0", transport)).await
}

/// Certificates for a function on loopback.
pub(crate) fn certificates(out: &Path) -> Issued {
    certificates_at(out, Timestamp::now(), 1)
}

pub(crate) fn certificates_at(out: &Path, now: Timestamp, days: u16) -> Issued {
    let sans = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    issue(out, &IssueOptions { sans, days, ..IssueOptions::new("fn") }, now).unwrap()
}

/// An engine whose functions can move to other endpoints.
pub(crate) struct Engine {
    pub(crate) functions: Functions,
    endpoints: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Engine {
    pub(crate) fn new(options: Options) -> Self {
        let endpoints = Arc::new(Mutex::new(BTreeMap::<String, String>::new()));
        let known = Arc::clone(&endpoints);
        let locate = move |name: &str| match known.lock().unwrap().get(name) {
            Some(endpoint) => Ok(Location::Endpoint(endpoint.clone())),
            None => Err(RunError::new(RunErrorClass::FunctionNotFound, "unknown")),
        };
        Self { functions: Functions::new(options, locate).unwrap(), endpoints }
    }

    /// An engine with one function called `fn`.
    pub(crate) fn of(options: Options, endpoint: &str) -> Self {
        let engine = Self::new(options);
        engine.move_to("fn", endpoint);
        engine
    }

    pub(crate) fn move_to(&self, name: &str, endpoint: &str) {
        self.endpoints.lock().unwrap().insert(name.to_owned(), endpoint.to_owned());
    }

    /// Runs a function that requires nothing.
    pub(crate) async fn run(&self, name: &str, request: &RunRequest) -> Result<RunResponse, RunError> {
        self.functions.runner(&NoResolver).run(name, request).await
    }

    /// Runs the function called `fn` with a plain request.
    pub(crate) async fn call(&self) -> Result<RunResponse, RunError> {
        self.run("fn", &request()).await
    }
}

/// Options for tests that do not wait: a failed connection fails the call.
pub(crate) fn impatient(folder: Option<&Path>) -> Options {
    Options { down_after: Duration::ZERO, ..patient(folder) }
}

/// Options for tests in which everything they wait for happens.
pub(crate) fn patient(folder: Option<&Path>) -> Options {
    Options {
        certificates: folder.map(|folder| Certificates::Folder(folder.to_owned())).into_iter().collect(),
        timeout: Duration::from_secs(600),
        down_after: Duration::from_secs(600),
        ..Options::default()
    }
}

pub(crate) fn request() -> RunRequest {
    let meta = RequestMeta { tag: "the caller's".to_owned(), capabilities: Capability::ALL.to_vec() };
    RunRequest { meta, ..RunRequest::default() }
}
