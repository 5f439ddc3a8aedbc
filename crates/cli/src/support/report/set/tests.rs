//! One set in every format: what was deleted, what was to be deleted, and what stays.

use manifest::{Namespace, ObjectRef};

use super::super::text::{object_names, summary};
use super::super::{ObjectReport, Report, junit, markdown};
use super::*;
use crate::codes;
use crate::support::applyset::prune::Outcome;
use diag::Diagnostic;
use plan::applyset::Fate;

fn map(name: &str) -> ObjectRef {
    ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), name)
}

fn member(name: &str, outcome: Option<Outcome>) -> Prune {
    Prune { target: map(name), uid: None, fate: Fate::Delete { finalizers: Vec::new() }, outcome }
}

fn report(set: SetPlan) -> Report {
    let refused = Diagnostic::error(codes::APPLYSET_LABEL, "no");
    let objects = vec![ObjectReport::unchanged(&map("same")), ObjectReport::refused(&map("bad"), refused)];
    Report { objects, problems: Vec::new(), set: Some(set), composites: None }
}

/// One member that was deleted, one that was not, and one that stays.
fn applied() -> Report {
    let kept = Prune { fate: Fate::Keep("ConfigMap a controls it".to_owned()), ..member("kept", None) };
    report(SetPlan::sample(vec![
        member("gone", Some(Outcome::Deleted)),
        member("left", Some(Outcome::NotDeleted("the apply was interrupted".to_owned()))),
        kept,
    ]))
}

fn planned() -> Report {
    report(SetPlan::sample(vec![member("gone", None)]).unborn())
}

fn counted(report: &Report, tense: Tense) -> String {
    anstream::adapter::strip_str(&summary(report, tense)).to_string()
}

#[test]
fn only_what_was_deleted_counts_as_deleted() {
    assert_eq!(counted(&applied(), Tense::Applied), "1 deleted, 1 not deleted, 1 refused, 1 unchanged");
    assert_eq!(counted(&planned(), Tense::Plan), "1 to delete, 1 refused, 1 unchanged");
    let members = to_json(applied().set.as_ref().unwrap())["members"].clone();
    let shown: Vec<_> = members.as_array().unwrap().iter().map(|it| (&it["action"], &it["why"])).collect();
    assert_eq!(
        shown,
        [
            (&json!("delete"), &json!(null)),
            (&json!("keep"), &json!("not deleted: the apply was interrupted")),
            (&json!("keep"), &json!("ConfigMap a controls it")),
        ]
    );
}

#[test]
fn names_are_of_what_was_done_or_would_change() {
    let names = |report: &Report, tense| object_names(report, tense).collect::<Vec<_>>();
    assert_eq!(names(&applied(), Tense::Applied), ["configmap/same", "configmap/gone"]);
    assert_eq!(names(&planned(), Tense::Plan), ["configmap/gone"]);
}

#[test]
fn a_comment_has_the_parent_and_every_member() {
    let set = |report: &Report, tense| {
        let page = markdown::markdown(report, tense, false);
        page.split("</details>").next().unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(set(&applied(), Tense::Applied), @r"
    ### Apply: 1 deleted, 1 not deleted, 1 refused, 1 unchanged

    <details open><summary>Set of Secret shop/set, members that are not in the files: 3</summary>

    ```diff
    ! Secret shop/set: the set is taken over from kubectl/v1.36.3
    - ConfigMap shop/gone
    ! ConfigMap shop/left was not deleted: the apply was interrupted
      ConfigMap shop/kept is kept: ConfigMap a controls it
    ```
    ");
    let planned = set(&planned(), Tense::Plan);
    assert!(planned.contains("+ Secret shop/set is created as the parent of the set\n"), "{planned}");
    let adopted = set(&report(SetPlan::sample(Vec::new())), Tense::Plan);
    assert!(adopted.contains("<summary>Set of Secret shop/set</summary>"), "{adopted}");
    assert!(adopted.contains("the set is taken over from kubectl/v1.36.3"), "{adopted}");
}

#[test]
fn drift_of_a_set_fails_its_tests() {
    let mut report = planned();
    report.objects.truncate(1);
    let unlisted = Diagnostic::error(codes::APPLYSET_LABEL, "forbidden");
    report.set.as_mut().unwrap().set.unlisted.push(unlisted);
    let xml = junit(&report);
    for line in [
        r#"<testsuite name="plimsoll drift" tests="4" failures="2" errors="1">"#,
        r#"name="shop/set"><failure message="the parent of the set does not exist"></failure></testcase>"#,
        r#"name="shop/gone"><failure message="it is not in the files"></failure></testcase>"#,
        r#"<testcase classname="set" name="Secret shop/set"><error message="forbidden">"#,
        r#"<testcase classname="ConfigMap" name="shop/same"></testcase>"#,
    ] {
        assert!(xml.contains(line), "{line}\n{xml}");
    }
}
