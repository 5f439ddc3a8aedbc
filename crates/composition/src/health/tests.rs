use super::*;
use crate::object::object;
use crate::pipeline::Audience;
use crate::pipeline::tests::{StepResponse, fold};
use crate::protocol::{FunctionCondition, FunctionResult, RunResponse, Severity, Target};
use crate::runner::RunError;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn child(key: &str, state: ChildState, problem: Option<&str>) -> Child {
    Child { key: key.to_owned(), ready: true, state, problem: problem.map(str::to_owned) }
}

fn run(response: Result<RunResponse, RunError>) -> Outcome {
    let step = StepResponse { step: "deploy".to_owned(), function: "f".to_owned(), response };
    fold([step], Audience::CompositeAndClaim)
}

fn fatal(target: Target) -> Outcome {
    let result =
        FunctionResult { severity: Severity::Fatal, message: "no image".to_owned(), reason: None, target };
    run(Ok(RunResponse { results: vec![result], ..RunResponse::default() }))
}

fn down(class: RunErrorClass, text: &str) -> Outcome {
    run(Err(RunError::new(class, text)))
}

fn diagnose_outcome(outcome: &Outcome) -> Problem {
    let failure = ReconcileFailure::of(outcome.failure.as_ref().unwrap());
    diagnose("uid", outcome, Some(&failure), &[]).unwrap()
}

