//! The client side: calls functions by name, each with its own connections, deadline and limit of concurrent calls.

mod channel;
mod codec;
mod connect;
mod memory;
mod status;
mod subchannels;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use composition::function::Location;
use composition::protocol::{FunctionResult, Requirements, RunRequest, RunResponse, Severity, Target};
use composition::{FunctionRunner, RunError, RunErrorClass, RunFuture, builtin};
use rustls::ClientConfig;
use tokio::time::Instant;

use crate::endpoint::Endpoint;
use crate::requirements::{Caller, Resolver, resolve, run_with_requirements, size};
use crate::tls::{self, Certificates, CertificatesError, Reloading};
use crate::wire;
use channel::Channel;
use memory::Memory;
pub use memory::Reservation;

#[derive(Clone, Debug)]
pub struct Options {
    /// The engine's certificates; of several, each function gets the one it asks for. Without them, only functions on this
    /// machine are called.
    pub certificates: Vec<Certificates>,
    /// Where to connect instead of the addresses of a name, by `host:port`: for an engine that cannot use the cluster's DNS.
    pub addresses: BTreeMap<String, SocketAddr>,
    /// How long one call may take, including the wait for a connection. The time before it has its turn does not count.
    pub timeout: Duration,
    /// The limit of concurrent calls per function.
    pub concurrency: usize,
    /// How many more calls may wait for their turn, per function.
    pub max_waiting: usize,
    /// How long a call may wait for its turn.
    pub max_wait: Duration,
    /// The largest request or response, in bytes.
    pub max_message: usize,
    /// How much memory responses may take together, in bytes; those of one function may take half of it.
    pub max_memory: usize,
    /// How long connections may fail before calls stop waiting and report the function as down.
    pub down_after: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            certificates: Vec::new(),
            addresses: BTreeMap::new(),
            timeout: Duration::from_secs(20),
            concurrency: 32,
            max_waiting: 1000,
            max_wait: Duration::from_secs(60),
            max_message: 8 << 20,
            max_memory: 128 << 20,
            down_after: Duration::from_secs(1),
        }
    }
}

/// Calls functions by name.
///
/// The first call of a function opens connections to every address of its endpoint, and they stay open; calls go round
/// robin over them. Each function has its own limit of calls, so that a slow or dead one does not starve the others.
pub struct Functions {
    options: Options,
    tls: RwLock<Option<Arc<Reloading<ClientConfig>>>>,
    locate: Box<Locate>,
    memory: Memory,
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
    /// Called instead of endpoints.
    in_process: Option<Arc<dyn FunctionRunner>>,
}

/// Finds the function of a name, at each call.
type Locate = dyn Fn(&str) -> Result<Location, RunError> + Send + Sync;

impl Functions {
    /// Calls the functions that `locate` finds. Unusable certificates are an error now; if they become unusable later,
    /// the last usable ones stay in use.
    pub fn new(
        options: Options,
        locate: impl Fn(&str) -> Result<Location, RunError> + Send + Sync + 'static,
    ) -> Result<Self, CertificatesError> {
        let tls = configure(options.certificates.clone())?;
        let memory = Memory::new(options.max_memory);
        let (tls, locate) = (RwLock::new(tls), Box::new(locate));
        Ok(Self { options, tls, locate, memory, channels: Mutex::default(), in_process: None })
    }

    /// Has `runner` make each single call, without an endpoint: for tests whose time is virtual, in which nothing can
    /// wait for a socket.
    #[must_use]
    pub fn in_process(self, runner: Arc<dyn FunctionRunner>) -> Self {
        Self { in_process: Some(runner), ..self }
    }

