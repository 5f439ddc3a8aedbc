use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn child(key: &str, ready: bool) -> Child {
    Child { key: key.to_owned(), ready, state: ChildState::Applied, problem: None }
}

fn refused(key: &str) -> Child {
    Child { state: ChildState::Refused("spec.size: FieldValueInvalid".to_owned()), ..child(key, true) }
}

fn line(condition: &Condition) -> String {
    format!("{}={} {} {}", condition.kind, condition.status.as_str(), condition.reason, condition.message)
        .trim_end()
        .to_owned()
}

#[test]
fn lists_name_three_and_count_the_rest() {
    let check = |names: &[&str], expected: &str| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(some_of(&names), expected);
    };
    check(&[], "");
    check(&["b"], "b");
    check(&["b", "a"], "a, b");
    check(&["c", "a", "b"], "a, b, and c");
    check(&["d", "c", "a", "b"], "a, b, c, and 1 more");
    check(&["e", "d", "c", "a", "b"], "a, b, c, and 2 more");
}

#[test]
fn ready_follows_children_and_the_functions() {
    let check = |composite: Ready, children: &[Child], expected: &str| {
        assert_eq!(line(&ready(composite, children, NOW)), expected);
    };
    let none: &[Child] = &[];
    check(Ready::Unspecified, none, "Ready=True Available");
    // Crossplane's case SystemConditionUpdate.
    check(Ready::False, none, "Ready=False Creating");
    check(Ready::True, &[child("a", false)], "Ready=True Available");
    check(Ready::False, &[child("a", true)], "Ready=False Creating");
    // Crossplane's case ComposedResourcesNotReady.
    let zoo = [
        child("elephant", false),
        child("cow", false),
        child("pig", true),
        child("cat", false),
        child("dog", true),
        child("snake", false),
    ];
    check(Ready::Unspecified, &zoo, "Ready=False Creating Unready resources: cat, cow, elephant, and 1 more");
    // Crossplane sets Ready=True Available in the next two, with a child that does not exist.
    check(Ready::Unspecified, &[child("a", true), refused("b")], "Ready=False Creating Unready resources: b");
    check(Ready::True, &[child("a", false), refused("b")], "Ready=False Creating Unready resources: b");
    check(Ready::False, &[refused("b")], "Ready=False Creating Unready resources: b");
}

#[test]
fn synced_names_the_children_that_were_not_applied() {
    assert_eq!(line(&synced(&[child("a", false)], NOW)), "Synced=True ReconcileSuccess");
    let missing = Child { state: ChildState::Missing("forbidden".to_owned()), ..child("c", false) };
    let children = [child("a", true), refused("b"), missing];
    assert_eq!(line(&synced(&children, NOW)), "Synced=False ReconcileError Unsynced resources: b, c");
}

#[test]
fn a_failed_reconcile_keeps_ready_unless_a_child_is_missing() {
    let was = available(NOW);
    assert_eq!(ready_after_failure(Some(&was), &[], NOW), was);
    assert_eq!(line(&ready_after_failure(None, &[], NOW)), "Ready=False Creating");
    let gone = ["database".to_owned()];
    assert_eq!(
        line(&ready_after_failure(Some(&was), &gone, NOW)),
        "Ready=False Creating Unready resources: database"
    );
}

#[test]
fn events_name_each_child_that_is_not_there_yet() {
    let events = events(&[child("a", true), child("b", false), refused("c")], "12345678");
    let lines: Vec<_> =
        events.iter().map(|event| format!("{} {}", event.kind.as_str(), event.message)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Normal Composed resource "b" is not yet ready
    Warning cannot apply composed resource "c": spec.size: FieldValueInvalid (error id 12345678)
    Normal Composed resource "c" is not yet valid
    "#);
}
