use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::protocol::{Resource, State};

/// One run: observed resources, the XR and extra resources, and the hooks.
struct Case {
    resources: Value,
    composite: Value,
    extra: Value,
    hooks: Value,
}

impl Default for Case {
    fn default() -> Self {
        Self { resources: json!({}), composite: json!({}), extra: json!(null), hooks: json!([]) }
    }
}

fn answer(case: &Case) -> RunResponse {
    let resources = case.resources.as_object().unwrap();
    let resource = |(key, value): (&String, &Value)| (key.clone(), Resource::of(value.clone()));
    let observed = State {
        composite: Resource::of(case.composite.clone()),
        resources: resources.iter().map(resource).collect(),
    };
    let context = json!({EXTRA_RESOURCES: case.extra}).as_object().cloned();
    let input = json!({
        "apiVersion": "function-status-transformer.fn.crossplane.io/v1beta1", "kind": "StatusTransformation",
        "statusConditionHooks": case.hooks,
    });
    run(&RunRequest {
        observed: Arc::new(observed),
        context,
        input: input.as_object().cloned(),
        ..RunRequest::default()
    })
}

/// Conditions and results, one a line; the function's own condition comes last.
fn check(case: &Case) -> String {
    let response = answer(case);
    assert!(response.fatal().is_none());
    let target = |target: Target| if target == Target::CompositeAndClaim { "C&C" } else { "XR" };
    let conditions = response.conditions.iter().map(|c| {
        let message = c.message.as_deref().unwrap_or_default();
        format!("{} {}={} {} {message}", target(c.target), c.kind, c.status.as_str(), c.reason)
            .trim_end()
            .to_owned()
    });
    let results = response.results.iter().map(|r| {
        let reason = r.reason.as_deref().unwrap_or("-");
        format!("EV {} {:?} {reason} {}", target(r.target), r.severity, r.message)
    });
    conditions.chain(results).collect::<Vec<_>>().join("\n")
}

fn with(conditions: &[(&str, &str, &str, &str)]) -> Value {
    let condition = |(kind, status, reason, message): &(&str, &str, &str, &str)| json!({"type": kind, "status": status, "reason": reason, "message": message});
    json!({"status": {"conditions": conditions.iter().map(condition).collect::<Vec<_>>()}})
}

fn synced() -> Value {
    with(&[("Synced", "True", "ReconcileSuccess", "")])
}

fn set(kind: &str, status: &str) -> Value {
    json!({"condition": {"type": kind, "status": status, "reason": "R"}})
}

/// A hook that sets A when `matcher` matches.
fn hook(matcher: &Value) -> Value {
    json!([{"matchers": [matcher], "setConditions": [set("A", "True")]}])
}

const FIRED: &str = "XR A=True R\nXR StatusTransformationSuccess=True Available";
const QUIET: &str = "XR StatusTransformationSuccess=True Available";

