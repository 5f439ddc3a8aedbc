//! What can be written, what it means, and what is said about the rest.

use diag::Severity;

use super::*;

fn known(text: &str) -> Written<String> {
    Written::Known(text.to_owned())
}

fn values(pairs: &[(&str, &str)]) -> Written<BTreeMap<String, String>> {
    Written::Known(pairs.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect())
}

fn gvk(text: &str) -> GroupVersionKind {
    text.parse().unwrap()
}

/// What a wait means, and everything that is reported about it.
fn report(written: &WrittenWait, kind: &str, cut: Cut) -> String {
    let parsed = written.parse(Some(&gvk(kind)), cut);
    let wait = match &parsed.wait {
        Some(wait) => format!("{} within {}", wait.mode, wait.timeout),
        None => "no wait".to_owned(),
    };
    let diagnostics = parsed.diagnostics.iter().map(|diagnostic| {
        let (severity, field) = (diagnostic.severity.word(), diagnostic.field.as_deref().unwrap_or_default());
        let hint = diagnostic.hint.as_deref().unwrap_or_default();
        format!("\n{severity}: {} ({field})\n{}\n{hint}", diagnostic.summary, diagnostic.detail)
    });
    wait + &diagnostics.collect::<String>()
}

#[test]
fn each_mode_stands_alone() {
    let check = |written: WrittenWait, expected: &str| {
        assert_eq!(report(&written, "apps/v1/Deployment", Cut::Status), expected);
    };
    check(WrittenWait { rollout: Written::Known(true), ..Default::default() }, "rollout within 10m0s");
    check(WrittenWait { field: known("status.a"), ..Default::default() }, "field \"status.a\" within 10m0s");
    check(
        WrittenWait { field_value: values(&[("spec.b", "1")]), timeout: known("90s"), ..Default::default() },
        "field \"spec.b\" = \"1\" within 1m30s",
    );
    check(
        WrittenWait { condition: known("Available"), rollout: Written::Known(false), ..Default::default() },
        "condition \"Available\" within 10m0s",
    );
}

