//! The side that calls: functions by name, each with its own connections, deadline and share of calls.

mod channel;
mod codec;
mod failure;
mod link;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use composition::function::Location;
use composition::run::{FunctionResult, RunRequest, RunResponse, Severity, Target};
use composition::{FunctionRunner, RunError, RunErrorClass, RunFuture, builtin};
use rustls::ClientConfig;

use crate::conversation::{Resolver, converse};
use crate::endpoint::Endpoint;
use crate::tls::{self, Certificates, CertificatesError, Reloading};
use crate::wire;
use channel::Channel;

/// How functions are called.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engine's certificates. Without any, only functions on this machine are called.
    pub certificates: Option<Certificates>,
    /// How long one call may take, waiting for its turn and for a connection included.
    pub timeout: Duration,
    /// How many calls of one function may be under way at a time.
    pub concurrency: usize,
    /// How large a request or an answer may be, in bytes.
    pub max_message: usize,
    /// For how long connections may fail before calls stop waiting for the function to come.
    pub down_after: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            certificates: None,
            timeout: Duration::from_secs(20),
            concurrency: 32,
            max_message: 64 << 20,
            down_after: Duration::from_secs(1),
        }
    }
}

/// Functions by name, wherever they are.
///
/// Connections are made when a function is first called, to every address of its endpoint, and are kept; calls take turns
/// over them. Each function has its own limit of calls, so that a slow or dead one takes nothing from the others.
pub struct Functions {
    options: Options,
    tls: RwLock<Option<Arc<Reloading<ClientConfig>>>>,
    locate: Box<Locate>,
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
}

/// Says where a function of this name is, at each call.
type Locate = dyn Fn(&str) -> Result<Location, RunError> + Send + Sync;

impl Functions {
    /// Functions that `locate` finds. Certificates that cannot be used at all are an error now; later ones that cannot be
    /// used leave the former ones in use.
    pub fn new(
        options: Options,
        locate: impl Fn(&str) -> Result<Location, RunError> + Send + Sync + 'static,
    ) -> Result<Self, CertificatesError> {
        let tls = options.certificates.clone().map(tls::client).transpose()?.map(Arc::new);
        Ok(Self { options, tls: RwLock::new(tls), locate: Box::new(locate), channels: Mutex::default() })
    }

    /// Connects with `certificates` from now on. Connections without them, or with others, are given up; calls under way
    /// end as they would have.
    pub fn secure(&self, certificates: Certificates) -> Result<(), CertificatesError> {
        let tls = Arc::new(tls::client(certificates)?);
        *self.tls.write().unwrap_or_else(PoisonError::into_inner) = Some(tls);
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// A runner whose functions are given what they ask for by `resolver`.
    pub fn runner<'a>(&'a self, resolver: &'a dyn Resolver) -> Runner<'a> {
        Runner { functions: self, resolver }
    }

    /// Waits until `function` can be reached: at once if it can be, or if it needs no connection.
    ///
    /// For whoever was told that it is down and wants to go on the moment it is back.
    pub async fn reachable(&self, function: &str) -> Result<(), RunError> {
        match (self.locate)(function)? {
            Location::BuiltIn => Ok(()),
            Location::Endpoint(endpoint) => self.channel(function, &endpoint)?.connected().await,
        }
    }

    /// Calls `function` once, with the request's own tag replaced by the right one. What the answer requires is up to the
    /// caller.
    pub async fn call(&self, function: &str, request: &RunRequest) -> Result<RunResponse, RunError> {
        match (self.locate)(function)? {
            Location::BuiltIn => builtin::run(function, request).ok_or_else(|| {
                let message = format!("no function {function:?} is built in");
                RunError::new(RunErrorClass::FunctionNotFound, message)
            }),
            Location::Endpoint(endpoint) => {
                let encoded = wire::encode(request);
                let answer = self.channel(function, &endpoint)?.call(encoded.bytes).await?;
                Ok(settle(answer, request, &encoded.tag))
            }
        }
    }

    /// The connections to a function, made anew when it has moved. Those of functions that nobody calls any more are
    /// closed.
    fn channel(&self, function: &str, endpoint: &str) -> Result<Arc<Channel>, RunError> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(function)
            && channel.written() == endpoint
            && channel.is_kept()
        {
            return Ok(Arc::clone(channel));
        }
        channels.retain(|_, channel| !channel.is_idle());
        let parsed: Endpoint = endpoint.parse().map_err(|error: crate::BadEndpoint| {
            RunError::new(RunErrorClass::FunctionNotFound, error.to_string())
        })?;
        let tls = self.tls.read().unwrap_or_else(PoisonError::into_inner).clone();
        let channel = Arc::new(Channel::new(endpoint, parsed, tls, &self.options));
        channels.insert(function.to_owned(), Arc::clone(&channel));
        Ok(channel)
    }
}

/// What the caller gets to see of an answer.
///
/// An answer to this very request carries the caller's own tag, whatever was asked for in between: the caller knows no
/// other. A number that was changed on its way is told to the operator of the composition.
fn settle(mut answer: RunResponse, request: &RunRequest, tag: &str) -> RunResponse {
    if answer.meta.tag == tag {
        answer.meta.tag.clone_from(&request.meta.tag);
    }
    let inexact = wire::inexact(request);
    if !inexact.is_empty() {
        let shown = inexact.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = match inexact.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "the function was given other numbers than there are, because integers above 2^53 do not survive the \
             protocol: {shown}{more}. Make them strings if the function is to read them."
        );
        let result = FunctionResult {
            severity: Severity::Warning,
            message,
            reason: Some("InexactNumber".to_owned()),
            target: Target::Composite,
        };
        answer.results.insert(0, result);
    }
    answer
}

/// Runs functions and gives them what they ask for.
pub struct Runner<'a> {
    functions: &'a Functions,
    resolver: &'a dyn Resolver,
}

impl FunctionRunner for Runner<'_> {
    fn run<'a>(&'a self, function: &'a str, request: &'a RunRequest) -> RunFuture<'a> {
        Box::pin(async { converse(function, request, self.resolver, &Once(self.functions)).await })
    }
}

/// Calls once, whatever the answer asks for.
struct Once<'a>(&'a Functions);

impl FunctionRunner for Once<'_> {
    fn run<'a>(&'a self, function: &'a str, request: &'a RunRequest) -> RunFuture<'a> {
        Box::pin(self.0.call(function, request))
    }
}
