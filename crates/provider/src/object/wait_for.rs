//! `wait_for` and `status` over the lifecycle of an object.

use std::time::Duration;

use cluster::{Readiness, Session};
use diag::Diagnostic;
use manifest::ObjectRef;
use readiness::{During, Kept, Mode, Wait};
use serde_json::Value as Json;
use tfplugin::CancellationToken;
use tfplugin::private::Private;
use tfplugin::value::{Object, Value};

use super::attributes;
use crate::dynamic::dynamic_like;
use crate::planned_change::set_unknown;
use crate::private::{Keys as _, STALE_READ, WAIT_OWED};
use crate::{codes, stop, wait_attribute};

/// The planned `status`; `changes` means that the object is created or changed.
pub(super) fn planned_status(
    prior: Option<&Object>,
    planned: &Object,
    private: &Private,
    changes: bool,
) -> Value {
    if !planned.get("wait_for").is_wholly_known() {
        return Value::unknown();
    }
    let wait = attributes::wait(planned);
    let before = prior.and_then(attributes::wait);
    let another = wait.as_ref().map(|wait| &wait.mode) != before.as_ref().map(|wait| &wait.mode);
    // After a refresh that could not read, a tracked value may be out of date.
    let is_stale =
        private.flag(STALE_READ) && matches!(&wait, Some(wait) if matches!(wait.mode, Mode::Field(_)));
    let owed = is_stale || (wait.is_some() && private.flag(WAIT_OWED));
    wait_attribute::planned(wait.as_ref(), prior.map(|prior| prior.get("status")), changes || another, owed)
}

/// Whether an apply has to wait: a tracked value is unknown, a wait is pending, or the object changes, which `sends_values`
/// says of its write-only fields.
fn is_due(prior: Option<&Object>, planned: &Object, sends_values: bool, private: &Private) -> Option<Wait> {
    let wait = attributes::wait(planned)?;
    let Some(prior) = prior else { return Some(wait) };
    let differs = |name: &str| prior.get(name) != planned.get(name);
    let due = match wait.mode {
        Mode::Field(_) => planned.get("status").is_unknown(),
        Mode::Rollout | Mode::FieldValue(_) | Mode::Condition { .. } => {
            private.flag(WAIT_OWED)
                || sends_values
                || ["yaml_body", "managed_state_projection", "wait_for"].into_iter().any(differs)
        }
    };
    due.then_some(wait)
}

/// Waits if an apply has to, and stores the result; returns why the wait was not met.
pub(super) async fn complete(
    session: &Session,
    target: &ObjectRef,
    (prior, planned, sends_values): (Option<&Object>, &Object, bool),
    (state, private): (&mut Object, &mut Private),
    stop: &CancellationToken,
) -> Option<Diagnostic> {
    let (kept, unmet) = match is_due(prior, planned, sends_values, private) {
        None => (Kept { value: None, owed: private.flag(WAIT_OWED) }, None),
        Some(wait) => {
            let during = if prior.is_some() { During::Update } else { During::Create };
            run(session, target, &wait, during, stop).await
        }
    };
    private.set_flag(WAIT_OWED, kept.owed && attributes::wait(planned).is_some());
    let before = prior.map(|prior| prior.get("status"));
    set_unknown(state, "status", || dynamic_like(before, kept.value.as_ref()));
    unmet
}

/// Waits; returns what to store, and why the wait was not met.
async fn run(
    session: &Session,
    target: &ObjectRef,
    wait: &Wait,
    during: During,
    stop: &CancellationToken,
) -> (Kept, Option<Diagnostic>) {
    let ended = stop::run_unless_stopped(
        stop,
        Duration::ZERO,
        session.wait_for(target, wait, wait_attribute::log(target)),
    )
    .await;
    let why = match ended {
        Some(Ok(Readiness::Met { value, .. })) => return (Kept::met(value), None),
        Some(Ok(Readiness::Unmet { diagnosis, .. })) => *diagnosis,
        Some(Err(error)) => error.diagnostic("Wait"),
        None => Diagnostic::error(codes::INTERRUPTED, "Wait Operation Failed")
            .detail(format!("The wait for {target} was interrupted."))
            .hint("The next apply waits again."),
    };
    (Kept::unmet(), Some(Diagnostic { severity: during.unfinished(), ..why }))
}

/// Updates `status`, and whether a wait is pending, from the live object.
pub(super) fn refresh(state: &mut Object, private: &mut Private, live: &Json) {
    let Some(wait) = attributes::wait(state) else { return };
    let kept = Kept::refreshed(&wait, live, private.flag(WAIT_OWED));
    private.set_flag(WAIT_OWED, kept.owed);
    state.set("status", dynamic_like(Some(state.get("status")), kept.value.as_ref()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(field: Option<&str>, status: Value) -> Object {
        let wait = field.map(|field| Object::new().with("field", field));
        Object::new().with("wait_for", wait).with("status", status)
    }

    #[test]
    fn status_is_null_unless_tracked_and_unknown_until_it_is_there() {
        let value = || Value::dynamic(Value::from("x"));
        let check =
            |prior: Option<Object>, field: Option<&str>, changes: bool, owed: bool, expected: Value| {
                let mut private = Private::default();
                private.set_flag(WAIT_OWED, owed);
                let planned = object(field, Value::unknown());
                assert_eq!(planned_status(prior.as_ref(), &planned, &private, changes), expected);
            };
        let field = Some("status.a");
        check(None, None, true, false, Value::Null);
        check(None, field, true, false, Value::unknown());
        check(Some(object(field, value())), field, false, false, value());
        check(Some(object(field, value())), field, true, false, Value::unknown());
        check(Some(object(field, Value::Null)), field, false, false, Value::unknown());
        check(Some(object(Some("status.b"), value())), field, false, false, Value::unknown());
        check(Some(object(field, value())), None, false, false, Value::Null);
        check(Some(object(field, value())), field, false, true, Value::unknown());
        check(Some(object(None, Value::Null)), None, false, true, Value::Null);
        // The last refresh could not read.
        let mut stale = Private::default();
        stale.set_flag(STALE_READ, true);
        let prior = object(field, value());
        assert_eq!(planned_status(Some(&prior), &prior, &stale, false), Value::unknown());
    }

    #[test]
    fn a_wait_for_something_else_than_a_field_runs_when_the_object_changes() {
        let with = |body: &str, mode: (&str, Value)| {
            let wait = Value::Object(Object::new().with(mode.0, mode.1));
            Object::new().with("yaml_body", body).with("wait_for", wait).with("status", Value::Null)
        };
        let ready = || ("condition", Value::from("Ready"));
        let none = Private::default();
        let check = |prior: Option<&str>, body: &str, sends_values: bool, expected: bool| {
            let (prior, planned) = (prior.map(|body| with(body, ready())), with(body, ready()));
            assert_eq!(is_due(prior.as_ref(), &planned, sends_values, &none).is_some(), expected);
        };
        check(None, "a", false, true);
        check(Some("a"), "a", false, false);
        check(Some("a"), "b", false, true);
        check(Some("a"), "a", true, true);
        let mut owed = Private::default();
        owed.set_flag(WAIT_OWED, true);
        assert!(is_due(Some(&with("a", ready())), &with("a", ready()), false, &owed).is_some());
    }
}
