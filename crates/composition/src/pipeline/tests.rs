use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::object::object;
use crate::protocol::{ConditionStatus, Ready, Resource, ResponseMeta};
use crate::runner::RunErrorClass;

/// One step and what its function answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepResponse {
    pub(crate) step: String,
    pub(crate) function: String,
    pub(crate) response: Result<RunResponse, RunError>,
}

/// What a pipeline of these steps comes to.
pub(crate) fn fold(steps: impl IntoIterator<Item = StepResponse>, audience: Audience) -> Outcome {
    let mut pipeline = Pipeline::new(audience);
    for StepResponse { step, function, response } in steps {
        match response {
            Ok(response) => pipeline.answered(&step, "", response),
            Err(error) => pipeline.failed(&step, &function, error),
        }
    }
    pipeline.finish()
}

fn result(severity: Severity, message: &str) -> FunctionResult {
    FunctionResult { severity, message: message.to_owned(), ..FunctionResult::default() }
}

fn to_claim(reason: &str, result: FunctionResult) -> FunctionResult {
    FunctionResult { reason: Some(reason.to_owned()), target: Target::CompositeAndClaim, ..result }
}

fn condition(kind: &str, status: ConditionStatus, reason: &str, target: Target) -> FunctionCondition {
    FunctionCondition { kind: kind.to_owned(), status, reason: reason.to_owned(), message: None, target }
}

fn answer(step: &str, response: RunResponse) -> StepResponse {
    StepResponse { step: step.to_owned(), function: format!("function-{step}"), response: Ok(response) }
}

fn database_and_deployment_conditions() -> Vec<FunctionCondition> {
    vec![
        condition("DatabaseReady", ConditionStatus::False, "Creating", Target::Composite),
        FunctionCondition {
            message: Some("The deployment is ready.".to_owned()),
            ..condition("DeploymentReady", ConditionStatus::True, "Available", Target::CompositeAndClaim)
        },
    ]
}

/// Crossplane's case FatalFunctionResultError.
#[test]
fn a_fatal_result_stops_and_keeps_earlier_output() {
    let response = RunResponse {
        results: vec![
            result(Severity::Normal, "A1"),
            to_claim("SomeReason", result(Severity::Normal, "A2")),
            result(Severity::Fatal, "oh no"),
            result(Severity::Normal, "A4"),
        ],
        conditions: database_and_deployment_conditions(),
        ..RunResponse::default()
    };
    let later =
        RunResponse { results: vec![result(Severity::Normal, "never run")], ..RunResponse::default() };
    let outcome =
        fold([answer("run-cool-function", response), answer("later", later)], Audience::CompositeAndClaim);

    let failure = outcome.failure.as_ref().expect("a fatal result fails the pipeline");
    assert_eq!(failure.to_string(), r#"pipeline step "run-cool-function" returned a fatal result: oh no"#);
    assert_eq!(failure.step(), "run-cool-function");
    let messages: Vec<_> = outcome.results.iter().map(|it| it.output.message.as_str()).collect();
    assert_eq!(messages, ["A1", "A2"]);
    assert_eq!(outcome.results[1].output.target, Target::CompositeAndClaim);
    let conditions: Vec<_> = outcome.conditions.iter().map(|it| it.output.clone()).collect();
    assert_eq!(conditions, database_and_deployment_conditions());
    assert!(outcome.reported_to_claim());
}

/// Crossplane's case Successful, as far as the pipeline is concerned.
#[test]
fn a_successful_pipeline_yields_desired_state_ttl_and_results() {
    let mut desired = State {
        composite: Resource {
            connection_details: [("from".to_owned(), b"function-pipeline".to_vec())].into_iter().collect(),
            ..Resource::of(json!({"status": {"widgets": 42}}))
        },
        ..State::default()
    };
    for (key, ready) in [("observed-resource-a", Ready::True), ("desired-resource-a", Ready::Unspecified)] {
        let resource =
            Resource { ready, ..Resource::of(json!({"apiVersion": "test/v1", "kind": "CoolComposed"})) };
        desired.resources.insert(key.to_owned(), resource);
    }
    let response = RunResponse {
        meta: ResponseMeta { ttl: Some(Duration::from_secs(300)), ..ResponseMeta::default() },
        desired: desired.clone(),
        results: vec![
            result(Severity::Normal, "normal"),
            result(Severity::Warning, "warning"),
            result(Severity::Unspecified, "unspecified"),
            to_claim("SomeReason", result(Severity::Normal, "reasoned")),
        ],
        conditions: database_and_deployment_conditions(),
        ..RunResponse::default()
    };
    let outcome = fold([answer("run-cool-function", response)], Audience::CompositeAndClaim);
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.ttl, Some(Duration::from_secs(300)));
    assert_eq!(outcome.desired, desired);
    assert_eq!(outcome.results.len(), 4);
    assert_eq!(outcome.violations, [StepOutput::by("run-cool-function", ContractViolation::UnknownSeverity)]);
}

