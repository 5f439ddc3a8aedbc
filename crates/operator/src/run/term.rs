//! The controllers of one term: all begin together, and none outlives it.

use std::collections::HashMap;
use std::sync::Arc;

use cluster::Session;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Error;
use crate::composition;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::operations;
use crate::options::{Half, Options};
use crate::said::chain;

/// What every controller works with.
#[derive(Clone)]
pub struct Surroundings {
    /// The cluster.
    pub session: Session,
    /// Where Events go.
    pub events: Events,
    /// What is counted.
    pub metrics: Metrics,
    /// How the operator is run.
    pub options: Arc<Options>,
}

/// Controllers that run.
pub(super) struct Term {
    controllers: JoinSet<()>,
    names: HashMap<Id, &'static str>,
    metrics: Metrics,
    stop: CancellationToken,
}

/// Starts the controllers; cancelling `stop` asks them to end.
pub(super) fn begin(around: &Surroundings, stop: &CancellationToken) -> Term {
    around.metrics.leading(true);
    let mut term = Term {
        controllers: JoinSet::new(),
        names: HashMap::new(),
        metrics: around.metrics.clone(),
        stop: stop.clone(),
    };
    for half in &around.options.controllers {
        let controller = match half {
            Half::Oci => term.controllers.spawn(operations::run(oci(around), stop.clone())),
            Half::Composition => term.controllers.spawn(compose(around.clone(), stop.clone())),
        };
        term.names.insert(controller.id(), half.name());
    }
    term
}

impl Term {
    /// Waits until a controller ends by itself, which none should.
    pub(super) async fn ended(&mut self) -> Error {
        let id = match self.controllers.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => {
                tracing::error!(%error, "a controller ended by a panic");
                error.id()
            }
            // None was asked for, so none can end.
            None => std::future::pending().await,
        };
        Error::ControllerEnded { controller: self.names.get(&id).copied().unwrap_or("unknown") }
    }

    /// Asks the controllers to end, and ends those that have not by `deadline`.
    pub(super) async fn end(&mut self, deadline: Instant) {
        self.stop.cancel();
        let rest = async { while self.controllers.join_next().await.is_some() {} };
        if tokio::time::timeout_at(deadline, rest).await.is_err() {
            tracing::warn!(
                controllers = self.controllers.len(),
                "controllers that did not end in time are given up"
            );
            self.controllers.shutdown().await;
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.metrics.leading(false);
    }
}

async fn compose(around: Surroundings, stop: CancellationToken) {
    let Surroundings { session, events, metrics, options } = around;
    let functions = &options.functions;
    let own = options.namespace.as_ref().map(|namespace| namespace.as_str().to_owned());
    let options = composition::Options {
        functions: functions.endpoints.clone(),
        certificates: functions.certs_dir.clone(),
        namespace: own.unwrap_or_else(|| session.client().default_namespace().to_owned()),
        timeout: functions.timeout,
        concurrency: functions.concurrency,
        max_message: functions.max_message,
    };
    if let Err(error) = composition::run(session, events, metrics, options, stop).await {
        tracing::error!(why = chain(&error), "compositions cannot be run");
    }
}

fn oci(around: &Surroundings) -> operations::Surroundings {
    let options = &around.options;
    operations::Surroundings {
        session: around.session.clone(),
        recorder: around.events.recorder("plimsoll-oci"),
        metrics: around.metrics.clone(),
        settings: options.operations,
        oci: options.oci.clone(),
        namespace: options.namespace.clone(),
        environment: |name| std::env::var(name).ok(),
    }
}
