//! What all resources of one provider share: its configuration, and the clusters it talks to.

use std::sync::{Arc, PoisonError, RwLock};

use cluster::{ConnectError, Environment};
use diag::Diagnostic;
use ownership::Verbosity;
use tfplugin::value::Value;

use crate::clusters::{Cluster, Clusters};
use crate::codes;
use crate::connection::{self, Configured};
use crate::ids::Ids;
use crate::report::titled;

/// Shared by the provider and its resources.
pub(crate) struct Context {
    clusters: Clusters,
    settings: RwLock<Settings>,
    ids: Ids,
}

/// The `provider` block.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// The cluster of resources that name none.
    pub(crate) cluster: Configured,
    /// How much is said about ownership.
    pub(crate) verbosity: Verbosity,
}

/// Where a resource's cluster is.
pub(crate) enum Reach {
    /// There; nothing has been sent yet.
    Ready(Arc<Cluster>),
    /// Not known before the apply.
    NotYet,
    /// Nobody says.
    Nowhere,
}

impl Context {
    pub(crate) fn new(environment: Environment) -> Self {
        Self { clusters: Clusters::new(environment), settings: RwLock::default(), ids: Ids::default() }
    }

    pub(crate) fn configure(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        self.settings().verbosity
    }

    /// The ids of the objects that this state has.
    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The environment in which imports look for a kubeconfig.
    pub(crate) fn environment(&self) -> &Environment {
        self.clusters.environment()
    }

    /// The cluster of a resource whose `cluster` attribute is `own`; without one, the provider's.
    pub(crate) fn reach(&self, own: &Value) -> Result<Reach, ConnectError> {
        let configured = if own.is_null() { self.settings().cluster } else { connection::read(own) };
        match configured {
            Configured::Absent => Ok(Reach::Nowhere),
            Configured::Unknown => Ok(Reach::NotYet),
            Configured::Known(connection) => self.clusters.get(&connection).map(Reach::Ready),
        }
    }

    /// The cluster of something that is to be done now; `title` is that of the error about a connection that is none.
    pub(crate) fn ready(&self, own: &Value, title: &str) -> Result<Arc<Cluster>, Box<Diagnostic>> {
        match self.reach(own) {
            Ok(Reach::Ready(cluster)) => Ok(cluster),
            Ok(Reach::NotYet | Reach::Nowhere) => Err(Box::new(nowhere())),
            Err(error) => Err(Box::new(unprepared(&error, title))),
        }
    }

    /// The cluster of a connection that neither a resource nor the provider names.
    pub(crate) fn connect(&self, connection: &cluster::Connection) -> Result<Arc<Cluster>, ConnectError> {
        self.clusters.get(connection)
    }

    fn settings(&self) -> Settings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The error when no client can be made from a connection, under the title that users know for it.
pub(crate) fn unprepared(error: &ConnectError, title: &str) -> Diagnostic {
    Diagnostic { code: codes::UNPREPARED, ..titled(error.diagnostic(), title) }
}

/// The error when neither the resource nor the provider names a cluster.
pub(crate) fn nowhere() -> Diagnostic {
    Diagnostic::error(codes::CONNECTION_ABSENT, "Missing Cluster Connection Configuration")
        .detail("no connection mode specified: neither this resource nor the provider has a `cluster`.")
        .field("cluster")
        .hint(
            "Set `cluster` here, or once for all resources in the provider block; there, `cluster = {}` uses KUBECONFIG.",
        )
}