#[test]
fn a_function_that_does_not_respond_fails_the_pipeline_and_earlier_output_stays() {
    let response = RunResponse { conditions: database_and_deployment_conditions(), ..RunResponse::default() };
    let down = StepResponse {
        step: "second".to_owned(),
        function: "function-down".to_owned(),
        response: Err(RunError::new(
            RunErrorClass::Unavailable,
            "rpc error: code = Unavailable desc = refused",
        )),
    };
    let outcome = fold([answer("first", response), down], Audience::CompositeAndClaim);
    assert_eq!(
        outcome.failure.unwrap().to_string(),
        "cannot run Composition pipeline step \"second\": cannot run Function \"function-down\": \
         rpc error: code = Unavailable desc = refused"
    );
    // Crossplane drops these two; a failed reconcile only adds, so they are kept.
    assert_eq!(outcome.conditions.len(), 2);
}

#[test]
fn output_that_breaks_the_contract_is_dropped_and_named() {
    let response = RunResponse {
        conditions: vec![
            condition("Ready", ConditionStatus::True, "Mine", Target::Composite),
            condition("", ConditionStatus::True, "Nameless", Target::Composite),
            condition("Cache", ConditionStatus::True, "", Target::CompositeAndClaim),
            condition("Healthy", ConditionStatus::True, "Mine", Target::Composite),
            condition("Healthy", ConditionStatus::False, "Again", Target::Composite),
        ],
        ..RunResponse::default()
    };
    let outcome = fold([answer("s", response)], Audience::CompositeOnly);
    let dropped: Vec<_> = outcome.violations.iter().map(|it| it.output.clone()).collect();
    assert_eq!(
        dropped,
        [
            ContractViolation::ReservedConditionType("Ready".to_owned()),
            ContractViolation::EmptyConditionType,
            ContractViolation::EmptyConditionReason("Cache".to_owned()),
            ContractViolation::ClaimTarget,
            ContractViolation::ReservedConditionType("Healthy".to_owned()),
        ]
    );
    let kept: Vec<_> = outcome.conditions.iter().map(|it| it.output.clone()).collect();
    assert_eq!(kept, [condition("Cache", ConditionStatus::True, "Unspecified", Target::Composite)]);
    // A fatal result for a claim that cannot exist is not reported to anyone.
    let fatal = FunctionResult { target: Target::CompositeAndClaim, ..result(Severity::Fatal, "no") };
    let outcome = fold(
        [answer("s", RunResponse { results: vec![fatal], ..RunResponse::default() })],
        Audience::CompositeOnly,
    );
    assert!(!outcome.reported_to_claim());
    assert_eq!(outcome.violations, [StepOutput::by("s", ContractViolation::ClaimTarget)]);
}

#[test]
fn the_next_step_gets_what_the_last_one_returned() {
    let step: Step = serde_json::from_value(json!({
        "step": "one", "functionRef": {"name": "f"}, "input": {"kind": "Input"},
    }))
    .unwrap();
    let observed = Arc::new(State { composite: Resource::of(json!({"kind": "X"})), ..State::default() });
    let credentials = BTreeMap::from([("aws".to_owned(), SecretData::default())]);
    let mut pipeline = Pipeline::new(Audience::CompositeAndClaim);
    let first = pipeline.request(&step, &observed, credentials.clone());
    assert_eq!((first.context, first.desired), (Some(Object::new()), State::default()));
    assert_eq!((first.observed, first.credentials), (Arc::clone(&observed), credentials));
    assert_eq!(first.input.unwrap()["kind"], "Input");
    assert_eq!(first.meta.capabilities, Capability::ALL);

    let context = object(json!({"apiextensions.crossplane.io/environment": {"a": 1}}));
    let mut desired = State::default();
    desired.resources.insert("a".to_owned(), Resource::default());
    pipeline.answered(
        "one",
        "tag",
        RunResponse { context: Some(context.clone()), desired: desired.clone(), ..RunResponse::default() },
    );
    let second = pipeline.request(&step, &observed, BTreeMap::new());
    assert_eq!((second.context, second.desired), (Some(context), desired));
    pipeline.answered("two", "tag", RunResponse::default());
    let third = pipeline.request(&step, &observed, BTreeMap::new());
    assert_eq!((third.context, third.desired), (None, State::default()));
    let foreign = ResponseMeta { tag: "other".to_owned(), ttl: None };
    pipeline.answered("three", "tag", RunResponse { meta: foreign, ..RunResponse::default() });
    let outcome = pipeline.finish();
    assert_eq!(outcome.violations, [StepOutput::by("three", ContractViolation::ForeignTag)]);
    assert_eq!(outcome.answered, ["one", "two", "three"]);
}

