//! The client: one signed attempt per call, within a deadline and the rate limit of its region.
//!
//! There is no retry here: the caller decides when to retry, with the whole response.

use std::iter::once;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http_body_util::Full;
use jiff::Timestamp;
use operations::{Identity, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::Instant;

use crate::auth::{AuthError, Context, Credentials, Environment};
use crate::connections::{Connections, USER_AGENT_NAME};
use crate::endpoint::{Endpoints, Target};
use crate::error::{Error, ErrorKind};
use crate::listings::Listings;
use crate::rate_limit::RateLimiter;
use crate::region::{Region, RegionError};
use crate::response::{Content, Received};
use crate::sign::Signer;

/// Everything that is not unreserved (RFC 3986), so that a value cannot change the path or query.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How calls are made, whatever the credentials.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a call may take in total.
    pub deadline: Duration,
    /// Overrides of the region's addresses.
    pub endpoints: Endpoints,
    pub limiter: RateLimiter,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            endpoints: Endpoints::default(),
            limiter: RateLimiter::new(20.0),
        }
    }
}

/// Calls Oracle Cloud with some credentials in a region. Clones are cheap and share everything.
#[derive(Clone, Debug)]
pub struct Client {
    credentials: Credentials,
    region: ClientRegion,
    connections: Connections,
    settings: Settings,
    pub(crate) listings: Arc<Listings>,
    /// Nothing is sent as another one.
    pub(crate) expected: Option<Identity>,
    /// Whether requests have their turn before those of others.
    goes_first: bool,
}

#[derive(Clone, Debug)]
enum ClientRegion {
    Known(Region),
    /// The region of the instance, looked up when it is needed; with the value of `OCI_REGION_METADATA`.
    OfInstance(Option<String>),
}

impl Client {
    /// A client for the region of the credentials, else `OCI_REGION`, else the instance's. `OCI_REGION_METADATA` may
    /// describe it.
    pub fn new(
        credentials: Credentials,
        connections: Connections,
        settings: Settings,
        environment: Environment<'_>,
    ) -> Result<Self, ClientError> {
        let named = credentials.region(Timestamp::now())?;
        let named = named.or_else(|| environment("OCI_REGION").filter(|name| !name.is_empty()));
        let described = environment("OCI_REGION_METADATA");
        let region = match named {
            Some(name) => ClientRegion::Known(Region::resolve(&name, described.as_deref())?),
            None if credentials.can_find_region() => ClientRegion::OfInstance(described),
            None => return Err(ClientError::NoRegion),
        };
        let listings = Arc::default();
        Ok(Self { credentials, region, connections, settings, listings, expected: None, goes_first: false })
    }

    pub const fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Where calls go now, and for which tenancy they are signed.
    pub async fn identity(&self) -> Result<Identity, Error> {
        let identify = async {
            let region = self.region().await?;
            let signer = self.signer(&region).await?;
            Ok(identity(&region, &signer))
        };
        identify.await.map_err(|error: AuthError| Error { operation: "identify", kind: error.into() })
    }

    /// The same client, for this identity only: a key or configuration file that is replaced in the middle of a series of
    /// calls must not let the rest of them speak for another tenancy.
    #[must_use]
    pub fn only_as(self, identity: &Identity) -> Self {
        Self { expected: Some(Identity { secret: None, ..identity.clone() }), ..self }
    }

    /// The same client, whose requests have their turn before those of others, or not.
    #[must_use]
    pub fn going_first(self, goes_first: bool) -> Self {
        Self { goes_first, ..self }
    }

    async fn signer(&self, region: &Region) -> Result<Arc<Signer>, AuthError> {
        let context = Context { connections: &self.connections, endpoints: &self.settings.endpoints, region };
        self.credentials.signer(Timestamp::now(), &context).await
    }

    async fn region(&self) -> Result<Region, AuthError> {
        let described = match &self.region {
            ClientRegion::Known(region) => return Ok(region.clone()),
            ClientRegion::OfInstance(described) => described,
        };
        let name = self.credentials.find_region(&self.connections).await?;
        Ok(Region::resolve(&name, described.as_deref())?)
    }

