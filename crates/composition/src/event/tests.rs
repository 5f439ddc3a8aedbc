use super::*;
use crate::pipeline::Audience;
use crate::pipeline::tests::{StepResponse, fold};
use crate::protocol::{FunctionCondition, RunResponse};

fn outcome(results: Vec<FunctionResult>, conditions: Vec<FunctionCondition>) -> Outcome {
    let response = Ok(RunResponse { results, conditions, ..RunResponse::default() });
    let step = StepResponse { step: "run-cool-function".to_owned(), function: "f".to_owned(), response };
    fold([step], Audience::CompositeAndClaim)
}

fn result(severity: Severity, message: &str, reason: Option<&str>, target: Target) -> FunctionResult {
    FunctionResult { severity, message: message.to_owned(), reason: reason.map(str::to_owned), target }
}

fn lines(events: &[Event]) -> String {
    let line = |event: &Event| {
        let on = if event.on == Recipient::Claim { "CM" } else { "XR" };
        format!("{on} {} {} {}", event.kind.as_str(), event.reason, event.message)
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Crossplane's cases for the events of a successful pipeline.
#[test]
fn severities_become_events() {
    let outcome = outcome(
        vec![
            result(Severity::Normal, "N", None, Target::Composite),
            result(Severity::Warning, "W", Some(""), Target::Composite),
            result(Severity::Unspecified, "U", None, Target::CompositeAndClaim),
            result(Severity::Normal, "R", Some("SomeReason"), Target::CompositeAndClaim),
            result(Severity::Warning, "V", Some("Broken"), Target::CompositeAndClaim),
        ],
        vec![],
    );
    insta::assert_snapshot!(lines(&of_results(&outcome)), @r#"
    XR Normal ComposeResources Pipeline step "run-cool-function": N
    XR Warning ComposeResources Pipeline step "run-cool-function": W
    XR Warning ComposeResources Pipeline step "run-cool-function" returned a result of unknown severity (assuming warning): U
    XR Normal SomeReason Pipeline step "run-cool-function": R
    CM Normal SomeReason R
    XR Warning Broken Pipeline step "run-cool-function": V
    CM Warning Broken V
    "#);
}

/// Unlike in Crossplane, a fatal result that targets the claim reaches it.
#[test]
fn a_fatal_result_reaches_the_claim_when_its_author_wants_it() {
    let check = |fatal: FunctionResult| {
        let before = result(Severity::Normal, "A1", None, Target::Composite);
        let outcome = outcome(vec![before, fatal], vec![]);
        let failure = ReconcileFailure::of(outcome.failure.as_ref().unwrap());
        let mut events = vec![of_failure(&failure, "0123abcd")];
        events.extend(of_results(&outcome));
        lines(&events)
    };
    // Crossplane shows this for every fatal result, regardless of its target and reason.
    insta::assert_snapshot!(check(result(Severity::Fatal, "oh no", Some("Ignored"), Target::Composite)), @r#"
    XR Warning ComposeResources cannot compose resources: pipeline step "run-cool-function" returned a fatal result: oh no (error id 0123abcd)
    XR Normal ComposeResources Pipeline step "run-cool-function": A1
    "#);
    insta::assert_snapshot!(check(result(Severity::Fatal, "oh no", Some("NotFound"), Target::CompositeAndClaim)), @r#"
    XR Warning ComposeResources cannot compose resources: pipeline step "run-cool-function" returned a fatal result: oh no (error id 0123abcd)
    XR Normal ComposeResources Pipeline step "run-cool-function": A1
    CM Warning NotFound oh no
    "#);
}

#[test]
fn contract_violations_name_the_step_and_what_to_do() {
    let condition = |kind: &str, reason: &str| FunctionCondition {
        kind: kind.to_owned(),
        reason: reason.to_owned(),
        ..FunctionCondition::default()
    };
    let unknown = result(Severity::Unspecified, "?", None, Target::Composite);
    let outcome =
        outcome(vec![unknown], vec![condition("Ready", "R"), condition("", "R"), condition("A", "")]);
    insta::assert_snapshot!(lines(&of_violations(&outcome)), @r#"
    XR Warning InvalidFunctionOutput Pipeline step "run-cool-function" set the condition "Ready", which only the engine sets: dropped. Use another type, such as "AppReady"
    XR Warning InvalidFunctionOutput Pipeline step "run-cool-function" set a condition without a type: dropped
    XR Warning InvalidFunctionOutput Pipeline step "run-cool-function" set the condition "A" without a reason: it reads "Unspecified"
    XR Warning InvalidFunctionOutput Pipeline step "run-cool-function" returned a result of unknown severity: it counts as a warning for the XR only
    "#);
}

/// Crossplane's case CustomEventsFailToGetClaim.
#[test]
fn a_claim_that_cannot_be_read_costs_only_its_own_events() {
    let both = result(Severity::Normal, "hello", Some("Hello"), Target::CompositeAndClaim);
    let events = of_results(&outcome(vec![both], vec![]));
    assert_eq!(recordable(events.clone(), true), events);
    insta::assert_snapshot!(lines(&recordable(events, false)), @r#"XR Normal Hello Pipeline step "run-cool-function": hello"#);
}

#[test]
fn events_about_an_unchanged_status_expire() {
    let check = |expired: bool, written: &str, moved: &str| {
        let xr = object::object(serde_json::json!({
            "metadata": {"managedFields": [
                {"manager": "a", "time": "2026-06-01T11:59:00Z"},
                {"manager": "b", "subresource": "status", "time": written},
            ]},
            "status": {"conditions": [{"type": "Ready", "lastTransitionTime": moved}]},
        }));
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        assert_eq!(have_expired(&xr, now), expired, "{written} {moved}");
    };
    check(true, "2026-06-01T10:59:59Z", "2026-06-01T10:00:00Z");
    check(false, "2026-06-01T11:00:01Z", "2026-06-01T10:00:00Z");
    check(false, "2026-06-01T10:00:00Z", "2026-06-01T11:30:00Z");
    assert!(!have_expired(&Object::new(), Timestamp::now()), "nothing is known");
}
