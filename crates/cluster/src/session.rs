//! One cluster: a client and the catalog of the cluster's kinds.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::connect::{self, ConnectError, Environment};
use crate::dependency::WebhookOutages;
use crate::discovery::{Catalog, Discovery, MissingKind, Resource};
use crate::error::{Error, ErrorKind, Subject, Verb};
use crate::request::{Call, Reply, send};
use crate::{Connection, Retry};
use http::{HeaderName, HeaderValue};
use manifest::{GroupVersionKind, JsonError, ObjectRef};

/// A connection to a cluster. Clones are cheap and share connections and discovery.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    client: kube::Client,
    discovery: Arc<Discovery>,
    outages: Arc<WebhookOutages>,
    /// The URL of the server, for messages.
    server: Option<Arc<str>>,
    /// What the client was made from.
    origin: Option<Origin>,
}

struct Origin {
    connection: Connection,
    environment: Environment,
    user_agent: String,
}

/// The API server adds the groups of a service account by itself; naming them would need the right to take on any group.
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");
/// How long to wait for a path that discovery lists but the server does not serve yet.
const JUST_LISTED: Duration = Duration::from_millis(100);

impl Session {
    /// A session on an existing client, for tests or unusual transports.
    ///
    /// kube's own retries must be disabled in it, or failures stay hidden for minutes.
    pub fn new(client: kube::Client) -> Self {
        Self::with(client, None, None)
    }

    /// A session for `connection`. Nothing is sent yet.
    ///
    /// Must be called inside a tokio runtime, on which the session then depends.
    pub fn connect(
        connection: &Connection,
        environment: &Environment,
        user_agent: &str,
    ) -> Result<Self, ConnectError> {
        let (client, server) = connect::client(connection, environment, user_agent)?;
        let (connection, environment) = (connection.clone(), environment.clone());
        let origin = Some(Origin { connection, environment, user_agent: user_agent.to_owned() });
        Ok(Self::with(client, Some(server), origin))
    }

    fn with(client: kube::Client, server: Option<Arc<str>>, origin: Option<Origin>) -> Self {
        let (discovery, outages) = (Arc::default(), Arc::default());
        Self(Arc::new(Inner { client, discovery, outages, server, origin }))
    }

    /// A session for the same cluster that shares no connection with this one. All connections of a pool may be dead
    /// without either side having noticed, and each would cost one timeout.
    ///
    /// The same session, if it cannot be made again.
    #[must_use]
    pub fn reconnect(&self) -> Self {
        let Some(Origin { connection, environment, user_agent }) = &self.0.origin else {
            return self.clone();
        };
        Self::connect(connection, environment, user_agent).unwrap_or_else(|error| {
            tracing::warn!(error = %diag::error_chain(&error), "cannot open new connections; using the existing ones");
            self.clone()
        })
    }