    /// Uses `certificates` from now on. Connections without them are closed once the calls on them have ended.
    pub fn set_certificates(&self, certificates: Vec<Certificates>) -> Result<(), CertificatesError> {
        let tls = configure(certificates)?;
        *self.tls.write().unwrap_or_else(PoisonError::into_inner) = tls;
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// The same certificates, limits and memory, for functions that `locate` finds elsewhere.
    #[must_use]
    pub fn located(
        &self,
        locate: impl Fn(&str) -> Result<Location, RunError> + Send + Sync + 'static,
    ) -> Self {
        let tls = self.tls.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            options: self.options.clone(),
            tls: RwLock::new(tls),
            locate: Box::new(locate),
            memory: self.memory.clone(),
            channels: Mutex::default(),
            in_process: self.in_process.clone(),
        }
    }

    /// A runner that answers what functions require with `resolver`.
    pub fn runner<'a>(&'a self, resolver: &'a dyn Resolver) -> Runner<'a> {
        Runner {
            functions: self,
            resolver,
            watcher: None,
            goes_first: false,
            reservation: Reservation::default(),
            called: Mutex::default(),
        }
    }

    /// Waits until `function` is connected. Returns at once if it is, or if it is built in.
    ///
    /// Callers that saw the function down use this to continue the moment it is back.
    pub async fn reachable(&self, function: &str) -> Result<(), RunError> {
        if self.in_process.is_some() {
            return Ok(());
        }
        match (self.locate)(function)? {
            Location::BuiltIn => Ok(()),
            Location::Endpoint(endpoint) => self.channel(function, &endpoint)?.connected().await,
        }
    }

    /// How many calls of `function` wait for their turn.
    pub fn waiting(&self, function: &str) -> usize {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.get(function).map_or(0, |channel| channel.waiting())
    }

    /// The channel of a function; a new one if its endpoint has changed. Idle channels are closed on the way.
    fn channel(&self, function: &str, endpoint: &str) -> Result<Arc<Channel>, RunError> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(function)
            && channel.target() == endpoint
            && channel.is_alive()
        {
            return Ok(Arc::clone(channel));
        }
        channels.retain(|_, channel| !channel.is_idle());
        let parsed: Endpoint = endpoint.parse().map_err(|error: crate::InvalidEndpoint| {
            RunError::new(RunErrorClass::FunctionNotFound, error.to_string())
        })?;
        let tls = self.tls.read().unwrap_or_else(PoisonError::into_inner).clone();
        let channel = Arc::new(Channel::new(endpoint, parsed, tls, &self.options, &self.memory));
        channels.insert(function.to_owned(), Arc::clone(&channel));
        Ok(channel)
    }
}

fn configure(
    certificates: Vec<Certificates>,
) -> Result<Option<Arc<Reloading<ClientConfig>>>, CertificatesError> {
    if certificates.is_empty() {
        return Ok(None);
    }
    tls::client(certificates).map(|tls| Some(Arc::new(tls)))
}

/// Gives a response to this very request the caller's own tag, the only one the caller knows, and adds a warning for
/// numbers that the protocol rounded.
fn finish(mut response: RunResponse, request: &RunRequest, tag: &str) -> RunResponse {
    if response.meta.tag == tag {
        response.meta.tag.clone_from(&request.meta.tag);
    }
    let inexact = wire::inexact(request);
    if !inexact.is_empty() {
        let shown = inexact.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = match inexact.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "the protocol carries integers only up to 2^53 exactly, so the function received rounded numbers: \
             {shown}{more}. Use strings where the function needs exact values."
        );
        let result = FunctionResult {
            severity: Severity::Warning,
            message,
            reason: Some("InexactNumber".to_owned()),
            target: Target::Composite,
        };
        response.results.insert(0, result);
    }
    response
}

/// Sees every single call of a function, with what it was given and what it returned.
pub trait CallWatcher: Send + Sync {
    fn called(&self, request: &RunRequest, response: Result<&RunResponse, &RunError>, took: Duration);
}

/// Runs functions and gives them the resources and schemas they require.
pub struct Runner<'a> {
    functions: &'a Functions,
    resolver: &'a dyn Resolver,
    watcher: Option<&'a dyn CallWatcher>,
    goes_first: bool,
    reservation: Reservation,
    /// How long calls have taken since this was last asked.
    called: Mutex<Duration>,
}

