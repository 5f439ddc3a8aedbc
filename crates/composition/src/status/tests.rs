use ConditionStatus::{False, True};
use Target::{Composite as Xr, CompositeAndClaim as Both};

use proptest::prelude::*;

use super::*;
use crate::object::object;
use crate::pipeline::Audience;
use crate::pipeline::tests::{StepResponse, fold};
use crate::protocol::{FunctionResult, Ready, Resource, RunResponse, Severity, State};

const OLD: &str = "2026-01-01T00:00:00Z";

fn now() -> Timestamp {
    "2026-06-01T12:00:00.7Z".parse().unwrap()
}

fn condition(kind: &str, status: ConditionStatus, reason: &str, target: Target) -> FunctionCondition {
    FunctionCondition { kind: kind.to_owned(), status, reason: reason.to_owned(), message: None, target }
}

fn normal(reason: &str, target: Target) -> FunctionResult {
    let message = format!("{reason}!");
    FunctionResult { severity: Severity::Normal, message, reason: Some(reason.to_owned()), target }
}

fn respond(conditions: Vec<FunctionCondition>, results: Vec<FunctionResult>) -> Outcome {
    let response = Ok(RunResponse { results, conditions, ..RunResponse::default() });
    let step = StepResponse { step: "some-function".to_owned(), function: "f".to_owned(), response };
    fold([step], Audience::CompositeAndClaim)
}

fn xr(status: &Value) -> Object {
    object(json!({
        "apiVersion": "example.org/v1", "kind": "XR",
        "metadata": {"name": "x", "uid": "u", "generation": 3, "labels": {"a": "b"}},
        "spec": {"claimRef": {"apiVersion": "example.org/v1", "kind": "C", "namespace": "n", "name": "c"}},
        "status": status,
    }))
}

fn was(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": OLD})
}

struct Case<'a> {
    xr: Object,
    revision: &'a str,
    outcome: Outcome,
    failure: Option<ReconcileFailure>,
    children: Vec<Child>,
}

impl Case<'_> {
    fn new(status: &Value, outcome: Outcome) -> Self {
        let failure = outcome.failure.as_ref().map(ReconcileFailure::of);
        Self { xr: xr(status), revision: "rev-1", outcome, failure, children: Vec::new() }
    }

    fn report(&self) -> StatusReport {
        report(&Reconcile {
            xr: Composite::new(&self.xr, Layout::Legacy),
            revision: self.revision,
            outcome: &self.outcome,
            failure: self.failure.as_ref(),
            children: &self.children,
            missing: &[],
            responsive: Condition::new("Responsive", True, "WatchCircuitClosed", now()),
            published: None,
            now: now(),
        })
    }

    /// The XR after the status has been applied and read back.
    fn applied(&self) -> Object {
        let mut xr = self.xr.clone();
        xr.insert("status".to_owned(), self.report().intent["status"].clone());
        xr
    }
}

/// The conditions, the types the claim shows and the events, one a line; an old transition time is marked.
fn shown(settled: &StatusReport) -> String {
    let id = settled.problem.as_ref().map_or("no id", |problem| &problem.id);
    let mut lines: Vec<String> = Conditions::of(&settled.intent)
        .iter()
        .map(|c| {
            let age = if c.last_transition_time.to_string() == OLD { " (old)" } else { "" };
            let text = format!("{} {} {} {}", c.kind, c.status.as_str(), c.reason, c.message);
            format!("{}{age}", text.trim_end())
        })
        .collect();
    lines.push(format!(
        "claim: {}",
        settled.intent["status"].get("claimConditionTypes").unwrap_or(&json!([]))
    ));
    lines.extend(settled.events.iter().map(|event| {
        format!("EV {:?} {} {} {}", event.on, event.kind.as_str(), event.reason, event.message)
    }));
    lines.join("\n").replace(id, "ID")
}

