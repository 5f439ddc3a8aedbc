//! The texts people read, whole.

use diag::terminal::Renderer;
use fields::{FieldPath, Positions};
use serde_json::json;

use super::*;

fn field(
    path: &str,
    row: Row,
    others: &[&str],
    live: Option<Value>,
    planned: Option<Value>,
) -> FieldTransition {
    FieldTransition {
        path: FieldPath::of_fields(path.split('.')),
        row,
        others: others.iter().map(|name| FieldManager::new(*name)).collect(),
        set_at: Some("2026-11-18T13:47:25Z".to_owned()),
        change: (live != planned).then_some(ValueChange {
            before: Some(json!(5)),
            live,
            planned,
            masked: false,
        }),
    }
}

fn analysis(fields: Vec<FieldTransition>) -> Analysis {
    Analysis { fields, positions: Positions::default(), is_unrecorded: false }
}

fn shown(fields: Vec<FieldTransition>, verbosity: Verbosity) -> String {
    reported(fields, &Reporting { verbosity, ..Reporting::default() })
}

fn reported(fields: Vec<FieldTransition>, reporting: &Reporting<'_>) -> String {
    let warnings = analysis(fields).warnings("Deployment shop/web", reporting);
    warnings.iter().map(|warning| Renderer::plain(100).render(warning)).collect::<Vec<_>>().join("\n")
}

fn all_kinds() -> Vec<FieldTransition> {
    vec![
        field("spec.replicas", Row::RevertDrift, &["hpa", "kubectl"], Some(json!(5)), Some(json!(3))),
        field("spec.paused", Row::RevertDrift, &[], None, Some(json!(true))),
        field(
            "metadata.labels.team",
            Row::TakeFromActive,
            &["kubectl-label"],
            Some(json!("a")),
            Some(json!("b")),
        ),
        field(
            "spec.minReadySeconds",
            Row::OverwriteConcurrent,
            &["kubectl-edit"],
            Some(json!(7)),
            Some(json!(9)),
        ),
        field("spec.strategy.type", Row::LostUnasked, &[], Some(json!("Recreate")), None),
        field("spec.revisionHistoryLimit", Row::Hold, &[], Some(json!(1)), Some(json!(1))),
    ]
}

