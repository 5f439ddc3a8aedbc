//! A gate between a program and the API server, which closes at a moment the test has chosen: with a request carried out
//! and its answer still to come. Nothing else is as unlikely to happen by itself and as bad when it does.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a test waits for the request it has chosen.
const PATIENCE: Duration = Duration::from_secs(60);

/// What becomes of the request that a test has chosen. It is carried out in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer is kept back until the gate opens.
    Hold,
    /// The server is gone, with this answer and all connections, until the gate opens.
    Break,
}

/// An API server that can be stopped, over plain HTTP and with every right.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    client: Client,
    rule: Mutex<Option<Rule>>,
    /// Whether the server is there.
    open: watch::Sender<bool>,
    /// Counts the times the gate was opened, which lets held answers go.
    opened: watch::Sender<usize>,
    struck: watch::Sender<bool>,
}

/// The client has nothing to show.
struct Client(kube::Client);

/// Says of a method and a path with query whether the request is meant.
type Choice = dyn Fn(&str, &str) -> bool + Send;

struct Rule {
    is_meant: Box<Choice>,
    fault: Fault,
}

impl Gate {
    /// An open gate to the server of `client`.
    ///
    /// # Panics
    ///
    /// If this machine has no port to listen on.
    pub async fn open(client: kube::Client) -> Self {
        let listener = listen("127.0.0.1:0".parse().expect("an address")).await;
        let address = listener.local_addr().expect("it listens");
        let shared = Arc::new(Shared {
            client: Client(client),
            rule: Mutex::default(),
            open: watch::Sender::new(true),
            opened: watch::Sender::new(0),
            struck: watch::Sender::new(false),
        });
        tokio::spawn(Arc::clone(&shared).serve(listener, address));
        Self { address, shared }
    }

    /// Where the server is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Chooses the next request for which `is_meant` says so, of its method and its path with query.
    pub fn strike(&self, fault: Fault, is_meant: impl Fn(&str, &str) -> bool + Send + 'static) {
        self.shared.struck.send_replace(false);
        *self.shared.rule() = Some(Rule { is_meant: Box::new(is_meant), fault });
    }

    /// Waits until the chosen request has come and was carried out.
    ///
    /// # Panics
    ///
    /// If it does not come.
    pub async fn struck(&self) {
        let mut struck = self.shared.struck.subscribe();
        let came = tokio::time::timeout(PATIENCE, struck.wait_for(|struck| *struck)).await;
        assert!(matches!(came, Ok(Ok(_))), "the chosen request did not come within {PATIENCE:?}");
    }

    /// Lets held answers go, and brings the server back.
    pub fn reopen(&self) {
        self.shared.open.send_replace(true);
        self.shared.opened.send_modify(|times| *times += 1);
    }
}

impl Shared {
    async fn serve(self: Arc<Self>, first: TcpListener, address: SocketAddr) {
        let mut listener = Some(first);
        let mut open = self.open.subscribe();
        loop {
            let here = match listener.take() {
                Some(listener) => listener,
                None => listen(address).await,
            };
            let mut connections = JoinSet::new();
            let accept = async {
                while let Ok((stream, _)) = here.accept().await {
                    let shared = Arc::clone(&self);
                    let service = service_fn(move |request| Arc::clone(&shared).answer(request));
                    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    connections.spawn(connection);
                }
            };
            tokio::select! {
                () = accept => return,
                closed = open.wait_for(|open| !open) => if closed.is_err() { return },
            }
            // Both go here: the port refuses, and what was open breaks off.
            drop((here, connections));
            if open.wait_for(|open| *open).await.is_err() {
                return;
            }
        }
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let fault = self.fault_for(&request);
        let mut opened = self.opened.subscribe();
        let times = *opened.borrow_and_update();
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let request = Request::from_parts(head, Body::from(body));
        let answer = self.client.0.send(request).await.map_err(io::Error::other)?;
        match fault {
            None => return Ok(answer),
            Some(Fault::Hold) => {}
            Some(Fault::Break) => _ = self.open.send_replace(false),
        }
        self.struck.send_replace(true);
        opened.wait_for(|now| *now > times).await.map_err(io::Error::other)?;
        Ok(answer)
    }

    /// What is to become of a request; a rule is for one alone.
    fn fault_for(&self, request: &Request<Incoming>) -> Option<Fault> {
        let uri = request.uri().path_and_query().map_or("", |uri| uri.as_str());
        let mut rule = self.rule();
        let is_meant = rule.as_ref().is_some_and(|rule| (rule.is_meant)(request.method().as_str(), uri));
        rule.take_if(|_| is_meant).map(|rule| rule.fault)
    }

    fn rule(&self) -> std::sync::MutexGuard<'_, Option<Rule>> {
        self.rule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn listen(address: SocketAddr) -> TcpListener {
    TcpListener::bind(address).await.unwrap_or_else(|error| panic!("listening on {address}: {error}"))
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rule({:?})", self.fault)
    }
}