/// Crossplane's case CustomEventsAndConditions, with `Healthy` added; SelectComposition is recorded by the selection.
#[test]
fn custom_events_and_conditions() {
    let outcome = respond(
        vec![
            condition("DatabaseReady", True, "Available", Both),
            condition("InternalSync", True, "SyncSuccess", Xr),
        ],
        vec![normal("DatabaseAvailable", Both), normal("SyncSuccess", Xr)],
    );
    insta::assert_snapshot!(shown(&Case::new(&json!({}), outcome).report()), @r#"
    Responsive True WatchCircuitClosed
    DatabaseReady True Available
    InternalSync True SyncSuccess
    Synced True ReconcileSuccess
    Ready True Available
    Healthy True Healthy
    claim: ["DatabaseReady"]
    EV Composite Normal DatabaseAvailable Pipeline step "some-function": DatabaseAvailable!
    EV Claim Normal DatabaseAvailable DatabaseAvailable!
    EV Composite Normal SyncSuccess Pipeline step "some-function": SyncSuccess!
    "#);
}

/// Crossplane's case CustomEventsAndConditionFatal.
///
/// There: no Healthy, no Ready, the event without an id, and DatabaseReady keeps its old transition time.
#[test]
fn custom_events_and_conditions_of_a_failed_reconcile() {
    let status = json!({
        "conditions": [was("DatabaseReady", "True", "Available"), was("SomeoneElses", "True", "Theirs")],
        "claimConditionTypes": ["DatabaseReady"],
    });
    let outcome = respond(
        vec![
            condition("InternalSync", True, "SyncSuccess", Xr),
            condition("BucketReady", True, "Available", Both),
        ],
        vec![normal("DatabaseAvailable", Both), normal("SyncSuccess", Xr)],
    );
    let boom = ReconcileFailure::engine(Stage::Compose, "Boom", "boom");
    let case = Case { failure: Some(boom), ..Case::new(&status, outcome) };
    insta::assert_snapshot!(shown(&case.report()), @r#"
    DatabaseReady Unknown FatalError A fatal error occurred before the status of this condition could be determined.
    Responsive True WatchCircuitClosed
    Synced False ReconcileError cannot compose resources: boom
    InternalSync True SyncSuccess
    BucketReady True Available
    Ready False Creating
    Healthy False ReconcileError cannot compose resources: boom (error id ID)
    claim: ["DatabaseReady","BucketReady"]
    EV Composite Warning ComposeResources cannot compose resources: boom (error id ID)
    EV Composite Normal DatabaseAvailable Pipeline step "some-function": DatabaseAvailable!
    EV Claim Normal DatabaseAvailable DatabaseAvailable!
    EV Composite Normal SyncSuccess Pipeline step "some-function": SyncSuccess!
    "#);
}

/// Crossplane's case CustomConditionUpdate.
#[test]
fn conditions_not_returned_stay_while_their_revision_is_in_use() {
    let status = json!({
        "conditions": [was("DatabaseReady", "True", "Available"), was("BucketReady", "False", "Creating")],
        "claimConditionTypes": ["DatabaseReady", "BucketReady"],
    });
    let outcome = respond(
        vec![
            condition("InternalSync", True, "SyncSuccess", Xr),
            condition("BucketReady", True, "Available", Both),
        ],
        vec![],
    );
    insta::assert_snapshot!(shown(&Case::new(&status, outcome).report()), @r#"
    DatabaseReady True Available (old)
    BucketReady True Available
    Responsive True WatchCircuitClosed
    InternalSync True SyncSuccess
    Synced True ReconcileSuccess
    Ready True Available
    Healthy True Healthy
    claim: ["DatabaseReady","BucketReady"]
    "#);
}

/// Crossplane's cases SystemConditionUpdate and CompositionWarnings.
#[test]
fn readiness_follows_the_functions_and_warnings_do_not_unsync() {
    let mut unready = respond(vec![], vec![]);
    unready.desired.composite.ready = Ready::False;
    let settled = Case::new(&json!({}), unready).report();
    let conditions = Conditions::of(&settled.intent);
    assert_eq!(conditions.get("Ready").unwrap().reason, "Creating");
    assert_eq!(conditions.get("Ready").unwrap().message, "");
    assert!(conditions.get("Synced").unwrap().is_true());

    let warning = FunctionResult { severity: Severity::Warning, ..normal("Careful", Xr) };
    let settled = Case::new(&json!({}), respond(vec![], vec![warning])).report();
    let conditions = Conditions::of(&settled.intent);
    assert!(conditions.get("Synced").unwrap().is_true() && conditions.get("Ready").unwrap().is_true());
    assert_eq!(settled.ttl, None);
}

/// Crossplane's cases for claimConditionTypes.
#[test]
fn types_for_the_claim_are_listed_once() {
    let check = |before: &Value, returned: &[(&str, Target)], expected: &Value| {
        let conditions = returned.iter().map(|(kind, target)| condition(kind, True, "R", *target)).collect();
        let status = json!({"claimConditionTypes": before});
        let settled = Case::new(&status, respond(conditions, vec![])).report();
        assert_eq!(settled.intent["status"].get("claimConditionTypes").unwrap_or(&json!([])), expected);
    };
    check(&json!([]), &[("A", Both)], &json!(["A"]));
    check(&json!([]), &[("A", Both), ("B", Both)], &json!(["A", "B"]));
    check(&json!(["A"]), &[("A", Both), ("B", Both), ("B", Both)], &json!(["A", "B"]));
    // Crossplane's setter refuses the whole call; here a function cannot set a system type at all.
    check(&json!(["A"]), &[("Ready", Both), ("B", Both)], &json!(["A", "B"]));
    check(&json!("not a list"), &[("A", Both)], &json!(["A"]));
    // A type that is narrowed to the composite leaves the claim at once; Crossplane keeps showing it.
    check(&json!(["A", "B"]), &[("A", Xr)], &json!(["B"]));
    let odd = Case {
        xr: object(json!({"status": "not an object"})),
        ..Case::new(&json!({}), respond(vec![], vec![]))
    };
    assert_eq!(odd.report().intent["status"].get("claimConditionTypes"), None);
}

#[test]
fn a_new_revision_leaves_behind_what_it_does_not_set() {
    let first = Case::new(
        &json!({}),
        respond(vec![condition("A", True, "R", Both), condition("B", True, "R", Both)], vec![]),
    );
    let xr = first.applied();
    // A failed reconcile of the new revision removes nothing.
    let next = respond(vec![condition("B", True, "R", Both)], vec![]);
    let mut second = Case { xr, revision: "rev-2", ..Case::new(&json!({}), next) };
    second.failure = Some(ReconcileFailure::engine(Stage::Compose, "Boom", "boom"));
    let failed = second.report();
    assert!(Conditions::of(&failed.intent).get("A").is_some());
    // The first complete one does, and the claim removes them.
    second.failure = None;
    let settled = second.report();
    assert!(Conditions::of(&settled.intent).get("A").is_none());
    assert_eq!(settled.intent["status"]["claimConditionTypes"], json!(["B"]));
    assert_eq!(settled.intent["status"]["crossplane"]["retiredConditionTypes"], json!(["A"]));
    assert_eq!(
        settled.intent["status"]["crossplane"]["conditionTypes"],
        json!([{"type": "B", "revision": "rev-2"}])
    );
    // A type that comes back is no longer retired.
    let back = respond(vec![condition("A", True, "R", Both)], vec![]);
    let third = Case { xr: second.applied(), revision: "rev-2", ..Case::new(&json!({}), back) };
    assert_eq!(third.report().intent["status"]["crossplane"].get("retiredConditionTypes"), None);
}

#[test]
fn a_failure_outside_composing_touches_no_custom_condition() {
    let first =
        Case::new(&json!({}), respond(vec![condition("A", True, "R", Both)], vec![normal("StepOutput", Xr)]));
    let no_composition =
        ReconcileFailure::engine(Stage::SelectComposition, "NoMatch", "no compatible Compositions found");
    let mut second = Case { xr: first.applied(), ..Case::new(&json!({}), Outcome::default()) };
    second.failure = Some(no_composition);
    let settled = second.report();
    insta::assert_snapshot!(shown(&settled), @r#"
    Responsive True WatchCircuitClosed
    A True R
    Synced False ReconcileError cannot select Composition: no compatible Compositions found
    Ready True Available
    Healthy False ReconcileError cannot select Composition: no compatible Compositions found (error id ID)
    claim: ["A"]
    EV Composite Warning SelectComposition cannot select Composition: no compatible Compositions found (error id ID)
    "#);
    assert_eq!(settled.intent["status"]["crossplane"]["pipeline"][0]["reason"], "StepOutput");
}

#[test]
fn a_complete_reconcile_applies_the_desired_status_and_a_failed_one_keeps_it() {
    let response = Ok(RunResponse {
        desired: State {
            composite: Resource::of(json!({
                "apiVersion": "ignored", "spec": {"ignored": true},
                "status": {"widgets": 42, "claimConditionTypes": ["Injected"], "crossplane": {"injected": true},
                    "conditions": [{"type": "OldWay", "status": "True", "reason": "R"}, {"type": "Ready", "status": "True"}]},
            })),
            ..State::default()
        },
        ..RunResponse::default()
    });
    let step = StepResponse { step: "s".to_owned(), function: "f".to_owned(), response };
    let first = Case::new(&json!({}), fold([step], Audience::CompositeAndClaim));
    let intent = first.report().intent;
    assert_eq!(intent.keys().collect::<Vec<_>>(), ["apiVersion", "kind", "metadata", "status"]);
    assert_eq!(intent["metadata"], json!({"name": "x"}));
    assert_eq!(intent["status"]["widgets"], 42);
    assert_eq!(intent["status"].get("claimConditionTypes"), None);
    assert_eq!(
        intent["status"]["crossplane"],
        json!({"conditionTypes": [{"type": "OldWay", "revision": "rev-1"}]})
    );
    // Crossplane writes a condition set this way once and then never again.
    assert_eq!(Conditions::of(&intent).get("OldWay").unwrap().reason, "R");

    let mut second = Case { xr: first.applied(), ..Case::new(&json!({}), Outcome::default()) };
    second.failure = Some(ReconcileFailure::engine(Stage::Compose, "Boom", "boom"));
    assert_eq!(second.report().intent["status"]["widgets"], 42);
}

#[test]
fn a_second_reconcile_that_finds_the_same_writes_the_same() {
    let outcome = || {
        respond(
            vec![condition("A", True, "R", Both), condition("B", False, "Creating", Xr)],
            vec![normal("DatabaseAvailable", Both)],
        )
    };
    let refused = Child {
        key: "db".to_owned(),
        ready: false,
        state: readiness::ChildState::Refused("spec: FieldValueInvalid".to_owned()),
        problem: None,
    };
    let fatal = FunctionResult { severity: Severity::Fatal, ..normal("Broken", Both) };
    let cases = [
        Case::new(&json!({}), outcome()),
        Case { children: vec![refused], ..Case::new(&json!({}), outcome()) },
        Case::new(&json!({}), respond(vec![condition("A", False, "R", Both)], vec![fatal])),
    ];
    for case in cases {
        let first = case.report();
        let second = Case { xr: case.applied(), ..case };
        assert_eq!(second.report().intent, first.intent);
        // The same reconcile again reports the same events, so the operator's log finds none of them new.
        assert_eq!(second.report().events, first.events);
    }
}

#[test]
fn steps_that_did_not_run_keep_their_last_results() {
    let step =
        |name: &str, response| StepResponse { step: name.to_owned(), function: "f".to_owned(), response };
    let says = |reason: &str| Ok(RunResponse { results: vec![normal(reason, Xr)], ..RunResponse::default() });
    let first = fold([step("one", says("A")), step("two", says("B"))], Audience::CompositeAndClaim);
    let first = Case::new(&json!({}), first);
    let down = Err(crate::runner::RunError::new(crate::runner::RunErrorClass::TimedOut, "too slow"));
    let second = fold([step("one", says("C")), step("two", down)], Audience::CompositeAndClaim);
    let second = Case { xr: first.applied(), ..Case::new(&json!({}), second) };
    let reasons = |settled: &StatusReport| -> Vec<String> {
        let kept = settled.intent["status"]["crossplane"]["pipeline"].as_array().unwrap();
        kept.iter().map(|entry| entry["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(reasons(&first.report()), ["A", "B"]);
    assert_eq!(reasons(&second.report()), ["C", "B"]);
    // A complete reconcile drops steps that no longer exist.
    let third = fold([step("one", says("D"))], Audience::CompositeAndClaim);
    let third = Case { xr: second.applied(), ..Case::new(&json!({}), third) };
    assert_eq!(reasons(&third.report()), ["D"]);
}

#[test]
fn a_child_that_cannot_be_applied_makes_a_ready_xr_unready() {
    let first = Case::new(&json!({}), respond(vec![], vec![]));
    let missing = Child {
        key: "db".to_owned(),
        ready: true,
        state: readiness::ChildState::Missing("forbidden".to_owned()),
        problem: None,
    };
    let failure = ReconcileFailure::engine(
        Stage::Compose,
        "Forbidden",
        "cannot apply composed resource \"db\": forbidden",
    );
    let second = Case {
        xr: first.applied(),
        failure: Some(failure),
        children: vec![missing],
        ..Case::new(&json!({}), respond(vec![], vec![]))
    };
    let conditions = Conditions::of(&second.report().intent);
    assert!(Conditions::of(&first.applied()).get("Ready").unwrap().is_true());
    assert_eq!(conditions.get("Ready").unwrap().message, "Unready resources: db");
}

#[test]
fn types_shown_before_a_takeover_stay_until_their_revision_changes() {
    let status = json!({"conditions": [was("A", "True", "R")], "claimConditionTypes": ["A"]});
    let mut case = Case::new(&status, respond(vec![], vec![]));
    case.xr["spec"]["compositionRevisionRef"] = json!({"name": "rev-1"});
    assert!(Conditions::of(&case.report().intent).get("A").is_some());
    case.revision = "rev-2";
    assert!(Conditions::of(&case.report().intent).get("A").is_none());
    // Also when the first reconcile fails before a revision is chosen.
    case.revision = "";
    case.failure = Some(ReconcileFailure::engine(Stage::SelectComposition, "NoMatch", "none"));
    let owners = &case.report().intent["status"]["crossplane"]["conditionTypes"];
    assert_eq!(owners, &json!([{"type": "A", "revision": "rev-1"}]));
}

fn any_condition() -> impl Strategy<Value = FunctionCondition> {
    let status = prop_oneof![Just(True), Just(False), Just(ConditionStatus::Unknown)];
    let target = prop_oneof![Just(Xr), Just(Both)];
    ("A|B|C|Ready|", status, "R|S|", target)
        .prop_map(|(kind, status, reason, target)| condition(&kind, status, &reason, target))
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let severity = prop_oneof![Just(Severity::Normal), Just(Severity::Warning), Just(Severity::Fatal)];
    let result =
        (severity, "x|y").prop_map(|(severity, reason)| FunctionResult { severity, ..normal(&reason, Both) });
    let conditions = prop::collection::vec(any_condition(), 0..4);
    (conditions, prop::collection::vec(result, 0..4))
        .prop_map(|(conditions, results)| respond(conditions, results))
}

proptest! {
    #[test]
    fn a_second_reconcile_with_the_same_inputs_never_writes(
        before in any_outcome(), now in any_outcome(), revision in "rev-1|rev-2",
    ) {
        let first = Case::new(&json!({}), before);
        let second = Case { revision: &revision, xr: first.applied(), ..Case::new(&json!({}), now.clone()) };
        let settled = second.report();
        let third = Case { revision: &revision, xr: second.applied(), ..Case::new(&json!({}), now) };
        prop_assert_eq!(third.report().intent, settled.intent);
    }

    #[test]
    fn a_claim_never_shows_what_was_last_set_for_the_composite(before in any_outcome(), now in any_outcome()) {
        let first = Case::new(&json!({}), before);
        let second = Case { xr: first.applied(), ..Case::new(&json!({}), now.clone()) };
        let shown = second.report().intent["status"].get("claimConditionTypes").cloned().unwrap_or_default();
        let shown: Vec<&str> = shown.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for last in returned(&now) {
            prop_assert_eq!(shown.contains(&last.kind.as_str()), last.target == Both);
        }
        prop_assert!(!shown.iter().any(|kind| is_system(kind)));
    }
}

/// Three compositions whose authors address the claim in different ways; the first with and without a fatal result.
#[test]
fn a_claim_shows_what_the_author_of_its_composition_decides() {
    let message = "The image provided does not exist or you are not authorized to use it.";
    let not_found = FunctionCondition {
        message: Some(message.to_owned()),
        ..condition("ImageReady", False, "NotFound", Both)
    };
    let creating = FunctionCondition {
        message: Some("Waiting for the deployment to be available.".to_owned()),
        ..condition("AppReady", False, "Creating", Both)
    };
    let available = |kind: &str| condition(kind, True, "Available", Both);
    let fatal = FunctionResult {
        severity: Severity::Fatal,
        message: message.to_owned(),
        reason: Some("NotFound".to_owned()),
        target: Both,
    };
    let check = |conditions: Vec<FunctionCondition>, results: Vec<FunctionResult>| {
        let settled = Case::new(&json!({}), respond(conditions, results)).report();
        let custom: Vec<String> = Conditions::of(&settled.intent)
            .iter()
            .filter(|c| !is_system(&c.kind))
            .map(|c| {
                format!("{}={} {} {}", c.kind, c.status.as_str(), c.reason, c.message).trim_end().to_owned()
            })
            .collect();
        let heard = settled.events.iter().filter(|event| event.on == event::Recipient::Claim);
        let heard: Vec<String> = heard.map(|event| format!("{} {}", event.reason, event.message)).collect();
        [custom, heard].concat().join("\n")
    };
    let image = || vec![available("DatabaseReady"), not_found.clone()];
    insta::assert_snapshot!(check(image(), vec![]), @r"
    DatabaseReady=True Available
    ImageReady=False NotFound The image provided does not exist or you are not authorized to use it.
    ");
    insta::assert_snapshot!(check(image(), vec![fatal]), @r"
    DatabaseReady=True Available
    ImageReady=False NotFound The image provided does not exist or you are not authorized to use it.
    NotFound The image provided does not exist or you are not authorized to use it.
    ");
    insta::assert_snapshot!(check(vec![available("DatabaseReady"), available("ImageReady"), creating], vec![]), @r"
    DatabaseReady=True Available
    ImageReady=True Available
    AppReady=False Creating Waiting for the deployment to be available.
    ");
    insta::assert_snapshot!(check(vec![available("DatabaseReady"), available("ImageReady"), available("AppReady")], vec![]), @r"
    DatabaseReady=True Available
    ImageReady=True Available
    AppReady=True Available
    ");
}

#[test]
fn kept_results_are_few_short_and_the_serious_ones() {
    let many: Vec<FunctionResult> = (0..30)
        .map(|i| FunctionResult {
            severity: if i == 3 { Severity::Warning } else { Severity::Normal },
            message: format!("{i}"),
            ..FunctionResult::default()
        })
        .collect();
    let kept = results::entries(&respond(vec![], many));
    assert_eq!(kept.len(), 20);
    assert_eq!(
        kept[0],
        json!({"step": "some-function", "severity": "Warning", "target": "Composite", "message": "3"})
    );
    assert_eq!(kept[1]["message"], "11");
    assert_eq!(kept[19]["message"], "29");

    for message in ["é".repeat(2000), "\"\n".repeat(2000)] {
        let long = FunctionResult { severity: Severity::Normal, message, ..FunctionResult::default() };
        let kept = results::entries(&respond(vec![], vec![long]));
        assert!(kept[0].to_string().len() <= 1024);
        assert!(kept[0]["message"].as_str().unwrap().ends_with('…'));
    }
}

/// Crossplane's cases for pause, resume and SuccessfulDelete of XRs.
#[test]
fn a_paused_or_deleted_xr_keeps_everything_but_the_given_conditions() {
    let first =
        Case::new(&json!({}), respond(vec![condition("A", True, "R", Both)], vec![normal("StepOutput", Xr)]));
    let xr = first.applied();
    let before = Conditions::of(&xr);
    let paused = with_conditions(Composite::new(&xr, Layout::Legacy), [readiness::reconcile_paused(now())]);
    let after = Conditions::of(&paused);
    assert_eq!(after.get("Synced").unwrap().reason, "ReconcilePaused");
    assert_eq!(after.get("A"), before.get("A"));
    assert_eq!(paused["status"]["claimConditionTypes"], json!(["A"]));
    assert_eq!(paused["status"]["crossplane"], xr["status"]["crossplane"]);

    let mut xr = xr;
    xr.insert("status".to_owned(), paused["status"].clone());
    let resumed = Case { xr: xr.clone(), ..first }.report();
    assert_eq!(Conditions::of(&resumed.intent).get("Synced").unwrap().reason, "ReconcileSuccess");

    let missing = [readiness::deleting(now()), readiness::reconcile_success(now())];
    let deleted = Conditions::of(&with_conditions(Composite::new(&xr, Layout::Legacy), missing));
    assert_eq!(deleted.get("Ready").unwrap().reason, "Deleting");
    assert!(deleted.get("Synced").unwrap().is_true());
}

#[test]
fn conditions_of_other_managers_are_not_taken_over() {
    let status = json!({"conditions": [was("Theirs", "True", "R"), was("Ready", "True", "Available")]});
    let xr = xr(&status);
    let paused = with_conditions(Composite::new(&xr, Layout::Legacy), [readiness::reconcile_paused(now())]);
    assert!(Conditions::of(&paused).get("Theirs").is_none());
    let settled = Case::new(&status, respond(vec![], vec![])).report();
    assert!(Conditions::of(&settled.intent).get("Theirs").is_none());
}
