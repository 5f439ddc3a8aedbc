//! A proxy before the API server that fails at a chosen moment: after a request was carried out, before its response.
//! That rarely happens by itself, and does the most damage when it does.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Body, Forwarder, ProxyError, Upstream, serve};

/// How long a test waits for the matching request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What happens to the matching request once it was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its response is withheld until the proxy recovers.
    Hold,
    /// All connections break and the server is down until the proxy recovers.
    Disconnect,
}

/// An API server over plain HTTP, with the client's permissions, that can fail.
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    forwarder: Forwarder,
    rule: Mutex<Option<Rule>>,
    is_up: watch::Sender<bool>,
    /// Each recovery releases the responses that were held before it.
    recoveries: watch::Sender<usize>,
    triggered: watch::Sender<bool>,
}

/// Gets the method, and the path with its query.
type Matcher = dyn Fn(&str, &str) -> bool + Send;

struct Rule {
    matches: Box<Matcher>,
    fault: Fault,
}

impl FaultProxy {
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start(client: kube::Client) -> Self {
        let listener = listen("127.0.0.1:0".parse().expect("an address")).await;
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            forwarder: Forwarder::new(Upstream::Kubernetes(client)),
            rule: Mutex::default(),
            is_up: watch::Sender::new(true),
            recoveries: watch::Sender::new(0),
            triggered: watch::Sender::new(false),
        });
        tokio::spawn(Arc::clone(&shared).run(listener, address));
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Injects `fault` into the next request whose method and path with query match.
    pub fn inject(&self, fault: Fault, matches: impl Fn(&str, &str) -> bool + Send + 'static) {
        self.shared.triggered.send_replace(false);
        *self.shared.rule() = Some(Rule { matches: Box::new(matches), fault });
    }

    /// Waits until the matching request was carried out.
    ///
    /// # Panics
    ///
    /// If no such request arrives.
    pub async fn triggered(&self) {
        let mut triggered = self.shared.triggered.subscribe();
        let arrived = tokio::time::timeout(TIMEOUT, triggered.wait_for(|triggered| *triggered)).await;
        assert!(matches!(arrived, Ok(Ok(_))), "no matching request within {TIMEOUT:?}");
    }

    /// Releases held responses and brings the server back.
    pub fn recover(&self) {
        self.shared.is_up.send_replace(true);
        self.shared.recoveries.send_modify(|count| *count += 1);
    }
}

impl Shared {
    async fn run(self: Arc<Self>, mut listener: TcpListener, address: SocketAddr) {
        let mut is_up = self.is_up.subscribe();
        let service = service_fn(move |request| {
            let shared = Arc::clone(&self);
            async move { shared.respond(request).await }
        });
        loop {
            tokio::select! {
                () = serve(&listener, service.clone()) => return,
                down = is_up.wait_for(|up| !up) => if down.is_err() { return },
            }
            // The port refuses connections while the server is down.
            drop(listener);
            if is_up.wait_for(|up| *up).await.is_err() {
                return;
            }
            listener = listen(address).await;
        }
    }

    async fn respond(&self, request: Request<Incoming>) -> Result<Response<Body>, ProxyError> {
        let fault = self.fault_for(&request);
        let mut recoveries = self.recoveries.subscribe();
        let before = *recoveries.borrow_and_update();
        let response = self.forwarder.forward(request).await?;
        match fault {
            None => return Ok(response),
            Some(Fault::Hold) => {}
            Some(Fault::Disconnect) => _ = self.is_up.send_replace(false),
        }
        self.triggered.send_replace(true);
        recoveries.wait_for(|count| *count > before).await.map_err(ProxyError::new)?;
        Ok(response)
    }

    /// A rule applies to one request only.
    fn fault_for(&self, request: &Request<Incoming>) -> Option<Fault> {
        let uri = request.uri().path_and_query().map_or("", |uri| uri.as_str());
        let mut rule = self.rule();
        rule.take_if(|rule| (rule.matches)(request.method().as_str(), uri)).map(|rule| rule.fault)
    }

    fn rule(&self) -> MutexGuard<'_, Option<Rule>> {
        self.rule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn listen(address: SocketAddr) -> TcpListener {
    TcpListener::bind(address).await.unwrap_or_else(|error| panic!("listening on {address}: {error}"))
}