#[test]
fn captures_regex_groups() {
    let failed = "failed to create the database: some internal error in bucket-7.";
    let case = Case {
        resources: json!({"db": with(&[("Synced", "False", "ReconcileError", failed)])}),
        hooks: json!([{
            "matchers": [{"resources": [{"name": "db"}], "conditions": [{
                "type": "Synced", "status": "False", "reason": "ReconcileError",
                "message": "failed to create the database: (?P<Error>.+) in (?P<Where>[a-z]+-\\d+)",
            }]}],
            "setConditions": [{"target": "CompositeAndClaim", "condition": {"type": "DatabaseReady", "status": "False",
                "reason": "FailedToCreate", "message": "Trouble: {{ .Error }} ({{.Where}}, {{ .Missing }})"}}],
            "createEvents": [{"target": "CompositeAndClaim",
                "event": {"type": "Warning", "reason": "FailedToCreate", "message": "{{ .Error }}!"}}],
        }]),
        ..Case::default()
    };
    insta::assert_snapshot!(check(&case), @r"
    C&C DatabaseReady=False FailedToCreate Trouble: some internal error (bucket-7, <no value>)
    XR StatusTransformationSuccess=True Available
    EV C&C Warning FailedToCreate some internal error!
    ");
}

#[test]
fn wildcard_matching() {
    let resources = json!({"db": with(&[("Synced", "Unknown", "Whatever", "any text")])});
    let matcher = json!({"resources": [{"name": ".*"}], "conditions": [{"type": "Synced"}]});
    assert_eq!(check(&Case { resources, hooks: hook(&matcher), ..Case::default() }), FIRED);
}

#[test]
fn match_conditions_anded() {
    let check_with = |ready: &str| {
        let resources = json!({"db": with(&[("Synced", "True", "", ""), ("Ready", ready, "", "")])});
        let matcher = |kind: &str| json!({"resources": [{"name": "db"}], "conditions": [{"type": kind, "status": "True"}]});
        let hooks =
            json!([{"matchers": [matcher("Synced"), matcher("Ready")], "setConditions": [set("A", "True")]}]);
        check(&Case { resources, hooks, ..Case::default() })
    };
    assert_eq!(check_with("True"), FIRED);
    assert_eq!(check_with("False"), QUIET);
}

#[test]
fn condition_override_logic() {
    let matcher = json!([{"resources": [{"name": "db"}], "conditions": [{"type": "Synced"}]}]);
    let forced = |status: &str| {
        let mut set = set("B", status);
        set["force"] = true.into();
        set
    };
    let hooks = json!([
        {"matchers": matcher, "setConditions": [set("A", "True"), set("B", "True")]},
        {"matchers": matcher, "setConditions": [set("A", "False"), forced("False")]},
        {"matchers": matcher, "setConditions": [set("A", "Unknown"), forced("Unknown")]},
    ]);
    insta::assert_snapshot!(check(&Case { resources: json!({"db": synced()}), hooks, ..Case::default() }), @r"
    XR A=True R
    XR B=True R
    XR B=False R
    XR B=Unknown R
    XR StatusTransformationSuccess=True Available
    ");
}

#[test]
fn handles_missing_resources() {
    let matcher =
        json!({"resources": [{"name": "gone"}], "conditions": [{"type": "Synced", "status": "Unknown"}]});
    assert_eq!(
        check(&Case { resources: json!({"db": synced()}), hooks: hook(&matcher), ..Case::default() }),
        QUIET
    );
}

#[test]
fn a_missing_condition_reads_as_unknown() {
    let matcher = json!({"resources": [{"name": "db"}], "conditions": [{"type": "Ready", "status": "Unknown", "reason": ""}]});
    assert_eq!(
        check(&Case { resources: json!({"db": synced()}), hooks: hook(&matcher), ..Case::default() }),
        FIRED
    );
}

#[test]
fn no_match_conditions() {
    let matcher = json!({"resources": [{"name": "db"}], "conditions": []});
    assert_eq!(
        check(&Case { resources: json!({"db": synced()}), hooks: hook(&matcher), ..Case::default() }),
        QUIET
    );
    let hooks = json!([{"setConditions": [set("A", "True")]}]);
    assert_eq!(check(&Case { resources: json!({"db": synced()}), hooks, ..Case::default() }), QUIET);
}

#[test]
fn match_condition_no_resource() {
    let matcher = json!({"resources": [], "conditions": [{"type": "Synced"}]});
    assert_eq!(
        check(&Case { resources: json!({"db": synced()}), hooks: hook(&matcher), ..Case::default() }),
        QUIET
    );
}

#[test]
fn setting_default_conditions() {
    let any = json!([{"resources": [{"name": ".*"}], "conditions": [{"type": "Synced"}]}]);
    let failing =
        json!([{"resources": [{"name": "db"}], "conditions": [{"type": "Synced", "status": "False"}]}]);
    let hooks = json!([
        {"matchers": failing, "setConditions": [set("A", "False")]},
        {"matchers": any, "setConditions": [set("A", "True"), set("B", "Unknown")]},
    ]);
    let resources = json!({"db": with(&[("Synced", "False", "", "")])});
    insta::assert_snapshot!(check(&Case { resources, hooks, ..Case::default() }), @r"
    XR A=False R
    XR B=Unknown R
    XR StatusTransformationSuccess=True Available
    ");
}

#[test]
fn match_regex_failure_message() {
    let matcher =
        json!({"resources": [{"name": "db"}], "conditions": [{"type": "Synced", "message": "(unclosed"}]});
    insta::assert_snapshot!(check(&Case { resources: json!({"db": synced()}), hooks: hook(&matcher), ..Case::default() }), @r#"XR StatusTransformationSuccess=False MatchFailure statusConditionHooks[0]: matchers[0].conditions[0].message: "(unclosed" is not a valid regular expression: unclosed group"#);
}

#[test]
fn match_regex_failure_resource_name() {
    let matcher =
        json!({"resources": [{"name": "db"}, {"name": "[z-a]"}], "conditions": [{"type": "Synced"}]});
    insta::assert_snapshot!(check(&Case { resources: json!({"db": synced()}), hooks: hook(&matcher), ..Case::default() }), @r#"XR StatusTransformationSuccess=False MatchFailure statusConditionHooks[0]: matchers[0].resources[1].name: "[z-a]" is not a valid regular expression: invalid character class range, the start must be <= the end"#);
}

#[test]
fn template_parse_failure() {
    let check_with = |message: &str| {
        let matchers = json!([{"resources": [{"name": "db"}], "conditions": [{"type": "Synced"}]}]);
        let mut set = set("A", "True");
        set["condition"]["message"] = message.into();
        let hooks = json!([{"matchers": matchers, "setConditions": [set]}]);
        check(&Case { resources: json!({"db": synced()}), hooks, ..Case::default() })
    };
    insta::assert_snapshot!(check_with("{{ .Unclosed"), @r#"XR StatusTransformationSuccess=False SetConditionFailure statusConditionHooks[0]: setConditions[0].condition.message: unclosed {{ in "{{ .Unclosed""#);
    insta::assert_snapshot!(check_with("{{ if .A }}x{{ end }}"), @"XR StatusTransformationSuccess=False SetConditionFailure statusConditionHooks[0]: setConditions[0].condition.message: {{ if .A }} is not supported: write the name of a group, such as {{ .Error }}");
}

#[test]
fn continues_on_failure() {
    let good = json!([{"resources": [{"name": "db"}], "conditions": [{"type": "Synced"}]}]);
    let bad = json!([{"resources": [{"name": "("}], "conditions": [{"type": "Synced"}]}]);
    let mut unsound = set("B", "True");
    unsound["condition"]["message"] = "{{".into();
    let hooks = json!([
        {"matchers": bad, "setConditions": [set("Never", "True")]},
        {"matchers": good, "setConditions": [unsound, set("C", "True")]},
        {"matchers": good, "setConditions": [set("A", "True")]},
    ]);
    insta::assert_snapshot!(check(&Case { resources: json!({"db": synced()}), hooks, ..Case::default() }), @r#"
    XR C=True R
    XR A=True R
    XR StatusTransformationSuccess=False MatchFailure statusConditionHooks[0]: matchers[0].resources[0].name: "(" is not a valid regular expression: unclosed group; statusConditionHooks[1]: setConditions[0].condition.message: unclosed {{ in "{{"
    "#);
}

#[test]
fn bad_input() {
    insta::assert_snapshot!(check(&Case { hooks: json!("text"), ..Case::default() }), @r#"XR StatusTransformationSuccess=False InputFailure cannot read the input at statusConditionHooks: invalid type: string "text", expected a sequence"#);
    let no_type = json!([{"matchers": [{"conditions": [{"status": "True"}]}]}]);
    insta::assert_snapshot!(check(&Case { hooks: no_type, ..Case::default() }), @"XR StatusTransformationSuccess=False InputFailure cannot read the input at statusConditionHooks[0].matchers[0].conditions[0]: missing field `type`");
}

fn events(events: &Value) -> String {
    let matchers = json!([{"resources": [{"name": "db"}], "conditions": [{"type": "Synced"}]}]);
    let hooks = json!([{"matchers": matchers, "createEvents": events}]);
    check(&Case { resources: json!({"db": synced()}), hooks, ..Case::default() })
}

#[test]
fn invalid_event_type() {
    let both = json!([{"event": {"type": "Fatal", "message": "m"}}, {"event": {"message": "still sent"}}]);
    insta::assert_snapshot!(events(&both), @r#"
    XR StatusTransformationSuccess=False SetConditionFailure statusConditionHooks[0]: createEvents[0].event.type: "Fatal" is neither Normal nor Warning
    EV XR Normal - still sent
    "#);
}

#[test]
fn default_event_type() {
    insta::assert_snapshot!(events(&json!([{"event": {"reason": "R", "message": "m"}}])), @r"
    XR StatusTransformationSuccess=True Available
    EV XR Normal R m
    ");
}

#[test]
fn default_targets() {
    let matchers = json!([{"resources": [{"name": "db"}], "conditions": [{"type": "Synced"}]}]);
    let mut claim = set("B", "True");
    claim["target"] = "CompositeAndClaim".into();
    let mut composite = set("C", "True");
    composite["target"] = "Composite".into();
    let hooks = json!([{"matchers": matchers, "setConditions": [set("A", "True"), claim, composite],
        "createEvents": [{"event": {"message": "m"}}]}]);
    insta::assert_snapshot!(check(&Case { resources: json!({"db": synced()}), hooks, ..Case::default() }), @r"
    XR A=True R
    C&C B=True R
    XR C=True R
    XR StatusTransformationSuccess=True Available
    EV XR Normal - m
    ");
}

/// Whether a matcher of `kind` for A=True and B=True matches `one` and `two`, each given by the statuses of A and B.
fn match_type(kind: Option<&str>, one: (&str, &str), two: (&str, &str)) -> bool {
    let resource = |(a, b): (&str, &str)| with(&[("A", a, "", ""), ("B", b, "", "")]);
    let mut matcher = json!({"resources": [{"name": "one|two"}],
        "conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]});
    if let Some(kind) = kind {
        matcher["type"] = kind.into();
    }
    let resources = json!({"one": resource(one), "two": resource(two)});
    check(&Case { resources, hooks: hook(&matcher), ..Case::default() }) == FIRED
}

const YES: (&str, &str) = ("True", "True");
const HALF: (&str, &str) = ("True", "False");
const OTHER_HALF: (&str, &str) = ("False", "True");
const NO: (&str, &str) = ("False", "False");

#[test]
fn any_resource_matches_any_condition() {
    let kind = Some("AnyResourceMatchesAnyCondition");
    assert!(match_type(kind, HALF, NO));
    assert!(!match_type(kind, NO, NO));
}

#[test]
fn any_resource_matches_all_conditions() {
    let kind = Some("AnyResourceMatchesAllConditions");
    assert!(match_type(kind, YES, NO));
    assert!(!match_type(kind, HALF, OTHER_HALF));
}

#[test]
fn all_resources_match_any_condition() {
    let kind = Some("AllResourcesMatchAnyCondition");
    assert!(match_type(kind, HALF, OTHER_HALF));
    assert!(!match_type(kind, YES, NO));
}

#[test]
fn all_resources_match_all_conditions() {
    for kind in [Some("AllResourcesMatchAllConditions"), None] {
        assert!(match_type(kind, YES, YES));
        assert!(!match_type(kind, YES, HALF));
    }
}

#[test]
fn match_the_composite_resource() {
    let matcher =
        json!({"includeCompositeAsResource": true, "conditions": [{"type": "Synced", "status": "True"}]});
    assert_eq!(check(&Case { composite: synced(), hooks: hook(&matcher), ..Case::default() }), FIRED);
}

#[test]
fn do_not_match_the_composite_resource_by_default() {
    let matcher =
        json!({"resources": [{"name": ".*"}], "conditions": [{"type": "Synced", "status": "True"}]});
    assert_eq!(check(&Case { composite: synced(), hooks: hook(&matcher), ..Case::default() }), QUIET);
}

fn extra(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, status: &str) -> Value {
    let mut object = with(&[("Synced", status, "", &format!("{name} speaking"))]);
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    object["metadata"] = json!({"name": name});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

/// What a matcher over extra resources does, given the pattern of names.
fn extra_case(include: bool, pattern: &str, extra: &Value) -> String {
    let matcher = json!({"includeExtraResources": include, "resources": [{"name": pattern}],
        "conditions": [{"type": "Synced", "status": "True"}]});
    check(&Case {
        resources: json!({"db": synced()}),
        extra: extra.clone(),
        hooks: hook(&matcher),
        ..Case::default()
    })
}

fn both_extras() -> Value {
    json!({
        "buckets": [extra("s3.example.org/v1", "Bucket", None, "a", "True"), extra("s3.example.org/v1", "Bucket", None, "b", "False")],
        "config": [extra("v1", "ConfigMap", Some("ns"), "c", "True")],
    })
}

#[test]
fn extra_resources_match_by_their_made_up_name() {
    assert_eq!(
        extra_case(true, r"^extra-resource\.buckets\.s3\.example\.org\.Bucket\.\.a$", &both_extras()),
        FIRED
    );
}

#[test]
fn extra_resources_of_the_core_group_have_an_empty_group() {
    assert_eq!(extra_case(true, r"^extra-resource\.config\.\.ConfigMap\.ns\.c$", &both_extras()), FIRED);
}

#[test]
fn extra_resources_are_not_matched_by_default() {
    assert_eq!(extra_case(false, "^extra-resource", &both_extras()), QUIET);
}

#[test]
fn all_extra_resources_have_to_match_by_default() {
    assert_eq!(extra_case(true, r"^extra-resource\.buckets", &both_extras()), QUIET);
}

#[test]
fn extra_resources_and_observed_ones_match_together() {
    assert_eq!(extra_case(true, r"^db$|ConfigMap", &both_extras()), FIRED);
    assert_eq!(extra_case(true, r"^db$|Bucket", &both_extras()), QUIET);
}

#[test]
fn extra_resources_match_by_where_they_were_put() {
    assert_eq!(extra_case(true, r"\.config\.", &both_extras()), FIRED);
}

#[test]
fn without_extra_resources_nothing_matches() {
    assert_eq!(extra_case(true, "^extra-resource", &json!(null)), QUIET);
    assert_eq!(extra_case(true, "^extra-resource", &json!({"buckets": []})), QUIET);
}

#[test]
fn extra_resources_that_are_not_objects_are_skipped() {
    assert_eq!(extra_case(true, "^extra-resource", &json!({"buckets": ["text", 1], "more": "text"})), QUIET);
}

#[test]
fn extra_resources_are_captured_from() {
    let matcher = json!({"includeExtraResources": true, "resources": [{"name": "ConfigMap"}],
        "conditions": [{"type": "Synced", "message": "(?P<Who>\\w+) speaking"}]});
    let mut set = set("A", "True");
    set["condition"]["message"] = "{{ .Who }}".into();
    let hooks = json!([{"matchers": [matcher], "setConditions": [set]}]);
    insta::assert_snapshot!(check(&Case { extra: both_extras(), hooks, ..Case::default() }), @r"
    XR A=True R c
    XR StatusTransformationSuccess=True Available
    ");
}

#[test]
fn desired_state_and_context_pass_through() {
    let mut request = RunRequest::default();
    request.desired.resources.insert("a".to_owned(), Resource::of(json!({"kind": "K"})));
    request.context = json!({"k": 1}).as_object().cloned();
    let response = run(&request);
    assert_eq!((response.desired, response.context), (request.desired, request.context));
    assert_eq!(response.meta.ttl.unwrap().as_secs(), 60);
}
