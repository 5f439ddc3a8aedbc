//! What all resources of one provider share: its configuration and its clusters.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use cluster::{ConnectError, Connection, Environment};
use diag::Diagnostic;
use ownership::{ConflictPolicy, Reporting, Verbosity};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{Deferral, PlanRequest};
use tfplugin::value::{Object as Attributes, Value};

use crate::client_command::ClientCommand;
use crate::clusters::{Cluster, Clusters};
use crate::codes;
use crate::conflict_policy;
use crate::connection::{self, Configured};
use crate::ids::Ids;
use crate::report::titled;

/// Shared by the provider and its resources.
pub(crate) struct Context {
    clusters: Clusters,
    settings: RwLock<Settings>,
    ids: Ids,
    command: LazyLock<ClientCommand>,
    /// The unusable connections whose problem was reported.
    reported: Mutex<HashSet<Connection>>,
}

/// The `provider` block.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// The cluster of resources without their own.
    pub(crate) cluster: Configured<Box<Connection>>,
    /// How much plans say about ownership.
    pub(crate) verbosity: Verbosity,
    /// What becomes of conflicts with other managers.
    pub(crate) policy: ConflictPolicy,
}

impl Context {
    /// `command` finds out what the client was started for.
    pub(crate) fn new(environment: Environment, command: fn() -> ClientCommand) -> Self {
        Self {
            clusters: Clusters::new(environment),
            settings: RwLock::default(),
            ids: Ids::default(),
            command: LazyLock::new(command),
            reported: Mutex::default(),
        }
    }

    pub(crate) fn configure(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// How conflicts of a resource with these attributes are reported.
    pub(crate) fn reporting(&self, attributes: &Attributes) -> Reporting<'static> {
        let Settings { verbosity, policy, .. } = self.settings();
        let policy = conflict_policy::read(attributes).unwrap_or(policy);
        Reporting { verbosity, policy, ..Reporting::default() }
    }

    /// The ids of the objects that this state has.
    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Records that this state has a resource; returns whether this process meets it for the first time.
    pub(crate) fn meets(&self, state: Option<&Attributes>) -> bool {
        state.and_then(|state| state.text("id")).is_some_and(|id| self.ids.add(id))
    }

    /// What the client was started for.
    pub(crate) fn command(&self) -> ClientCommand {
        *self.command
    }

    /// The environment in which imports look for a kubeconfig.
    pub(crate) fn environment(&self) -> &Environment {
        self.clusters.environment()
    }

    /// The cluster of a resource whose `cluster` attribute is `own`; without one, the provider's. Sends nothing.
    pub(crate) fn cluster(&self, own: &Value) -> Result<Configured<Arc<Cluster>>, ConnectError> {
        Ok(match self.connection(own) {
            Configured::Absent => Configured::Absent,
            Configured::Unknown => Configured::Unknown,
            Configured::Known(connection) => Configured::Known(self.clusters.get(&connection)?),
        })
    }

    fn connection(&self, own: &Value) -> Configured<Box<Connection>> {
        if own.is_null() { self.settings().cluster } else { connection::read(own) }
    }