#[test]
fn a_wait_for_nothing_is_a_warning() {
    let nothing = [
        WrittenWait::default(),
        WrittenWait { rollout: Written::Known(false), timeout: known("5m"), ..Default::default() },
        WrittenWait { field: known(""), ..Default::default() },
        WrittenWait { field_value: values(&[]), ..Default::default() },
        WrittenWait { condition: known(""), ..Default::default() },
    ];
    for written in nothing {
        let parsed = written.parse(None, Cut::Root);
        assert_eq!(parsed.wait, None);
        assert_eq!(parsed.diagnostics.len(), 1);
        assert_eq!(parsed.diagnostics[0].severity, Severity::Warning);
    }
    insta::assert_snapshot!(report(&WrittenWait::default(), "v1/Pod", Cut::Root), @"
    no wait
    warning: Wait Has No Condition (wait_for)
    None of field, field_value, condition and rollout = true is set, so there is nothing to wait for.
    Say what to wait for, or remove wait_for.
    ");
}

#[test]
fn field_value_and_condition_exclude_each_other() {
    let written = WrittenWait {
        field: known("status.a"),
        field_value: values(&[("status.a", "1")]),
        condition: known("Ready"),
        ..Default::default()
    };
    insta::assert_snapshot!(report(&written, "example.com/v1/Widget", Cut::Status), @r#"
    no wait
    error: Invalid Attribute Combination (wait_for.field)
    Attribute "wait_for.field_value" cannot be specified when "wait_for.field" is specified

    error: Invalid Attribute Combination (wait_for.field)
    Attribute "wait_for.condition" cannot be specified when "wait_for.field" is specified

    error: Invalid Attribute Combination (wait_for.field_value)
    Attribute "wait_for.condition" cannot be specified when "wait_for.field_value" is specified
    "#);
}

#[test]
fn a_rollout_comes_before_everything_else_and_says_so() {
    let written =
        WrittenWait { rollout: Written::Known(true), field: known("status.a"), ..Default::default() };
    insta::assert_snapshot!(report(&written, "apps/v1/Deployment", Cut::Status), @r#"
    rollout within 10m0s
    warning: Wait Has Several Conditions (wait_for.rollout)
    With rollout = true only the rollout is waited for, not field "status.a".
    Use one wait for each.
    "#);
}

#[test]
fn a_path_that_cannot_be_read_is_an_error() {
    let written = WrittenWait { field: known("status.list[0"), ..Default::default() };
    insta::assert_snapshot!(report(&written, "example.com/v1/Widget", Cut::Status), @r#"
    no wait
    error: Invalid JSONPath Syntax (wait_for.field)
    "status.list[0" is not a path in kubectl's JSONPath: unterminated array.

    Examples:
      status.phase
      status.loadBalancer.ingress[0].ip
      status.conditions[?(@.type=="Ready")].status
      metadata.annotations.example\.com/name
    "#);
    let written =
        WrittenWait { field_value: values(&[("status.a", "1"), ("status.b[", "2")]), ..Default::default() };
    insta::assert_snapshot!(report(&written, "example.com/v1/Widget", Cut::Status), @r#"
    no wait
    error: Invalid JSONPath (wait_for.field_value)
    "status.b[" is not a path in kubectl's JSONPath: unterminated array.

    Examples:
      status.phase
      status.loadBalancer.ingress[0].ip
      status.conditions[?(@.type=="Ready")].status
      metadata.annotations.example\.com/name
    "#);
}

#[test]
fn an_object_s_status_is_filled_from_its_status_only() {
    let written = WrittenWait { field: known("spec.volumeName"), ..Default::default() };
    insta::assert_snapshot!(report(&written, "v1/PersistentVolumeClaim", Cut::Status), @r#"
    no wait
    error: Field Outside Status (wait_for.field)
    The field "spec.volumeName" is not below status. Only what is below status can become the object's status attribute; wait for other fields with a k8sconnect_wait resource.
    "#);
    assert_eq!(
        report(&written, "v1/PersistentVolumeClaim", Cut::Root),
        "field \"spec.volumeName\" within 10m0s"
    );
    for path in [".status.a", "{.status}", "$.status.a", "['status'].a", "status[*]"] {
        let written = WrittenWait { field: known(path), ..Default::default() };
        assert_eq!(written.parse(None, Cut::Status).diagnostics, [], "{path}");
    }
    for path in ["..status", "*", "statusbar", "metadata.status"] {
        let written = WrittenWait { field: known(path), ..Default::default() };
        assert_eq!(written.parse(None, Cut::Status).diagnostics[0].summary, "Field Outside Status", "{path}");
    }
}

#[test]
fn a_timeout_is_a_positive_go_duration() {
    let written =
        |timeout| WrittenWait { condition: known("Ready"), timeout: known(timeout), ..Default::default() };
    insta::assert_snapshot!(report(&written("5 minutes"), "example.com/v1/Widget", Cut::Root), @r#"
    no wait
    error: Invalid Duration (wait_for.timeout)
    "5 minutes" is not a duration: time: unknown unit " minutes" in duration "5 minutes".
    Write it like "30s", "5m" or "1h30m".
    "#);
    insta::assert_snapshot!(report(&written("0s"), "example.com/v1/Widget", Cut::Root), @r#"
    no wait
    error: Invalid Timeout (wait_for.timeout)
    timeout must be positive, got "0s".
    Write it like "30s", "5m" or "1h30m".
    "#);
    assert_eq!(written("-1m").parse(None, Cut::Root).diagnostics[0].summary, "Invalid Timeout");
    assert_eq!(written("").parse(None, Cut::Root).diagnostics[0].summary, "Invalid Duration");
}

#[test]
fn kinds_that_do_not_roll_out_are_refused() {
    let written = WrittenWait { rollout: Written::Known(true), ..Default::default() };
    insta::assert_snapshot!(report(&written, "v1/ConfigMap", Cut::Root), @"
    no wait
    error: Rollout Not Supported (wait_for.rollout)
    ConfigMap does not roll out, so rollout = true has nothing to wait for. Rollout is for Deployment, StatefulSet, DaemonSet, ReplicaSet, Job and kinds that report Ready or Available. Use field, field_value or condition instead.
    ");
    for kind in ["v1/Pod", "networking.k8s.io/v1/Ingress", "rbac.authorization.k8s.io/v1/Role"] {
        assert_eq!(written.parse(Some(&gvk(kind)), Cut::Root).wait, None, "{kind}");
    }
    // A Service of Knative reports Ready.
    for kind in
        ["apps/v1/Deployment", "batch/v1/Job", "example.com/v1/Widget", "serving.knative.dev/v1/Service"]
    {
        assert_eq!(written.parse(Some(&gvk(kind)), Cut::Root).diagnostics, [], "{kind:?}");
    }
    assert_eq!(written.parse(None, Cut::Root).diagnostics, []);
}

#[test]
fn a_condition_that_kubernetes_never_sets_on_a_kind_is_a_warning() {
    let check = |kind: &str, condition: &str, expected: Option<&str>| {
        let written = WrittenWait { condition: known(condition), ..Default::default() };
        let parsed = written.parse(Some(&gvk(kind)), Cut::Root);
        assert!(parsed.wait.is_some());
        let details: Vec<&str> = parsed.diagnostics.iter().map(|it| it.detail.as_str()).collect();
        assert_eq!(details, expected.as_slice(), "{kind} {condition}");
    };
    check("apps/v1/Deployment", "available", None);
    check(
        "apps/v1/Deployment",
        "Ready",
        Some(
            "Kubernetes sets no condition \"Ready\" on a Deployment, so this wait ends without it, unless another controller has set it by then. Conditions it sets: Available, Progressing, ReplicaFailure.",
        ),
    );
    check(
        "apps/v1/StatefulSet",
        "Ready=False",
        Some(
            "Kubernetes sets no condition \"Ready\" on a StatefulSet, so this wait ends without it, unless another controller has set it by then. Conditions it sets: none.",
        ),
    );
    check(
        "v1/ConfigMap",
        "Ready",
        Some(
            "Kubernetes sets no condition \"Ready\" on a ConfigMap, so this wait ends without it, unless another controller has set it by then. Conditions it sets: none.",
        ),
    );
    // Others may add conditions to these.
    check("v1/Pod", "example.com/gate", None);
    check("example.com/v1/Deployment", "Ready", None);
}

#[test]
fn a_wait_that_is_not_known_yet_is_checked_later() {
    let nothing_to_say = [
        WrittenWait { field: Written::Unknown, ..Default::default() },
        WrittenWait { field: Written::Unknown, condition: known("Ready"), ..Default::default() },
        WrittenWait { rollout: Written::Unknown, condition: known("Ready"), ..Default::default() },
        WrittenWait { timeout: Written::Unknown, condition: known("Ready"), ..Default::default() },
    ];
    for written in nothing_to_say {
        assert_eq!(
            written.parse(None, Cut::Root),
            Parsed { wait: None, diagnostics: Vec::new() },
            "{written:?}"
        );
    }
    let written = WrittenWait { rollout: Written::Unknown, timeout: known("soon"), ..Default::default() };
    assert_eq!(written.parse(None, Cut::Root).diagnostics[0].summary, "Invalid Duration");
}
