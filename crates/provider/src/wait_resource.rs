//! `k8sconnect_wait`: holds back dependents until an object is ready, and returns the field it waited for.
//!
//! Unlike `wait_for` of an object, it has no state to lose: an unfinished wait is always an error and nothing is saved,
//! so dependents are held back and the next apply waits again.

mod run;
mod schema;

use std::sync::Arc;

use readiness::{Cut, Wait as WaitFor};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{
    ApplyRequest, ApplyResponse, BoxFuture, PlanRequest, PlanResponse, ReadRequest, ReadResponse, Resource,
};
use tfplugin::schema::Schema;
use tfplugin::value::{Object, Value};

use crate::cluster_identity::{self, ClusterChange};
use crate::connection::Configured;
use crate::context::Context;
use crate::planned_change::PlannedChange;
use crate::private::{Keys as _, STALE_READ};
use crate::wait_attribute;

pub(crate) use run::locate;

pub(crate) struct Wait(pub(crate) Arc<Context>);

impl Resource for Wait {
    fn type_name(&self) -> &'static str {
        "k8sconnect_wait"
    }

    fn schema(&self) -> Schema {
        schema::schema()
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        schema::validate(config)
    }

    fn plan(&self, request: PlanRequest) -> BoxFuture<'_, PlanResponse> {
        Box::pin(async move {
            let change = PlannedChange::of(&request.change, &request.private, None);
            if let Some(change) = &change
                && let Some(reason) = self.0.deferral(&request, &change.planned, &["object_ref"])
            {
                return PlanResponse { deferred: Some(reason), ..request.accept() };
            }
            let result = match &change {
                Some(change) => {
                    let waits = request.private.flag(STALE_READ) || self.has_to_wait(change).await;
                    Some(planned_result(change.prior.as_ref(), &change.planned, waits))
                }
                None => None,
            };
            let mut response = request.accept();
            if let (Some(planned), Some(result)) = (&mut response.planned, result) {
                planned.set("result", result);
            }
            response
        })
    }

    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
        Box::pin(async move {
            // There is nothing in the cluster to undo.
            let Some(change) = PlannedChange::of(&request.change, &request.private, None) else {
                return ApplyResponse::default();
            };
            let is_kept = change.planned.is_wholly_known() && !self.has_to_wait(&change).await;
            let PlannedChange { prior, planned, mut private, .. } = change;
            if is_kept {
                if let Ok(Configured::Known(cluster)) = self.0.cluster(planned.get("cluster")) {
                    cluster_identity::store(&mut private, &cluster).await;
                }
                return ApplyResponse { state: Some(planned), private, ..ApplyResponse::default() };
            }
            let waited = run::run(&self.0, (prior.as_ref(), planned), &mut private, &request.stop).await;
            let (state, diagnostics) = match waited {
                Ok(state) => (Some(state), Diagnostics::new()),
                Err(diagnostic) => (prior, (*diagnostic).into()),
            };
            ApplyResponse { state, private, identity: None, diagnostics }
        })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        Box::pin(run::refresh(&self.0, request))
    }
}

impl Wait {
    /// Whether a change makes the wait run. A connection that leads to the same cluster does not: the object is as ready as
    /// before.
    async fn has_to_wait(&self, change: &PlannedChange) -> bool {
        let Some(prior) = &change.prior else { return true };
        let differs = |name: &str| prior.get(name) != change.planned.get(name);
        if differs("object_ref") || differs("wait_for") {
            return true;
        }
        if !differs("cluster") {
            return false;
        }
        match self.0.cluster(change.planned.get("cluster")) {
            Ok(Configured::Known(now)) => {
                cluster_identity::change(&self.0, change, &now).await != ClusterChange::None
            }
            _ => true,
        }
    }
}

/// `None` if `wait_for` is empty or not known yet.
fn wait_for(attributes: &Object) -> Option<WaitFor> {
    wait_attribute::read(attributes.get("wait_for"))?.parse(None, Cut::Root).wait
}

/// The planned `result`, where `waits` means that the wait runs or the last refresh could not read. A tracked value that has
/// vanished is unknown, which makes Terraform wait again.
fn planned_result(prior: Option<&Object>, planned: &Object, waits: bool) -> Value {
    if !planned.get("wait_for").is_wholly_known() {
        return Value::unknown();
    }
    let result = prior.map(|prior| prior.get("result"));
    wait_attribute::planned(wait_for(planned).as_ref(), result, waits, false)
}

#[cfg(test)]
mod tests {
    use cluster::Environment;

    use super::*;

    fn attributes(name: &str, mode: (&str, &str), result: Value) -> Object {
        let wait = Object::new().with(mode.0, mode.1);
        Object::new()
            .with("object_ref", Object::new().with("name", name))
            .with("wait_for", wait)
            .with("result", result)
    }

    #[test]
    fn result_is_null_unless_tracked_and_unknown_until_it_is_there() {
        let value = || Value::dynamic(Value::from("x"));
        let (field, ready) = (("field", "status.a"), ("condition", "Ready"));
        let check = |prior: Option<Object>, planned: Object, waits: bool, expected: Value| {
            assert_eq!(planned_result(prior.as_ref(), &planned, waits), expected, "{prior:?} {planned:?}");
        };
        let unknown = Value::unknown;
        let before = |mode, result| Some(attributes("a", mode, result));
        check(None, attributes("a", field, unknown()), true, unknown());
        check(None, attributes("a", ready, unknown()), true, Value::Null);
        check(before(field, value()), attributes("a", field, value()), false, value());
        check(before(field, value()), attributes("b", field, unknown()), true, unknown());
        check(before(field, value()), attributes("a", ready, unknown()), true, Value::Null);
        check(before(field, Value::Null), attributes("a", field, Value::Null), false, unknown());
        check(before(ready, Value::Null), attributes("a", ready, Value::Null), false, Value::Null);
        check(None, Object::new().with("wait_for", unknown()), true, unknown());
    }

    #[tokio::test]
    async fn another_object_or_condition_is_waited_for() {
        let wait = Wait(Arc::new(Context::new(Environment::default(), Default::default)));
        let check = async |prior: Option<Object>, planned: Object, expected: bool| {
            let change = PlannedChange { prior, planned, ..PlannedChange::default() };
            assert_eq!(wait.has_to_wait(&change).await, expected, "{:?}", change.planned);
        };
        let a = |mode| attributes("a", mode, Value::Null);
        let (field, ready) = (("field", "status.a"), ("condition", "Ready"));
        check(None, a(field), true).await;
        check(Some(a(field)), a(field), false).await;
        check(Some(a(field)), a(ready), true).await;
        check(Some(a(field)), attributes("b", field, Value::Null), true).await;
        check(Some(a(field)), a(field).with("cluster", Value::unknown()), true).await;
    }
}
