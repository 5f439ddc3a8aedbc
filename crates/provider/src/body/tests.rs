use super::*;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: a\n";

/// Titles with line and column.
fn found(text: &str) -> Vec<String> {
    let shown = |problem: Diagnostic| match &problem.location {
        Some(location) => format!("{} {}", problem.summary, location.position()),
        None => problem.summary,
    };
    check(text).into_iter().map(shown).collect()
}

#[test]
fn problems_of_a_body_have_a_title_a_line_and_a_column() {
    let check = |text: &str, expected: &[&str]| assert_eq!(found(text), expected, "{text}");
    check(POD, &[]);
    check("a: [", &["Invalid YAML 1:4"]);
    check("apiVersion: v1\nkind: Pod\n", &["Invalid YAML 1:1"]);
    check("kind: Pod\nmetadata: {name: x}\n", &["Invalid YAML 1:1"]);
    check("apiVersion: a/b/c\nkind: Pod\nmetadata: {name: x}\n", &["Invalid YAML 1:1"]);
    check("apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n", &["Invalid YAML 3:12"]);
    check("apiVersion: v1\nkind: List\nitems: []\n", &["Invalid YAML 2:1"]);
    check("a: 1\na: 2\n", &["Invalid YAML 2:1"]);
    check(&format!("{POD}---\n{POD}"), &["Invalid YAML 8:1"]);
    check(&POD.replace("name: a", "image: a"), &["Invalid YAML 7:5"]);
    check(&format!("{POD}status: {{}}\n"), &["Server-managed fields not allowed in yaml_body 8:1"]);
    check(
        &POD.replace("  name: web\n", "  name: web\n  uid: x\n  resourceVersion: \"1\"\n"),
        &[
            "Server-managed fields not allowed in yaml_body 5:3",
            "Server-managed fields not allowed in yaml_body 6:3",
        ],
    );
    check(
        &POD.replace(
            "  name: web\n",
            "  name: web\n  annotations:\n    k8sconnect.terraform.io/terraform-id: x\n",
        ),
        &["Provider internal annotations not allowed in yaml_body 6:5"],
    );
}

#[test]
fn a_literal_dollar_brace_changes_nothing() {
    let script = POD.replace("- name: a\n", "- name: a\n    command: [sh, -c, 'echo ${HOME}']\n");
    assert_eq!(found(&script), [""; 0]);
    assert_eq!(found("a: [ ${x}"), ["Invalid YAML 1:4"]);
    assert!(Body::parse("a: [ ${x}").is_err());
}

#[test]
fn validation_plan_and_apply_share_one_parser() {
    // Comments alone are not a document, `yes` is a boolean, 0644 is octal, and duplicate keys are always errors.
    let text = "# only a comment\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nx: yes\nmode: 0644\n---\n# end\n";
    let body = Body::parse(text).unwrap();
    assert_eq!(body.value["x"], true);
    assert_eq!(body.value["mode"], 420);
    assert!(Body::parse("apiVersion: v1\nkind: A\nkind: B\nmetadata: {name: a}\n").is_err());
}

#[test]
fn several_documents_hint_at_the_data_source_that_splits_them() {
    let problems = check(&format!("{POD}---\n{POD}"));
    let hint = problems[0].hint.as_deref().unwrap_or_default();
    assert!(hint.contains("multi-document YAML") && hint.contains("k8sconnect_yaml_split"), "{hint}");
}

#[test]
fn the_values_of_a_secret_are_in_data_wherever_they_were_written() {
    let body =
        Body::parse("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {k: v}\n").unwrap();
    assert_eq!(body.value["data"]["k"], "dg==");
    assert!(!format!("{body:?}").contains("dg=="));
}

#[test]
fn a_target_has_a_namespace_exactly_if_its_kind_does() {
    let check = |namespace: &str, namespaced: bool, expected: &str| {
        let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web{namespace}}}\n");
        assert_eq!(Body::parse(&text).unwrap().target(namespaced).to_string(), expected);
    };
    check("", true, "Pod default/web");
    check(", namespace: shop", true, "Pod shop/web");
    check(", namespace: shop", false, "Pod web");
}
