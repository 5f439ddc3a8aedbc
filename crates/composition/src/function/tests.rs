use serde_json::{Value, json};

use super::*;
use crate::object::object;

fn revision(package: &str, state: &str, endpoint: &str) -> Object {
    object(json!({
        "metadata": {"labels": {LABEL_PACKAGE: package}},
        "spec": {"desiredState": state}, "status": {"endpoint": endpoint},
    }))
}

#[test]
fn functions_are_found_in_order() {
    let flags = BTreeMap::from([("a".to_owned(), "flag:1".to_owned())]);
    let revisions = [
        revision("a", "Active", "revision:1"),
        revision("b", "Inactive", "old:1"),
        revision("b", "Active", "dns:///b.ns:9443"),
        revision("c", "Active", "revision:1"),
        revision("function-auto-ready", "Active", "installed:1"),
    ];
    let annotated = |name: &str| {
        object(json!({"metadata": {"name": name, "annotations": {ANNOTATION_ENDPOINT: "annotated:1"}}}))
    };
    let installed = object(json!({"metadata": {"name": "function-auto-ready"}}));
    let functions = [annotated("a"), annotated("c"), installed];
    let check = |name: &str, expected: Location| {
        assert_eq!(find(name, &flags, &revisions, &functions), Ok(expected), "{name}");
    };
    let at = |endpoint: &str| Location::Endpoint(endpoint.to_owned());
    check("a", at("flag:1"));
    check("b", at("dns:///b.ns:9443"));
    check("c", at("annotated:1"));
    check("function-auto-ready", at("installed:1"));
    check("function-status-transformer", Location::BuiltIn);
}

#[test]
fn an_unknown_function_is_an_error_that_says_what_to_do() {
    let installing = object(json!({"metadata": {"name": "function-auto-ready"}}));
    let error = find("function-auto-ready", &BTreeMap::new(), &[], &[installing]).unwrap_err();
    insta::assert_snapshot!(error, @r#"FunctionNotFound: Function "function-auto-ready" has no active revision with an endpoint. Its conditions Installed and Healthy say why"#);
    let error = find("d", &BTreeMap::new(), &[], &[]).unwrap_err();
    assert_eq!(error.class, RunErrorClass::FunctionNotFound);
    insta::assert_snapshot!(error, @r#"FunctionNotFound: no function "d" is known. Create a Function "d" with its package, start the operator with --function d=ENDPOINT, or use a built-in function (function-auto-ready, function-status-transformer)"#);
}

#[test]
fn a_pipeline_is_valid_when_its_packages_can_compose() {
    let composition = Composition::read(&object(json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "c"},
        "spec": {"compositeTypeRef": {"apiVersion": "e/v1", "kind": "X"},
                 "pipeline": [{"step": "s", "functionRef": {"name": "f"}}]},
    })));
    let composition = composition.unwrap();
    let check = |package: &str, state: &str, capabilities: Value, expected: &str| {
        let installed = object(json!({
            "metadata": {"name": "rev", "labels": {LABEL_PACKAGE: package}},
            "spec": {"desiredState": state}, "status": {"capabilities": capabilities},
        }));
        let condition = valid_pipeline(&composition, &[installed], Timestamp::UNIX_EPOCH);
        assert_eq!(format!("{} {}", condition.reason, condition.message).trim_end(), expected);
    };
    check("f", "Active", json!(["composition", "operation"]), "ValidPipeline");
    check("f", "Active", json!([]), "ValidPipeline");
    check("f", "Active", json!(null), "ValidPipeline");
    check("f", "Inactive", json!(["operation"]), "ValidPipeline");
    check("other", "Active", json!(["operation"]), "ValidPipeline");
    let missing = r#"MissingCapabilities function "f" (active revision "rev") is missing required capabilities: composition"#;
    check("f", "Active", json!(["operation"]), missing);
}

#[test]
fn a_function_says_where_it_comes_from_and_where_it_runs() {
    let function = |package: &str, annotations: Value| {
        Function::read(&object(json!({
            "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
            "metadata": {"name": "f", "annotations": annotations}, "spec": {"package": package},
        })))
    };
    let package = "xpkg.crossplane.io/org/f:v1.0.0";
    let plain = function(package, json!({})).unwrap();
    assert_eq!((plain.name.as_str(), plain.package.as_str()), ("f", package));
    assert_eq!((plain.endpoint, plain.development), (None, None));
    let served = function(package, json!({ANNOTATION_ENDPOINT: "h:1"})).unwrap();
    assert_eq!(served.endpoint.as_deref(), Some("h:1"));
    let developed = |target: Value| {
        let annotations = json!({ANNOTATION_RUNTIME: "Development", ANNOTATION_DEVELOPMENT_TARGET: target});
        function(package, annotations).unwrap().development.unwrap()
    };
    assert_eq!(developed(json!(null)), "localhost:9443");
    assert_eq!(developed(json!("h:2")), "h:2");
}

#[test]
fn a_package_is_named_in_full() {
    let check = |package: &str, expected: bool| assert_eq!(is_qualified(package), expected, "{package}");
    check("xpkg.crossplane.io/org/f:v1.0.0", true);
    check("xpkg.crossplane.io/f@sha256:abc", true);
    check("xpkg.crossplane.io/org/f:v1@sha256:abc", true);
    check("org/f:v1.0.0", false);
    check("xpkg.crossplane.io/org/f", false);
    check("xpkg.crossplane.io", false);
    let unqualified = object(json!({
        "apiVersion": "pkg.crossplane.io/v1beta1", "kind": "Function", "metadata": {"name": "f"},
        "spec": {"package": "f:v1"},
    }));
    let error = Function::read(&unqualified).unwrap_err();
    assert_eq!((error.code, error.field.as_deref()), (codes::FUNCTION_PACKAGE, Some("spec.package")));
    let mut developed = unqualified;
    developed["metadata"]["annotations"] = json!({"render.crossplane.io/runtime": "Development"});
    assert_eq!(Function::read(&developed).unwrap().development.as_deref(), Some("localhost:9443"));
    developed["spec"] = json!({});
    assert!(Function::read(&developed).is_ok(), "what is developed needs no package");
}