    /// Makes one attempt.
    pub(crate) async fn send(&self, request: Request) -> Result<Response<Content>, Error> {
        let operation = request.operation;
        let started = Instant::now();
        let result = match tokio::time::timeout(self.settings.deadline, self.attempt(request)).await {
            Ok(Ok((received, now))) => received.into_result(operation, now),
            Ok(Err(kind)) => Err(Error { operation, kind }),
            Err(_) => Err(Error { operation, kind: ErrorKind::Timeout(self.settings.deadline) }),
        };
        let milliseconds = started.elapsed().as_millis();
        match &result {
            Ok(response) => {
                let (status, request_id) = (response.status, response.request_id.as_deref());
                tracing::debug!(operation, status, request_id, milliseconds, "called Oracle Cloud");
            }
            Err(error) => {
                tracing::debug!(operation, %error, milliseconds, "a call to Oracle Cloud failed");
                if error.code() == "NotAuthenticated" {
                    self.credentials.on_unauthenticated(Timestamp::now());
                }
            }
        }
        result
    }

    /// The response and the time of its arrival; or what prevented one.
    async fn attempt(&self, request: Request) -> Result<(Received, Timestamp), ErrorKind> {
        let region = self.region().await?;
        let Settings { deadline, limiter, .. } = &self.settings;
        let signer = self.signer(&region).await?;
        if self.expected.as_ref().is_some_and(|expected| *expected != identity(&region, &signer)) {
            return Err(ErrorKind::IdentityChanged);
        }
        if !limiter.turn(region.name(), self.goes_first, *deadline).await {
            return Err(ErrorKind::Throttled { region: region.name().to_owned(), deadline: *deadline });
        }
        // The date is set only now, because a server may refuse an older one.
        let now = Timestamp::now();
        if let Some(not_after) = request.not_after.filter(|not_after| *not_after < now) {
            return Err(ErrorKind::TooLate { not_after });
        }
        let message = self.message(request, &region, &signer, now);
        Ok((self.connections.send(message).await?, Timestamp::now()))
    }

    fn message(
        &self,
        request: Request,
        region: &Region,
        signer: &Signer,
        now: Timestamp,
    ) -> http::Request<Full<Bytes>> {
        let Request { to, method, target, body, mut headers, .. } = request;
        let uri = self.settings.endpoints.uri(to, region, &target);
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_NAME));
        let mut message = http::Request::new(Full::new(body.clone()));
        *message.method_mut() = method;
        *message.uri_mut() = uri;
        *message.headers_mut() = headers;
        signer.sign(&mut message, &body, now);
        message
    }
}

fn identity(region: &Region, signer: &Signer) -> Identity {
    Identity { region: region.name().to_owned(), tenancy: Credentials::tenancy(signer), secret: None }
}

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no usable credentials for Oracle Cloud")]
    Credentials(#[from] AuthError),
    #[error("no usable region of Oracle Cloud")]
    Region(#[from] RegionError),
    #[error("no region is configured: name one in the credentials or set OCI_REGION")]
    NoRegion,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    operation: &'static str,
    to: Target,
    method: Method,
    /// The path below the version and the query, encoded.
    target: String,
    body: Option<Value>,
    headers: HeaderMap,
    not_after: Option<Timestamp>,
}

impl Request {
    /// A request to the path of these segments.
    pub(crate) fn new(operation: &'static str, to: Target, method: Method, path: &[&str]) -> Self {
        let encode = |segment| once("/").chain(utf8_percent_encode(segment, RESERVED));
        let target = path.iter().copied().flat_map(encode).collect();
        Self { operation, to, method, target, body: None, headers: HeaderMap::new(), not_after: None }
    }

    pub(crate) fn query(mut self, name: &str, value: &str) -> Self {
        let separator = if self.target.contains('?') { "&" } else { "?" };
        self.target.extend([separator, name, "="].into_iter().chain(utf8_percent_encode(value, RESERVED)));
        self
    }

    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Sets a header if there is a value. An unprintable value is left out; etags and retry tokens are printable.
    pub(crate) fn header(mut self, name: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    pub(crate) fn not_after(mut self, time: Option<Timestamp>) -> Self {
        self.not_after = time;
        self
    }

    /// What makes two reads the same.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.operation, self.target)
    }

    pub(crate) fn operation(&self) -> &'static str {
        self.operation
    }

    /// The same request for another page.
    pub(crate) fn page(&self, page: Option<&str>) -> Self {
        match page {
            Some(page) => self.clone().query("page", page),
            None => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
