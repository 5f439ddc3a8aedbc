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
            let change = &request.change;
            let is_stale = request.private.flag(STALE_READ);
            let result = change.planned().map(|planned| planned_result(change.prior(), planned, is_stale));
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
            let Some(PlannedChange { prior, planned, mut private, .. }) =
                PlannedChange::of(&request.change, &request.private, None)
            else {
                return ApplyResponse::default();
            };
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

/// `None` if `wait_for` is empty or not known yet.
fn wait_for(attributes: &Object) -> Option<WaitFor> {
    wait_attribute::read(attributes.get("wait_for"))?.parse(None, Cut::Root).wait
}

/// The planned `result`. A tracked value that has vanished is unknown, which makes Terraform wait again; so is one that
/// `is_stale`, because the last refresh could not read it.
fn planned_result(prior: Option<&Object>, planned: &Object, is_stale: bool) -> Value {
    if !planned.get("wait_for").is_wholly_known() {
        return Value::unknown();
    }
    let differs = |prior: &Object| {
        ["object_ref", "cluster", "wait_for"].into_iter().any(|name| prior.get(name) != planned.get(name))
    };
    let result = prior.map(|prior| prior.get("result"));
    wait_attribute::planned(wait_for(planned).as_ref(), result, prior.is_none_or(differs) || is_stale, false)
}

#[cfg(test)]
mod tests {
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
        let check = |prior: Option<Object>, planned: Object, expected: Value| {
            assert_eq!(planned_result(prior.as_ref(), &planned, false), expected, "{prior:?} {planned:?}");
        };
        let unknown = Value::unknown;
        check(None, attributes("a", field, unknown()), unknown());
        check(None, attributes("a", ready, unknown()), Value::Null);
        check(Some(attributes("a", field, value())), attributes("a", field, value()), value());
        check(Some(attributes("a", field, value())), attributes("b", field, unknown()), unknown());
        check(Some(attributes("a", field, value())), attributes("a", ready, unknown()), Value::Null);
        check(Some(attributes("a", field, Value::Null)), attributes("a", field, Value::Null), unknown());
        check(Some(attributes("a", ready, Value::Null)), attributes("a", ready, Value::Null), Value::Null);
        check(None, Object::new().with("wait_for", unknown()), unknown());
        let stale = |mode, result: Value| {
            let prior = attributes("a", mode, result);
            planned_result(Some(&prior), &prior, true)
        };
        assert_eq!(stale(field, value()), unknown());
        assert_eq!(stale(ready, Value::Null), Value::Null);
    }
}
