//! The controllers of one term of leadership: all start together, and none outlives the term.

use std::collections::HashMap;
use std::sync::Arc;

use ::composition::FunctionRunner;
use cluster::Session;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Error, half};
use crate::options::Options;
use crate::runtime::events::Events;
use crate::runtime::health::Readiness;
use crate::runtime::leadership::Leadership;
use crate::runtime::metrics::Metrics;
use crate::runtime::supervisor::supervise;

/// What all controllers share.
#[derive(Clone)]
pub struct Context {
    pub session: Session,
    pub events: Events,
    pub metrics: Metrics,
    pub options: Arc<Options>,
    pub readiness: Readiness,
    pub leadership: Leadership,
    /// The environment that the operator's own cloud credentials come from.
    pub environment: fn(&str) -> Option<String>,
    /// Runs functions in this process instead of at their endpoints, for tests whose time is virtual.
    pub functions: Option<Arc<dyn FunctionRunner>>,
}

impl Context {
    /// With the environment of the process.
    pub fn new(session: Session, events: Events, metrics: Metrics, options: Options) -> Self {
        let options = Arc::new(options);
        let environment = |name: &str| std::env::var(name).ok();
        let (readiness, leadership) = (Readiness::default(), Leadership::default());
        Self { session, events, metrics, options, readiness, leadership, environment, functions: None }
    }
}

/// Running controllers.
pub(super) struct Term {
    controllers: JoinSet<()>,
    names: HashMap<Id, &'static str>,
    metrics: Metrics,
    stop: CancellationToken,
}

/// Starts the controllers; cancelling `stop` stops them.
pub(super) fn begin(context: &Context, stop: &CancellationToken) -> Term {
    context.metrics.leading(true);
    let mut term = Term {
        controllers: JoinSet::new(),
        names: HashMap::new(),
        metrics: context.metrics.clone(),
        stop: stop.clone(),
    };
    for half in &context.options.controllers {
        let (half, context, stop) = (*half, context.clone(), stop.clone());
        let controller = term.controllers.spawn(async move {
            let start = || half::run(half, context.clone(), stop.clone());
            supervise(half.name(), &context.metrics, &stop, start).await;
        });
        term.names.insert(controller.id(), half.name());
    }
    term
}

impl Term {
    /// Waits until a controller stops on its own, which none should.
    pub(super) async fn ended(&mut self) -> Error {
        let id = match self.controllers.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => {
                tracing::error!(%error, "a controller panicked");
                error.id()
            }
            // There are no controllers.
            None => std::future::pending().await,
        };
        Error::ControllerEnded { controller: self.names.get(&id).copied().unwrap_or("unknown") }
    }

    /// Stops the controllers, and aborts those that have not stopped by `deadline`.
    pub(super) async fn end(&mut self, deadline: Instant) {
        self.stop.cancel();
        let rest = async { while self.controllers.join_next().await.is_some() {} };
        if tokio::time::timeout_at(deadline, rest).await.is_err() {
            tracing::warn!(
                controllers = self.controllers.len(),
                "aborting controllers that did not stop in time"
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