    /// Whether a problem of this connection has to be reported. The first error fails the whole plan, so that the other
    /// resources with the same connection need not repeat it.
    pub(crate) fn is_unreported(&self, own: &Value) -> bool {
        let Configured::Known(connection) = self.connection(own) else { return true };
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).insert(*connection)
    }

    /// The cluster for an operation that runs now; `title` is the title of the error about an unusable connection.
    pub(crate) fn known_cluster(&self, own: &Value, title: &str) -> Result<Arc<Cluster>, Box<Diagnostic>> {
        match self.cluster(own) {
            Ok(Configured::Known(cluster)) => Ok(cluster),
            Ok(Configured::Absent) => Err(Box::new(not_configured())),
            Ok(Configured::Unknown) => Err(Box::new(not_known_yet())),
            Err(error) => Err(Box::new(unusable(&error, title))),
        }
    }

    /// The cluster for a plan; `None` if it is known only after the apply.
    pub(crate) fn planned_cluster(
        &self,
        own: &Value,
        unusable: impl FnOnce(&ConnectError) -> Diagnostic,
    ) -> Result<Option<Arc<Cluster>>, Diagnostics> {
        let error = match self.cluster(own) {
            Ok(Configured::Known(cluster)) => return Ok(Some(cluster)),
            Ok(Configured::Absent) => not_configured(),
            Err(error) if self.is_unreported(own) => unusable(&error),
            Ok(Configured::Unknown) | Err(_) => return Ok(None),
        };
        Err(Diagnostics::from(error).or_at(&Path::of("cluster")))
    }

    /// The cluster of a connection that neither a resource nor the provider configures.
    pub(crate) fn connect(&self, connection: &Connection) -> Result<Arc<Cluster>, ConnectError> {
        self.clusters.get(connection)
    }

    /// Why a plan is put off: its body or its cluster is not known, and the client can plan it later.
    pub(crate) fn deferral(
        &self,
        request: &PlanRequest,
        planned: &Attributes,
        body: &[&str],
    ) -> Option<Deferral> {
        if !request.deferral_allowed {
            return None;
        }
        let own = planned.get("cluster");
        if body.iter().any(|name| !planned.get(name).is_wholly_known()) || !own.is_wholly_known() {
            return Some(Deferral::ResourceConfigUnknown);
        }
        self.read_deferral(own, true)
    }

    /// Why a read is put off: its cluster is not known, and the client can wait for it.
    pub(crate) fn read_deferral(&self, own: &Value, allowed: bool) -> Option<Deferral> {
        let is_unknown = allowed && matches!(self.cluster(own), Ok(Configured::Unknown));
        is_unknown.then_some(Deferral::ProviderConfigUnknown)
    }

    fn settings(&self) -> Settings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The error for a connection from which no client can be built, under the title that users know.
pub(crate) fn unusable(error: &ConnectError, title: &str) -> Diagnostic {
    Diagnostic { code: codes::UNPREPARED, ..titled(error.diagnostic(), title) }
}

/// The error if neither the resource nor the provider configures a cluster.
fn not_configured() -> Diagnostic {
    Diagnostic::error(codes::CONNECTION_ABSENT, "Missing Cluster Connection Configuration")
        .detail("no connection mode specified: neither this resource nor the provider has a `cluster`.")
        .field("cluster")
        .hint(
            "Set `cluster` here, or once for all resources in the provider block; there, `cluster = {}` uses KUBECONFIG.",
        )
}

/// The error of an operation that runs before its connection is known.
pub(crate) fn not_known_yet() -> Diagnostic {
    Diagnostic::error(codes::CONNECTION_UNKNOWN, "Connection Not Known Yet")
        .detail(
            "`cluster` depends on values that are known only after an apply, for instance those of a cluster that is created \
             by it.",
        )
        .field("cluster")
        .hint(
            "Let a data source read it during the apply, by `depends_on` with what creates the cluster, or create the cluster \
             first, with `-target`.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_not_known_is_told_from_one_that_is_not_configured() {
        let check = |cluster: Configured<Box<Connection>>, title: &str, is_deferred: bool| {
            let context = Context::new(Environment::default(), ClientCommand::default);
            context.configure(Settings { cluster, ..Settings::default() });
            let Err(error) = context.known_cluster(&Value::Null, "Invalid connection") else {
                panic!("there is no connection")
            };
            assert_eq!(error.summary, title);
            assert_eq!(context.read_deferral(&Value::Null, true).is_some(), is_deferred, "{title}");
            assert!(context.read_deferral(&Value::Null, false).is_none(), "{title}");
        };
        check(Configured::Absent, "Missing Cluster Connection Configuration", false);
        check(Configured::Unknown, "Connection Not Known Yet", true);
    }
}
