//! The object of an action, and how a plan or an invocation reaches it.

use std::sync::Arc;
use std::time::Duration;

use cluster::{Error, Readiness, Session};
use diag::Diagnostic;
use manifest::{GoDuration, ObjectRef};
use readiness::{Cut, Mode, Wait};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{ActionRequest, Deferral, PlanActionResponse, Progress};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use crate::clusters::Cluster;
use crate::connection::Configured;
use crate::context::Context;
use crate::reference::Reference;
use crate::{codes, connection, duration, reference, stop};

/// How long an action waits by default.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The attributes that every action has.
pub(super) fn schema(about: &str) -> Schema {
    let timeout = Attribute::optional("timeout", Type::String)
        .description("How long to wait until the action is done, such as `30s` or `5m`; `0s` does not wait. Default: `10m`.")
        .validate(check_timeout);
    let schema = Schema::new().description(about).attribute(connection::data_attribute()).attribute(timeout);
    reference::attributes().into_iter().fold(schema, Schema::attribute)
}

fn check_timeout(value: &Value, path: &Path) -> Diagnostics {
    match value.as_str().map(str::parse::<GoDuration>) {
        Some(Ok(timeout)) if timeout.to_std().is_none() => {
            Diagnostic::error(codes::INVALID_DURATION, "Invalid Duration")
                .detail(format!("{path} is negative: {timeout}."))
                .hint("Use `0s` to wait for nothing.")
                .into()
        }
        _ => duration::check(value, path),
    }
}

pub(super) fn timeout(config: &Object) -> Duration {
    let written = config.text("timeout").and_then(|text| text.parse::<GoDuration>().ok());
    written.map_or(TIMEOUT, |written| written.to_std().unwrap_or_default())
}

/// An object and its cluster.
pub(super) struct Target {
    pub(super) cluster: Arc<Cluster>,
    pub(super) object: ObjectRef,
}

impl Target {
    pub(super) async fn find(
        context: &Context,
        config: &Object,
        operation: &str,
    ) -> Result<Self, Box<Diagnostic>> {
        let cluster = context.known_cluster(config.get("cluster"), "Invalid connection")?;
        let reference = Reference::parse(config, "Invalid Kind")?;
        let located = reference.locate(cluster.session()).await;
        let object = located.map_err(|error| Box::new(error.diagnostic(operation)))?;
        Ok(Self { cluster, object })
    }

    pub(super) fn session(&self) -> &Session {
        self.cluster.session()
    }
}

/// Plans an action by `check`, which makes a dry run. What is not known or does not exist yet is checked when the action
/// is invoked: the same apply may bring it.
pub(super) async fn plan<F>(
    context: &Context,
    request: ActionRequest,
    check: impl FnOnce(Target, Object) -> F,
) -> PlanActionResponse
where
    F: Future<Output = Result<Diagnostics, Diagnostics>>,
{
    let config = request.config;
    let unknown_cluster = matches!(context.cluster(config.get("cluster")), Ok(Configured::Unknown));
    if unknown_cluster || !config.is_wholly_known() {
        let reason = if config.is_wholly_known() {
            Deferral::ProviderConfigUnknown
        } else {
            Deferral::ResourceConfigUnknown
        };
        let deferred = request.deferral_allowed.then_some(reason);
        return PlanActionResponse { deferred, ..PlanActionResponse::default() };
    }
    let cluster = context.known_cluster(config.get("cluster"), "Invalid connection");
    let diagnostics = match (cluster, Reference::parse(&config, "Invalid Kind")) {
        (Err(error), _) | (_, Err(error)) => Diagnostics::from(*error),
        (Ok(cluster), Ok(reference)) => match reference.look(cluster.session()).await {
            Ok((object, Some(_))) => {
                check(Target { cluster, object }, config).await.unwrap_or_else(|refused| refused)
            }
            Ok((_, None)) => Diagnostics::new(),
            Err(error) if error.is_kind_absent() => Diagnostics::new(),
            Err(error) => error.diagnostic("Plan Action").into(),
        },
    };
    PlanActionResponse { diagnostics, ..PlanActionResponse::default() }
}

/// Runs `work` until it is done or Terraform stops the provider; `title` is the title of the error about that.
pub(super) async fn unless_stopped(
    request: &ActionRequest,
    title: &str,
    work: impl Future<Output = Result<Diagnostics, Diagnostics>>,
) -> Diagnostics {
    match stop::run_unless_stopped(&request.stop, Duration::ZERO, work).await {
        Some(done) => done.unwrap_or_else(|failed| failed),
        None => Diagnostic::error(codes::ACTION_UNFINISHED, title)
            .detail("Terraform was interrupted. What was requested continues in the cluster.")
            .hint("Look at the object before you invoke the action again.")
            .into(),
    }
}

/// Waits until the rollout of an object is complete, and reports why it is not.
pub(super) async fn rollout(
    target: &Target,
    timeout: Duration,
    progress: &Progress,
) -> Result<Diagnostics, Diagnostics> {
    if timeout.is_zero() {
        return Ok(Diagnostics::new());
    }
    let nanos = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
    let wait = Wait {
        mode: Mode::Rollout,
        timeout: GoDuration::from_nanos(nanos),
        cut: Cut::Root,
        conditions: None,
    };
    let report = |why: &str| progress.report(format!("waiting: {why}"));
    match target.session().wait_for(&target.object, &wait, report).await {
        Ok(Readiness::Met { .. }) => Ok(Diagnostics::new()),
        Ok(Readiness::Unmet { diagnosis, .. }) => Err((*diagnosis).into()),
        Err(error) => Err(error.diagnostic("Wait").into()),
    }
}

pub(super) fn absent(target: &ObjectRef, title: &str) -> Diagnostic {
    Diagnostic::error(codes::ACTION_REFUSED, title)
        .detail(format!("{target} does not exist."))
        .object(target.to_string())
        .hint("Check its name and namespace, or invoke the action after the resource that creates it.")
}

pub(super) fn failed(error: &Error, operation: &str) -> Diagnostics {
    error.diagnostic(operation).into()
}