#[test]
fn the_four_kinds_of_warning() {
    insta::assert_snapshot!(shown(all_kinds(), Verbosity::Full), @r#"
    warning[ownership-drift]: Drift Detected - Reverting External Changes (Deployment shop/web)
      object: Deployment shop/web

      These fields were changed outside of this configuration and will be set back to it:

        spec.paused: (none) → true (modified by: unknown)
        spec.replicas: 5 → 3 (modified by: hpa, kubectl)

      If the other manager keeps changing them, every plan will show this again.

    hint: To leave them to the other manager: ignore_fields = ["spec.paused", "spec.replicas"]

    help: plimsoll explain ownership-drift

    warning[ownership-taking]: Ownership Conflict - Taking Field from Active Controller (Deployment
                               shop/web)
      object: Deployment shop/web

      These fields will be taken from the manager that set them last:

        metadata.labels.team: "a" → "b" (modified by: kubectl-label, last set 2026-11-18T13:47:25Z)

      If that manager sets them again, every plan will show a difference.

    hint: To leave them to the other manager: ignore_fields = ["metadata.labels.team"]

    help: plimsoll explain ownership-taking

    warning[ownership-overwriting]: Ownership Conflict - Overwriting Concurrent External Changes
                                    (Deployment shop/web)
      object: Deployment shop/web

      These fields were edited here and changed by another manager at the same time; this configuration
      wins:

        spec.minReadySeconds: 5 → 9 (modified by: kubectl-edit; external wanted: 7, you specified: 9)

      If the other manager keeps changing them, every plan will show this again.

    hint: To leave them to the other manager: ignore_fields = ["spec.minReadySeconds"]

    help: plimsoll explain ownership-overwriting

    warning[ownership-not-kept]: Field Not Kept by the API Server (Deployment shop/web)
      object: Deployment shop/web

      These fields gain or lose their manager without a reason in this configuration. An admission
      webhook, a conversion or the API server itself drops or adds them:

        spec.strategy.type (lost unasked)

    help: plimsoll explain ownership-not-kept
    "#);
}

#[test]
fn minimal_is_one_line_an_object_and_none_is_silent() {
    insta::assert_snapshot!(shown(all_kinds(), Verbosity::Minimal), @r"
    warning[ownership-drift]: Drift Detected - Reverting External Changes (Deployment shop/web): 2
                              fields reverted, 1 field taken, 1 field overwritten, 1 field not kept
      object: Deployment shop/web
    ");
    assert_eq!(shown(all_kinds(), Verbosity::None), "");
}

#[test]
fn ten_fields_are_listed_sorted_and_the_rest_counted() {
    let fields = (0..13).rev().map(|n| {
        field(&format!("data.key{n:02}"), Row::RevertDrift, &["kubectl"], Some(json!("a")), Some(json!("b")))
    });
    insta::assert_snapshot!(shown(fields.collect(), Verbosity::Full), @r#"
    warning[ownership-drift]: Drift Detected - Reverting External Changes (Deployment shop/web)
      object: Deployment shop/web

      These fields were changed outside of this configuration and will be set back to it:

        data.key00: "a" → "b" (modified by: kubectl)
        data.key01: "a" → "b" (modified by: kubectl)
        data.key02: "a" → "b" (modified by: kubectl)
        data.key03: "a" → "b" (modified by: kubectl)
        data.key04: "a" → "b" (modified by: kubectl)
        data.key05: "a" → "b" (modified by: kubectl)
        data.key06: "a" → "b" (modified by: kubectl)
        data.key07: "a" → "b" (modified by: kubectl)
        data.key08: "a" → "b" (modified by: kubectl)
        data.key09: "a" → "b" (modified by: kubectl)
        … and 3 more

      If the other manager keeps changing them, every plan will show this again.

    hint: To leave them to the other manager: ignore_fields = ["data.key00", "data.key01", "data.key02",
          "data.key03", "data.key04", "data.key05", "data.key06", "data.key07", "data.key08",
          "data.key09"]

    help: plimsoll explain ownership-drift
    "#);
}

#[test]
fn a_masked_field_shows_that_it_differs_and_no_value() {
    let mut secret =
        field("data.password", Row::RevertDrift, &["kubectl"], Some(json!("(m1)")), Some(json!("(m2)")));
    secret.change.as_mut().unwrap().masked = true;
    insta::assert_snapshot!(shown(vec![secret], Verbosity::Full), @r#"
    warning[ownership-drift]: Drift Detected - Reverting External Changes (Deployment shop/web)
      object: Deployment shop/web

      These fields were changed outside of this configuration and will be set back to it:

        data.password: the value differs (modified by: kubectl)

      If the other manager keeps changing them, every plan will show this again.

    hint: To leave them to the other manager: ignore_fields = ["data.password"]

    help: plimsoll explain ownership-drift
    "#);
}

#[test]
fn values_read_as_in_the_go_provider() {
    let check = |shown: Option<Value>, expected: &str| assert_eq!(value(shown.as_ref()), expected);
    check(None, "(none)");
    check(Some(json!("a \"b\"")), r#""a \"b\"""#);
    check(Some(json!(3)), "3");
    check(Some(json!(1e6)), "1e+06");
    check(Some(json!(null)), "<nil>");
    check(Some(json!(["--v=2", 7])), "[--v=2 7]");
    check(Some(json!({ "b": [true], "a": { "x": null } })), "map[a:map[x:<nil>] b:[true]]");
}

#[test]
fn a_long_value_is_cut_in_the_middle() {
    let long = format!("{}{}", "a".repeat(40_000), "z".repeat(6_945));
    let shown = value(Some(&json!(long)));
    assert_eq!(shown, format!("\"{}…{}\" (46945 characters)", "a".repeat(79), "z".repeat(39)));
    assert_eq!(value(Some(&json!("a".repeat(120)))), format!("{:?}", "a".repeat(120)));
}

#[test]
fn a_field_is_taken_from_an_active_manager_only_if_it_is_a_controller_or_comes_back() {
    let take = |manager: &str| {
        let field = field("spec.replicas", Row::TakeFromActive, &[manager], Some(json!(5)), Some(json!(3)));
        shown(vec![field], Verbosity::Full)
    };
    for manager in ["kube-controller-manager", "vpa-updater-controller", "hpa", "argocd-controller"] {
        assert!(take(manager).contains("from a manager that is changing them"), "{manager}");
    }
    for manager in ["kubectl-create", "kubectl-edit", "helm", "Mozilla"] {
        assert!(take(manager).contains("from the manager that set them last"), "{manager}");
    }
    // It has set the field again since it was taken back.
    let field =
        |manager| field("spec.replicas", Row::TakeFromActive, &[manager], Some(json!(5)), Some(json!(3)));
    let fights = Fights::default().after(&analysis(vec![field("helm")]));
    let again = |manager| {
        reported(vec![field(manager)], &Reporting { fights: Some(&fights), ..Reporting::default() })
    };
    assert!(again("helm").contains("from a manager that is changing them"));
    assert!(again("Mozilla").contains("from the manager that set them last"));
}

#[test]
fn what_is_reported_depends_on_the_plan_and_the_policy() {
    let drift = || field("spec.replicas", Row::RevertDrift, &["hpa"], Some(json!(5)), Some(json!(3)));
    let check = |reporting: Reporting<'_>, texts: &[&str]| {
        let shown = reported(vec![drift()], &reporting).replace("\n  ", " ");
        assert!(texts.iter().all(|text| shown.contains(text)), "{shown}");
        assert_eq!(texts.is_empty(), shown.is_empty(), "{shown}");
    };
    let usual = Reporting::default();
    check(usual, &["warning[", "will be set back to it"]);
    let unapplied = Reporting { is_unapplied: true, ..usual };
    check(unapplied, &["warning[", "were changed outside of this configuration:", "leaves them as they are"]);
    check(Reporting { policy: ConflictPolicy::Ignore, ..usual }, &[]);
    let fail = Reporting { policy: ConflictPolicy::Fail, ..usual };
    check(fail, &["error[ownership-drift]", "conflict_policy = \"fail\""]);
    check(Reporting { is_unapplied: true, ..fail }, &["warning["]);
    check(Reporting { verbosity: Verbosity::None, ..fail }, &["error[", "(Deployment shop/web): 1 field"]);
    check(
        Reporting { autoscaler: Some("HorizontalPodAutoscaler shop/web"), ..usual },
        &["HorizontalPodAutoscaler shop/web sets"],
    );
    let patch = Reporting { is_unchanged_patch: true, ..usual };
    check(patch, &["Field Ownership Conflict - Controllers Fighting", "the apply will set them again"]);
    let once = Fights::default().after(&analysis(vec![drift()]));
    let twice = once.after(&analysis(vec![drift()]));
    check(
        Reporting { fights: Some(&twice), ..usual },
        &["hpa has set spec.replicas again after each of the last 2 applies"],
    );
}

#[test]
fn a_hidden_value_that_another_manager_has_changed_is_reported_without_it() {
    let held = field("data.password", Row::Hold, &["rotator"], Some(json!("x")), Some(json!("x")));
    let other = field("data.user", Row::Hold, &["rotator"], Some(json!("x")), Some(json!("x")));
    let mut analysis = analysis(vec![held.clone(), other]);
    analysis.set_hidden_changes(&[held.path].into_iter().collect(), Row::RevertDrift);
    let reported = |policy: ConflictPolicy| {
        let warnings = analysis.warnings("Secret shop/db", &Reporting { policy, ..Reporting::default() });
        warnings.iter().map(|warning| Renderer::plain(100).render(warning)).collect::<String>()
    };
    let shown = reported(ConflictPolicy::Fail);
    assert!(shown.contains("error[ownership-drift]"), "{shown}");
    assert!(shown.contains("data.password: the value differs (modified by: rotator)"), "{shown}");
    assert!(!shown.contains("data.user"), "{shown}");
    assert_eq!(reported(ConflictPolicy::Ignore), "");
}