    /// The same connection with every request made as `user`, if the server lets us. Its kinds are shared.
    ///
    /// # Panics
    ///
    /// If `user` is not printable ASCII, which no user of Kubernetes is.
    #[must_use]
    pub fn acting_as(&self, user: &str) -> Self {
        let user = HeaderValue::from_str(user).expect("names of users are printable");
        let own = self.0.client.clone();
        let namespace = own.default_namespace().to_owned();
        let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
            request.headers_mut().insert(IMPERSONATE_USER, user.clone());
            let own = own.clone();
            async move { own.send(request).await }
        });
        let client = kube::Client::new(service, namespace);
        let Inner { discovery, outages, server, .. } = &*self.0;
        let (discovery, outages, server) = (Arc::clone(discovery), Arc::clone(outages), server.clone());
        Self(Arc::new(Inner { client, discovery, outages, server, origin: None }))
    }

    /// The underlying client, for controllers that use kube's runtime.
    pub fn client(&self) -> &kube::Client {
        &self.0.client
    }

    /// How `gvk` is served. An unknown kind triggers one fresh discovery before it counts as missing.
    pub async fn resource(&self, gvk: &GroupVersionKind) -> Result<Resource, Error> {
        let catalog = self.0.discovery.cached(self).await?;
        if let Some(resource) = catalog.get(gvk) {
            return Ok(resource.clone());
        }
        let fresh = self.0.discovery.fresh(self).await?;
        fresh
            .get(gvk)
            .cloned()
            .ok_or_else(|| missing(Verb::Discover, Subject::Kind(gvk.clone()), gvk, &fresh))
    }

    pub async fn resources(&self) -> Result<Vec<Resource>, Error> {
        Ok(self.0.discovery.cached(self).await?.resources().cloned().collect())
    }

    /// The groups whose aggregated API server does not respond: kinds missing from them may exist.
    pub async fn stale_groups(&self) -> Result<BTreeSet<String>, Error> {
        Ok(self.0.discovery.cached(self).await?.stale_groups().clone())
    }

    /// Drops the cached catalog because kinds have changed. A missing kind triggers a fresh discovery anyway.
    pub fn invalidate_discovery(&self) {
        self.0.discovery.invalidate();
    }

    /// The path of `object`, and how its kind is served.
    pub(crate) async fn locate(&self, verb: Verb, object: &ObjectRef) -> Result<(Resource, String), Error> {
        let resource = self.resource(&object.gvk).await.map_err(|error| match error.kind() {
            ErrorKind::KindMissing(_) => error.for_call(verb, Subject::Object(object.clone())),
            _ => error.for_call(Verb::Discover, Subject::Cluster),
        })?;
        let path = resource.path(object.namespace.as_ref(), &object.name);
        Ok((resource, path))
    }

    pub(crate) fn outages(&self) -> &WebhookOutages {
        &self.0.outages
    }

    /// The URL of the server, if it is known.
    pub fn server(&self) -> Option<&Arc<str>> {
        self.0.server.as_ref()
    }

    pub(crate) async fn send(&self, call: &Call) -> Result<Reply, Error> {
        self.send_and_parse(call, manifest::from_json).await
    }

    pub(crate) async fn send_and_parse<T, E: Into<JsonError>>(
        &self,
        call: &Call,
        parse: fn(&[u8]) -> Result<T, E>,
    ) -> Result<Reply<T>, Error> {
        send(&self.0.client, call, parse).await.map_err(|error| error.with_server(self.server()))
    }

    /// Sends a call to a path of `gvk`. After a 404 for the path, the kind may have been removed; or it may have joined
    /// its group just now, which discovery shows a moment before the server serves the path: then the call is sent once
    /// more.
    pub(crate) async fn send_to(&self, gvk: &GroupVersionKind, call: &Call) -> Result<Reply, Error> {
        let error = match self.send(call).await {
            Err(error) if error.is_unknown_path() => self.resolve_404(error, gvk).await,
            outcome => return outcome,
        };
        if !error.is_unknown_path() {
            return Err(error);
        }
        tracing::debug!(kind = %gvk, "the kind is listed but its path is not served yet; retrying once");
        tokio::time::sleep(JUST_LISTED).await;
        let mut reply = self.send(call).await?;
        reply.retries.insert(0, Retry { why: diag::error_chain(error.kind()), waited: JUST_LISTED });
        Ok(reply)
    }

    /// Resolves a 404 that only says "no such path": the kind was removed, if a fresh discovery agrees; otherwise the
    /// response did not come from the API server.
    pub(crate) async fn resolve_404(&self, error: Error, gvk: &GroupVersionKind) -> Error {
        if !error.is_unknown_path() {
            return error;
        }
        match self.0.discovery.fresh(self).await {
            Ok(fresh) if fresh.get(gvk).is_none() => {
                missing(error.verb(), error.subject().clone(), gvk, &fresh)
            }
            _ => error,
        }
    }
}

/// The error for a kind missing from `fresh`; a group whose server is down is not evidence.
fn missing(verb: Verb, subject: Subject, gvk: &GroupVersionKind, fresh: &Catalog) -> Error {
    let kind = if fresh.is_stale(gvk.group()) {
        ErrorKind::UnexpectedResponse {
            code: 503,
            excerpt: format!("the aggregated API server of group {} does not respond", gvk.group()),
        }
    } else {
        ErrorKind::KindMissing(Box::new(MissingKind::new(gvk, fresh)))
    };
    Error::new(verb, subject, kind, Vec::new())
}

/// One session per distinct connection, for the lifetime of the process.
pub struct Sessions {
    environment: Environment,
    user_agent: String,
    open: Mutex<HashMap<Connection, Session>>,
}

impl Sessions {
    /// `user_agent` identifies us in the server's audit log.
    pub fn new(environment: Environment, user_agent: impl Into<String>) -> Self {
        Self { environment, user_agent: user_agent.into(), open: Mutex::new(HashMap::new()) }
    }

    /// The session for `connection`, created if needed. Sends nothing, so it does not block other callers for long.
    pub fn get(&self, connection: &Connection) -> Result<Session, ConnectError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = open.get(connection) {
            return Ok(session.clone());
        }
        let session = Session::connect(connection, &self.environment, &self.user_agent)?;
        open.insert(connection.clone(), session.clone());
        Ok(session)
    }
}

#[cfg(test)]
mod tests;
