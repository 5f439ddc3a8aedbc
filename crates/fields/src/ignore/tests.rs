//! Which fields a pattern ignores, what is sent without them, and which patterns are refused.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{arbitrary, written};

fn body() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "annotations": {"app.kubernetes.io/name": "web", "app": "x"},
            "finalizers": ["a", "b"],
        },
        "spec": {
            "replicas": 3,
            "template": {"spec": {"containers": [
                {"name": "web", "image": "nginx", "ports": [{"containerPort": 80}, {"containerPort": 81}]},
                {"name": "api", "image": "api", "env": [{"name": "A", "value": "1"}], "args": ["-v"]},
            ]}},
        },
    })
}

/// What of the body's leaves `pattern` ignores.
fn check(pattern: &str, expected: &[&str]) {
    let body = body();
    let schema = Schema::of(&body);
    let ignore = IgnoreFields::parse([pattern]).unwrap();
    let ignored = ignore.on(&body, &schema);
    let leaves = written(&body, &schema).leaves();
    let found: Vec<String> =
        leaves.paths().iter().filter(|path| ignored.contains(path)).map(ToString::to_string).collect();
    let prefix = "spec.template.spec.";
    let found: Vec<&str> = found.iter().map(|path| path.strip_prefix(prefix).unwrap_or(path)).collect();
    assert_eq!(found, expected, "{pattern}");
}

const WEB: &str = "spec.template.spec.containers";

#[test]
fn a_pattern_names_a_field_and_everything_below() {
    check("spec.replicas", &["spec.replicas"]);
    check(
        "metadata.annotations",
        &["metadata.annotations.app", "metadata.annotations.app.kubernetes.io/name"],
    );
    check("metadata.finalizers", &["metadata.finalizers[=a]", "metadata.finalizers[=b]"]);
    check("spec.replicas.deeper", &[]);
    check("spec.rep", &[]);
    check("status", &[]);
}