#[test]
fn an_xr_is_unhealthy_for_a_reason() {
    let check = |problem: Option<&Problem>| {
        let condition = condition(problem, NOW);
        let id = problem.map_or("", |problem| &problem.id);
        let message = if id.is_empty() { condition.message } else { condition.message.replace(id, "ID") };
        format!("{} {} {message}", condition.status.as_str(), condition.reason)
    };
    let children = |children: &[Child]| diagnose("uid", &Outcome::default(), None, children);
    let engine =
        ReconcileFailure::engine(Stage::SelectComposition, "NoMatch", "no compatible Compositions found");
    let engine = diagnose("uid", &Outcome::default(), Some(&engine), &[]);
    let refused = child(
        "db",
        ChildState::Refused("the API server refuses spec.size: FieldValueInvalid".to_owned()),
        None,
    );
    let lines = [
        check(children(&[child("a", ChildState::Applied, None)]).as_ref()),
        check(engine.as_ref()),
        check(Some(&diagnose_outcome(&fatal(Target::Composite)))),
        check(Some(&diagnose_outcome(&down(RunErrorClass::TimedOut, "deadline exceeded")))),
        check(Some(&diagnose_outcome(&down(RunErrorClass::FunctionNotFound, "no function \"f\"")))),
        check(children(&[refused, child("b", ChildState::Applied, Some("Synced=False"))]).as_ref()),
        check(children(&[child("b", ChildState::Applied, Some("Synced=False"))]).as_ref()),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    True Healthy 
    False ReconcileError cannot select Composition: no compatible Compositions found (error id ID)
    False FatalResult cannot compose resources: pipeline step "deploy" returned a fatal result: no image (error id ID)
    False ReconcileError cannot compose resources: cannot run Composition pipeline step "deploy": cannot run Function "f": deadline exceeded (error id ID)
    False FunctionNotFound cannot compose resources: cannot run Composition pipeline step "deploy": cannot run Function "f": no function "f" (error id ID)
    False ChildRefused Refused resources: db: the API server refuses spec.size: FieldValueInvalid (error id ID)
    False ChildUnhealthy Unhealthy resources: b (Synced=False) (error id ID)
    "#);
}

#[test]
fn the_error_id_stays_while_the_failure_does() {
    let id = |outcome: &Outcome| diagnose_outcome(outcome).id;
    let refused = id(&down(RunErrorClass::Unavailable, "dial 10.0.0.1:40000: refused"));
    assert_eq!(refused, id(&down(RunErrorClass::Unavailable, "dial 10.0.0.2:50000: refused")));
    assert_ne!(refused, id(&down(RunErrorClass::TimedOut, "dial 10.0.0.2:50000: refused")));
    assert_ne!(refused, id(&fatal(Target::Composite)));
    assert_eq!(refused.len(), 8);
    assert!(refused.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn children_report_a_problem_in_three_ways() {
    let check = |kind: &str, status: &str, expected: Option<&str>| {
        let child = object(json!({"status": {"conditions": [{"type": kind, "status": status}]}}));
        assert_eq!(problem(&child).as_deref(), expected);
    };
    check("Healthy", "False", Some("Healthy=False"));
    check("Synced", "False", Some("Synced=False"));
    check("Stalled", "True", Some("Stalled=True"));
    check("Ready", "False", None);
    check("Healthy", "Unknown", None);
    check("Stalled", "False", None);
    check("synced", "false", Some("Synced=False"));
    let stale = json!({"type": "Synced", "status": "False", "observedGeneration": 1});
    let child = object(json!({"metadata": {"generation": 2}, "status": {"conditions": [stale]}}));
    assert_eq!(problem(&child), None, "it is about an earlier spec");
}

fn unhealthy_xr(reason: &str, reported: bool) -> Object {
    object(json!({
        "metadata": {"name": "my-claim-x1"},
        "status": {
            "conditions": [{"type": "Healthy", "status": "False", "reason": reason, "message": "secret cause"}],
            "crossplane": {"failure": {"id": "0123abcd", "reportedToClaim": reported}},
        },
    }))
}

#[test]
fn a_claim_reports_a_problem_in_words_for_its_user() {
    let check = |xr: &Object, text: Option<&str>| {
        let condition = claim_condition(xr, text, NOW).unwrap();
        assert!(!condition.message.contains("secret cause"));
        format!("{} {} {}", condition.status.as_str(), condition.reason, condition.message)
    };
    let lines = [
        check(&unhealthy_xr("ReconcileError", false), None),
        check(&unhealthy_xr("FatalResult", true), Some("We have been paged.")),
        check(&unhealthy_xr("ChildRefused", false), Some("We have been paged.")),
        check(&unhealthy_xr("FunctionNotFound", false), None),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    False InternalError An internal error prevents this claim from being fulfilled. The claim itself is not the cause. For help, quote composite resource "my-claim-x1" and error id 0123abcd.
    False ReportedByComposition The conditions and events of this claim say what is wrong. For help, quote composite resource "my-claim-x1" and error id 0123abcd.
    False InternalError We have been paged. For help, quote composite resource "my-claim-x1" and error id 0123abcd.
    False FunctionNotFound A function that this claim depends on is not installed. Ask the platform team to install it. For help, quote composite resource "my-claim-x1" and error id 0123abcd.
    "#);
    let healthy = object(
        json!({"status": {"conditions": [{"type": "Healthy", "status": "True", "reason": "Healthy"}]}}),
    );
    assert!(claim_condition(&healthy, None, NOW).unwrap().is_true());
    assert_eq!(claim_condition(&Object::new(), None, NOW), None);
}

#[test]
fn any_output_for_the_claim_counts_as_reported() {
    assert!(!diagnose_outcome(&fatal(Target::Composite)).reported);
    assert!(diagnose_outcome(&fatal(Target::CompositeAndClaim)).reported);
    let mut response = RunResponse {
        results: vec![FunctionResult { severity: Severity::Fatal, ..FunctionResult::default() }],
        ..RunResponse::default()
    };
    response.conditions.push(FunctionCondition {
        kind: "ImageReady".to_owned(),
        reason: "NotFound".to_owned(),
        target: Target::CompositeAndClaim,
        ..FunctionCondition::default()
    });
    assert!(diagnose_outcome(&run(Ok(response.clone()))).reported);
    // Functions cannot know what is refused after they ran.
    response.results.clear();
    let refused = child("db", ChildState::Refused("why".to_owned()), None);
    assert!(!diagnose("uid", &run(Ok(response)), None, &[refused]).unwrap().reported);
}

#[test]
fn the_compositions_text_beats_the_definitions() {
    let annotated =
        |text: &str| object(json!({"metadata": {"annotations": {ANNOTATION_CLAIM_ERROR_MESSAGE: text}}}));
    let (composition, definition, plain) = (annotated("composition"), annotated("xrd"), Object::new());
    assert_eq!(claim_error_text(Some(&composition), Some(&definition)), Some("composition"));
    assert_eq!(claim_error_text(Some(&plain), Some(&definition)), Some("xrd"));
    assert_eq!(claim_error_text(None, Some(&plain)), None);
}

#[test]
fn a_refusal_is_reduced_to_what_does_not_change() {
    let (a, b) = (("spec.a", "FieldValueInvalid"), ("spec.b", "FieldValueRequired"));
    let expected = "the API server refuses spec.a: FieldValueInvalid, spec.b: FieldValueRequired";
    assert_eq!(refusal([b, a]), expected);
    assert_eq!(refusal([a, b, b]), expected);
    assert_eq!(refusal([]), "the API server refuses it as invalid");
}
