//! Which objects a document holds, and what is said about those that lack something.

use diag::Source;
use insta::assert_snapshot;

use super::*;
use crate::Limits;

fn document(text: &str) -> Document {
    crate::read(&Source::new("test.yaml", text), &Limits::default()).single().unwrap()
}

fn problems(text: &str) -> String {
    let document = document(text);
    let problems = objects(&document).expect_err(text);
    let show = |problem: &Diagnostic| {
        let at = problem.location.as_ref().expect("every finding has a place");
        let field = problem.field.as_deref().unwrap_or("-");
        format!(
            "{at} {field}: {}. {} {}\n",
            problem.summary,
            problem.detail,
            problem.hint.as_deref().unwrap_or_default()
        )
    };
    problems.iter().map(show).collect()
}

#[test]
fn an_object_has_a_reference() {
    let document =
        document("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n");
    let objects = objects(&document).unwrap();
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0].reference().unwrap().to_string(), "Deployment shop/web");
}

#[test]
fn an_object_that_the_server_names_has_no_reference_yet() {
    let document = document("{apiVersion: v1, kind: Pod, metadata: {generateName: job-}}");
    let objects = objects(&document).unwrap();
    assert_eq!(objects[0].name, Name::Generated("job-".to_owned()));
    assert_eq!(objects[0].reference(), None);
}

#[test]
fn a_list_stands_for_its_items() {
    let document = document(
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\n",
    );
    let objects = objects(&document).unwrap();
    let shown: Vec<String> = objects.iter().map(|object| object.reference().unwrap().to_string()).collect();
    assert_eq!(shown, ["Pod a", "Pod b"]);
    let span = objects[1].span(&[Step::Key("metadata"), Step::Key("name")]);
    assert_eq!(document.source().position(span).to_string(), "8:5");
}

#[test]
fn a_list_may_be_empty_but_not_anything_else() {
    assert!(objects(&document("{apiVersion: v1, kind: List}")).unwrap().is_empty());
    assert_snapshot!(problems("apiVersion: v1\nkind: List\nitems: {}\n"), @"test.yaml:3:1 items: items is not a list. This is a mapping. Write each object as an item (`- …`).");
}

#[test]
fn debug_output_has_no_values() {
    let document =
        document("{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: aHVudGVyMg==}}");
    let shown = format!("{document:?} {:?}", objects(&document).unwrap());
    assert_eq!(shown, "Document(1 of test.yaml, 83 bytes) [Object(v1/Secret, None, Given(\"a\"))]");
}

#[test]
fn what_an_object_lacks_is_said_at_once() {
    assert_snapshot!(problems("kind: yes\nmetadata:\n  namespace: 7\nspec: {}\n"), @"
    test.yaml:1:1 apiVersion: apiVersion is missing. Every Kubernetes object has it. Write the API version of the kind, for instance `apiVersion: apps/v1`.
    test.yaml:1:1 kind: kind is not a text. This is a boolean; unquoted words such as `yes`, `no`, `on` and `off` are booleans, too. Put it in quotes.
    test.yaml:2:1 metadata.name: metadata.name is missing. Every object has a name; the API server makes one up only from metadata.generateName. Write the name of the object under `metadata`.
    test.yaml:3:3 metadata.namespace: metadata.namespace is not a text. This is a number. Put it in quotes.
    ");
    assert_snapshot!(problems("apiVersion: a/b/c\nkind: ''\nmetadata: {name: ''}\n"), @"
    test.yaml:1:1 apiVersion: apiVersion is malformed. `a/b/c` is not an API version: it has more than one slash. Write `group/version`, or the version alone for the core group.
    test.yaml:2:1 kind: kind is empty. Every Kubernetes object has it. Say what kind of object it is, for instance `kind: Deployment`.
    test.yaml:3:12 metadata.name: metadata.name is empty. Every object has a name; the API server makes one up only from metadata.generateName. Write the name of the object under `metadata`.
    ");
    assert_snapshot!(problems("- a\n"), @"test.yaml:1:1 -: this is not an object. This is a list. Write a mapping with `apiVersion`, `kind` and `metadata`.");
    assert_snapshot!(problems("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: a/b\n  metadata: {name: x}\n- metadata: x\n"), @"
    test.yaml:5:3 items[0].kind: kind is malformed. `a/b` is not a kind: the kind has a slash. Write the kind alone, for instance `Deployment`.
    test.yaml:7:3 items[1].apiVersion: apiVersion is missing. Every Kubernetes object has it. Write the API version of the kind, for instance `apiVersion: apps/v1`.
    test.yaml:7:3 items[1].kind: kind is missing. Every Kubernetes object has it. Say what kind of object it is, for instance `kind: Deployment`.
    test.yaml:7:3 items[1].metadata: metadata is not a mapping. This is a text. Write `metadata:` with `name` under it.
    ");
}

#[test]
fn an_item_of_a_list_of_one_kind_has_its_kind() {
    let text = "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: a}\n- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n";
    let document = document(text);
    let found = objects(&document).unwrap();
    let kinds: Vec<String> = found.iter().map(|object| object.gvk.to_string()).collect();
    assert_eq!(kinds, ["apps/v1/Deployment", "v1/Pod"]);
    assert_eq!(found[0].body()["kind"], "Deployment");
    let untyped = "apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n";
    assert!(problems(untyped).contains("items[0].kind: kind is missing"), "{}", problems(untyped));
}