#[test]
fn keys_with_dots_may_be_written_plainly_escaped_or_in_quotes() {
    let expected = &["metadata.annotations.app.kubernetes.io/name"];
    check("metadata.annotations.app.kubernetes.io/name", expected);
    check(r"metadata.annotations.app\.kubernetes\.io/name", expected);
    check("metadata.annotations['app.kubernetes.io/name']", expected);
    check(r#"metadata.annotations["app.kubernetes.io/name"]"#, expected);
    // A key is a name, not a path.
    check("metadata.annotations.app", &["metadata.annotations.app"]);
    check("metadata.annotations['app.kubernetes']", &[]);
}

#[test]
fn list_elements_are_chosen_in_every_way() {
    let image = &["containers[name=web].image"];
    check(&format!("{WEB}[0].image"), image);
    check(&format!("{WEB}[-2].image"), image);
    check(&format!("{WEB}[name=web].image"), image);
    check(&format!("{WEB}[name='web'].image"), image);
    check(&format!("{WEB}[image=nginx].image"), image);
    check(&format!("{WEB}[?(@.name=='web')].image"), image);
    check(&format!(r#"{WEB}[?(@.name=="web")].image"#), image);
    check(&format!(r#"{WEB}[?(@.image!="api")].image"#), image);
    check(&format!("{WEB}[name=gone].image"), &[]);
    check(&format!("{WEB}[?(@.name=='gone')].image"), &[]);
    check(&format!("{WEB}[7].image"), &[]);
    check("metadata.finalizers[=b]", &["metadata.finalizers[=b]"]);
    check("metadata.finalizers[1]", &["metadata.finalizers[=b]"]);
    check(&format!("{WEB}[name=api].args"), &["containers[name=api].args"]);
}

#[test]
fn keys_of_several_fields_and_their_defaults_choose_too() {
    let port = &["containers[name=web].ports[containerPort=81,protocol=TCP].containerPort"];
    check(&format!("{WEB}[0].ports[containerPort=81,protocol=TCP]"), port);
    check(&format!("{WEB}[0].ports[containerPort=81]"), port);
    check(&format!("{WEB}[0].ports[?(@.containerPort==81)]"), port);
    check(&format!("{WEB}[0].ports[containerPort=81,protocol=UDP]"), &[]);
}

#[test]
fn quotes_protect_what_separates() {
    let ports = "containers[name=web].ports[containerPort=81,protocol=TCP].containerPort";
    check(&format!(r#"{WEB}[name="web"].ports[containerPort=81,protocol="TCP"]"#), &[ports]);
    check(&format!(r#"{WEB}[name="a,b"].image"#), &[]);
    check(&format!(r#"{WEB}[name="a]"].image"#), &[]);
}

#[test]
fn a_pattern_names_fields_of_a_body() {
    let check = |pattern: &str, expected: &[&str]| {
        let body = body();
        let schema = Schema::of(&body);
        let naming = IgnoreFields::naming(pattern).unwrap();
        let found: Vec<String> =
            naming.on(&body, &schema).named().iter().map(|path| path.notation().to_string()).collect();
        assert_eq!(found, expected, "{pattern}");
    };
    check("spec.replicas", &["spec.replicas"]);
    check("{.spec.replicas}", &["spec.replicas"]);
    check(".spec.template.spec.containers[0].image", &[r#"spec.template.spec.containers[name="web"].image"#]);
    check("metadata.annotations", &["metadata.annotations"]);
    check(
        "metadata.annotations[*]",
        &["metadata.annotations.app", r#"metadata.annotations["app.kubernetes.io/name"]"#],
    );
    check("metadata.finalizers[=a]", &[r#"metadata.finalizers[="a"]"#]);
    check("spec.none", &[]);
    assert!(IgnoreFields::naming("spec[").is_err());
}

#[test]
fn wildcards_and_lists_without_a_choice_mean_all_elements() {
    let images = &["containers[name=api].image", "containers[name=web].image"];
    check(&format!("{WEB}[*].image"), images);
    check(&format!("{WEB}.*.image"), images);
    check(&format!("{WEB}.image"), images);
    check(
        "metadata.annotations.*",
        &["metadata.annotations.app", "metadata.annotations.app.kubernetes.io/name"],
    );
}

#[test]
fn other_jsonpath_means_what_it_selects_in_the_body() {
    check(&format!("{WEB}[0:1].image"), &["containers[name=web].image"]);
    check(&format!("{WEB}[0,1].image"), &["containers[name=api].image", "containers[name=web].image"]);
    check(&format!("{WEB}[5:].image"), &[]);
    check("", &[]);
}

#[test]
fn an_element_the_body_lacks_is_still_matched_by_its_key() {
    let body = body();
    let schema = Schema::of(&body);
    let sidecar = FieldSet::from_json(
        r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"sidecar\"}":{".":{},"f:image":{}}}}}}}"#,
    )
    .unwrap();
    for pattern in ["[name=sidecar]", "[?(@.name=='sidecar')]", "[*]", ""] {
        let ignore = IgnoreFields::parse([format!("{WEB}{pattern}.image")]).unwrap();
        let left = ignore.on(&body, &schema).remove_from_set(&sidecar);
        assert_eq!(left.len(), 1, "{pattern}: the element itself stays held");
    }
}

#[test]
fn the_body_is_sent_without_what_is_ignored() {
    let check = |patterns: &[&str], expected: Value| {
        let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a.b/c": "1"}}, "spec": {
            "containers": [{"name": "web", "image": "x", "args": ["-v"]}], "volumes": [{"name": "v", "emptyDir": {}}],
        }});
        let schema = Schema::of(&body);
        let mut sent = IgnoreFields::parse(patterns).unwrap().on(&body, &schema).body_without();
        assert_eq!(sent["spec"].take(), expected, "{patterns:?}");
    };
    let volumes = json!([{"name": "v", "emptyDir": {}}]);
    check(
        &["spec.containers[0].image", "spec.containers.args"],
        json!({"containers": [{"name": "web"}], "volumes": volumes}),
    );
    check(&["spec.containers[name=web]"], json!({"volumes": volumes}));
    check(
        &["spec.containers[0].args[0]", "spec.volumes"],
        json!({"containers": [{"name": "web", "image": "x"}]}),
    );
    check(
        &["spec.containers[0].name", "spec.containers[0].args"],
        json!({"containers": [{"name": "web", "image": "x"}], "volumes": volumes}),
    );
    check(&["spec"], Value::Null);
    check(&[], json!({"containers": [{"name": "web", "image": "x", "args": ["-v"]}], "volumes": volumes}));

    let body = json!({"metadata": {"labels": {"a.b/c": "1"}}, "kind": "Pod"});
    let schema = Schema::of(&body);
    let ignore = IgnoreFields::parse(["metadata.labels.a.b/c"]).unwrap();
    assert_eq!(ignore.on(&body, &schema).body_without(), json!({"kind": "Pod"}), "emptied maps go");
}

#[test]
fn entries_that_cannot_be_accepted_are_explained() {
    let refused = |entry: &str| {
        let diagnostics = IgnoreFields::parse([entry, "spec.replicas"]).unwrap_err();
        assert_eq!(diagnostics.len(), 1);
        format!("{}\n{}", diagnostics[0].summary, diagnostics[0].detail)
    };
    insta::assert_snapshot!(refused("spec.containers[abc].image"), @r#"
    Invalid Field Path Syntax
    "spec.containers[abc].image" in ignore_fields is not a path to a field: invalid array index abc.
    "#);
    insta::assert_snapshot!(refused("spec.containers[0"), @r#"
    Invalid Field Path Syntax
    "spec.containers[0" in ignore_fields is not a path to a field: unterminated array.
    "#);
    let internal = "Cannot ignore provider internal annotations\n";
    for entry in [
        "metadata.annotations.k8sconnect.terraform.io/terraform-id",
        "metadata.annotations['k8sconnect.terraform.io/created-at']",
        r"metadata.annotations.k8sconnect\.terraform\.io/x",
    ] {
        assert!(refused(entry).starts_with(internal), "{entry}");
    }
}

proptest! {
    #[test]
    fn every_way_to_ignore_agrees(object in arbitrary::deployment(), choice in any::<prop::sample::Index>()) {
        let schema = Schema::of(&object);
        let set = written(&object, &schema);
        // The keyed form in which paths are printed is itself a pattern.
        let path = choice.get(&set.paths()).to_string();
        let ignore = IgnoreFields::parse([&path]).unwrap();
        let ignored = ignore.on(&object, &schema);
        let left = ignored.remove_from_set(&set);
        let by_path: FieldSet = set.paths().into_iter().filter(|path| !ignored.contains(path)).collect();
        prop_assert_eq!(&left, &by_path);
        prop_assert!(left.len() < set.len(), "{}", path);

        let sent = ignored.body_without();
        for (path, value) in crate::leaf_values(&sent, &left.leaves(), &schema) {
            prop_assert_eq!(crate::value_at(&object, &path, &schema), Some(&value));
        }
    }

    #[test]
    fn any_text_comes_to_an_answer(text in "[a.\\[\\]*='\"?(@)\\\\0:, {}-]{0,12}") {
        if let Ok(ignore) = IgnoreFields::parse([&text]) {
            let body = body();
            ignore.on(&body, &Schema::of(&body)).body_without();
        }
    }
}