#[test]
fn the_shortest_ttl_wins_and_zero_is_ignored() {
    let check = |ttls: &[Option<u64>], expected: Option<u64>| {
        let answers = ttls.iter().map(|ttl| {
            let meta = ResponseMeta { ttl: ttl.map(Duration::from_secs), ..ResponseMeta::default() };
            answer("s", RunResponse { meta, ..RunResponse::default() })
        });
        let outcome = fold(answers, Audience::CompositeAndClaim);
        assert_eq!(outcome.ttl, expected.map(Duration::from_secs), "{ttls:?}");
    };
    check(&[], None);
    check(&[None, Some(0)], None);
    check(&[Some(60), Some(0), Some(30), None], Some(30));
    check(&[Some(30), Some(60)], Some(30));
}

fn any_answer() -> impl Strategy<Value = RunResponse> {
    let severity = prop_oneof![
        Just(Severity::Normal),
        Just(Severity::Warning),
        Just(Severity::Unspecified),
        Just(Severity::Fatal)
    ];
    let target = prop_oneof![Just(Target::Composite), Just(Target::CompositeAndClaim)];
    let results = prop::collection::vec((severity, "[a-c]{1,2}", target.clone()), 0..4);
    let kinds = prop_oneof![Just(""), Just("Ready"), Just("A"), Just("B")];
    let conditions = prop::collection::vec((kinds, target), 0..4);
    let keys = prop::collection::btree_set("[a-d]", 0..4);
    (results, conditions, keys, 0_u64..3).prop_map(|(results, conditions, keys, ttl)| RunResponse {
        meta: ResponseMeta { ttl: Some(Duration::from_secs(ttl)), ..ResponseMeta::default() },
        desired: State {
            composite: Resource::default(),
            resources: keys.into_iter().map(|key| (key, Resource::default())).collect(),
        },
        results: results
            .into_iter()
            .map(|(severity, message, target)| FunctionResult { target, ..result(severity, &message) })
            .collect(),
        conditions: conditions
            .into_iter()
            .map(|(kind, target)| condition(kind, ConditionStatus::True, "Why", target))
            .collect(),
        ..RunResponse::default()
    })
}

proptest! {
    #[test]
    fn folding_is_deterministic_and_nothing_follows_a_failure(
        answers in prop::collection::vec(any_answer(), 0..5), extra in any_answer(),
    ) {
        let steps = |answers: &[RunResponse]| -> Vec<StepResponse> {
            answers.iter().enumerate().map(|(i, a)| answer(&format!("s{i}"), a.clone())).collect()
        };
        let outcome = fold(steps(&answers), Audience::CompositeAndClaim);
        prop_assert_eq!(&outcome, &fold(steps(&answers), Audience::CompositeAndClaim));

        // The first fatal result decides; later steps change nothing.
        let fatal = answers.iter().position(|answer| answer.fatal().is_some());
        prop_assert_eq!(outcome.failure.is_some(), fatal.is_some());
        if let Some(fatal) = fatal {
            let step = format!("s{fatal}");
            prop_assert_eq!(outcome.failure.as_ref().unwrap().step(), &step);
            let mut longer = answers.clone();
            longer.push(extra);
            prop_assert_eq!(&outcome, &fold(steps(&longer), Audience::CompositeAndClaim));
        } else {
            let desired = answers.last().map(|answer| answer.desired.clone()).unwrap_or_default();
            prop_assert_eq!(&outcome.desired, &desired);
        }

        // No condition of the engine's gets through, and none without type or reason.
        for it in &outcome.conditions {
            let kept = &it.output;
            prop_assert!(!kept.kind.is_empty() && !kept.reason.is_empty() && !crate::condition::is_system(&kept.kind));
        }
        // On a modern scope nothing is left that addresses a claim.
        let modern = fold(steps(&answers), Audience::CompositeOnly);
        prop_assert!(modern.conditions.iter().all(|it| it.output.target == Target::Composite));
        prop_assert!(modern.results.iter().all(|it| it.output.target == Target::Composite));
    }
}