impl<'a> Runner<'a> {
    /// Whether its calls have their turn before those of others that wait.
    #[must_use]
    pub fn going_first(self, goes_first: bool) -> Self {
        Self { goes_first, ..self }
    }

    /// The same with a watcher of its calls.
    #[must_use]
    pub fn watched_by(self, watcher: Option<&'a dyn CallWatcher>) -> Self {
        Self { watcher, ..self }
    }

    /// Runs `function`, which is `given` these from the first call on.
    pub async fn run_given(
        &self,
        function: &str,
        request: &RunRequest,
        given: &Requirements,
    ) -> Result<RunResponse, RunError> {
        run_with_requirements(request, given, &FunctionCaller { runner: self, function }).await
    }

    /// How long the calls of the last run took, without the time that they waited for their turn.
    pub fn take_called(&self) -> Duration {
        std::mem::take(&mut *self.called.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The memory that the last response takes: to be held as long as the response is.
    pub fn into_reservation(self) -> Reservation {
        self.reservation
    }

    /// Calls `function` once, with the request's tag replaced by the hash of its content. What the response requires is the
    /// caller's concern.
    async fn call(
        &self,
        function: &str,
        request: &RunRequest,
        given: &Requirements,
    ) -> Result<RunResponse, RunError> {
        if let Some(runner) = &self.functions.in_process {
            let request = resolve(request, given, self.resolver).await?;
            return self.watched(&request, runner.run(function, &request)).await;
        }
        match (self.functions.locate)(function)? {
            Location::BuiltIn => {
                let request = resolve(request, given, self.resolver).await?;
                let call = async {
                    builtin::run(function, &request).ok_or_else(|| {
                        let message = format!("there is no built-in function {function:?}");
                        RunError::new(RunErrorClass::FunctionNotFound, message)
                    })
                };
                self.watched(&request, call).await
            }
            Location::Endpoint(endpoint) => {
                let channel = self.functions.channel(function, &endpoint)?;
                let bytes = memory::of_request(request) + size(given, self.resolver).await?;
                let turn = channel.turn(self.goes_first).await?;
                channel.reserve(bytes, &self.reservation).await?;
                // Copied and encoded only now: calls that wait hold no copy of what may be large.
                let request = resolve(request, given, self.resolver).await?;
                let encoded = wire::encode(&request);
                let call = channel.call(turn, encoded.bytes, &self.reservation);
                let call = async { Ok(finish(call.await?, &request, &encoded.tag)) };
                self.watched(&request, call).await
            }
        }
    }

    /// The outcome of a call, which is timed and shown to the watcher.
    async fn watched(
        &self,
        request: &RunRequest,
        call: impl Future<Output = Result<RunResponse, RunError>>,
    ) -> Result<RunResponse, RunError> {
        let began = Instant::now();
        let outcome = call.await;
        let took = began.elapsed();
        *self.called.lock().unwrap_or_else(PoisonError::into_inner) += took;
        if let Some(watcher) = self.watcher {
            watcher.called(request, outcome.as_ref(), took);
        }
        outcome
    }
}

/// Calls one function.
struct FunctionCaller<'a> {
    runner: &'a Runner<'a>,
    function: &'a str,
}

impl Caller for FunctionCaller<'_> {
    fn call<'a>(&'a self, request: &'a RunRequest, given: &'a Requirements) -> RunFuture<'a> {
        Box::pin(self.runner.call(self.function, request, given))
    }
}

impl FunctionRunner for Runner<'_> {
    fn run<'a>(&'a self, function: &'a str, request: &'a RunRequest) -> RunFuture<'a> {
        const NOTHING: &Requirements = &Requirements::NONE;
        Box::pin(self.run_given(function, request, NOTHING))
    }
}
