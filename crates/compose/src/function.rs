//! How a function is found: by a flag, as a package someone installed, by an annotation, or built in.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::composition::Composition;
use crate::condition::Condition;
use crate::object;
use crate::run::{ConditionStatus, Object};
use crate::runner::{RunError, RunErrorClass};

/// The annotation on a Function with the endpoint it is served at.
pub const ANNOTATION_ENDPOINT: &str = "plimsoll.dev/endpoint";
/// The functions this engine brings along.
pub const BUILT_IN: [&str; 2] = ["function-auto-ready", "function-status-transformer"];

/// The condition of a revision that says whether its functions can run.
pub const VALID_PIPELINE: &str = "ValidPipeline";

const LABEL_PACKAGE: &str = "pkg.crossplane.io/package";

/// Where a function runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// At an endpoint, such as `dns:///svc.ns:9443`, `host:port` or `unix:/path`.
    Endpoint(String),
    /// In this process.
    BuiltIn,
}

/// Finds the function called `name`, in order: the flags, an active FunctionRevision with an endpoint, a Function with an
/// endpoint annotation, the built-ins.
pub fn find(
    name: &str,
    flags: &BTreeMap<String, String>,
    revisions: &[Object],
    functions: &[Object],
) -> Result<Location, RunError> {
    if let Some(endpoint) = flags.get(name) {
        return Ok(Location::Endpoint(endpoint.clone()));
    }
    let active =
        |revision: &&Object| object::label(revision, LABEL_PACKAGE) == Some(name) && is_active(revision);
    let endpoint = |revision: &Object| {
        let endpoint = object::nested(revision, &["status", "endpoint"]).and_then(Value::as_str);
        endpoint.filter(|endpoint| !endpoint.is_empty()).map(str::to_owned)
    };
    if let Some(endpoint) = revisions.iter().filter(active).find_map(endpoint) {
        return Ok(Location::Endpoint(endpoint));
    }
    let named = functions.iter().find(|function| object::name(function) == Some(name));
    if let Some(endpoint) = named.and_then(|function| object::annotation(function, ANNOTATION_ENDPOINT)) {
        return Ok(Location::Endpoint(endpoint.to_owned()));
    }
    if BUILT_IN.contains(&name) {
        return Ok(Location::BuiltIn);
    }
    Err(not_found(name))
}

fn not_found(name: &str) -> RunError {
    let message = format!(
        "FunctionNotFound: no function {name:?} is known. Start the operator with --function {name}=ENDPOINT, \
         annotate Function {name:?} with {ANNOTATION_ENDPOINT}, install a package whose active FunctionRevision has \
         an endpoint, or use a built-in function ({})",
        BUILT_IN.join(", ")
    );
    RunError::new(RunErrorClass::FunctionNotFound, message)
}

/// `ValidPipeline` of a revision: every function that is installed as a package can run in compositions.
///
/// Functions that are found otherwise are not asked. A package that says nothing about its capabilities is from before
/// there were any, and can.
pub fn valid_pipeline(revision: &Composition, function_revisions: &[Object], now: Timestamp) -> Condition {
    let runs = |function: &str| revision.spec.pipeline.iter().any(|step| step.function_ref.name == function);
    for installed in function_revisions.iter().filter(|installed| is_active(installed)) {
        let Some(package) = object::label(installed, LABEL_PACKAGE).filter(|package| runs(package)) else {
            continue;
        };
        if !can_compose(installed) {
            let name = object::name(installed).unwrap_or_default();
            return Condition::new(VALID_PIPELINE, ConditionStatus::False, "MissingCapabilities", now).message(format!(
                "function {package:?} (active revision {name:?}) is missing required capabilities: composition"
            ));
        }
    }
    Condition::new(VALID_PIPELINE, ConditionStatus::True, "ValidPipeline", now)
}

fn is_active(revision: &Object) -> bool {
    object::nested(revision, &["spec", "desiredState"]).and_then(Value::as_str) == Some("Active")
}

fn can_compose(revision: &Object) -> bool {
    let capabilities = object::nested(revision, &["status", "capabilities"]).and_then(Value::as_array);
    let composition = |one: &Value| one.as_str().is_some_and(|one| one.eq_ignore_ascii_case("composition"));
    capabilities.is_none_or(|all| all.is_empty() || all.iter().any(composition))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            revision("c", "Active", ""),
            revision("function-auto-ready", "Active", "installed:1"),
        ];
        let annotated = |name: &str| {
            object(json!({"metadata": {"name": name, "annotations": {ANNOTATION_ENDPOINT: "annotated:1"}}}))
        };
        let functions = [annotated("b"), annotated("c")];
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
    fn a_function_nobody_knows_comes_with_ways_out() {
        let error = find("d", &BTreeMap::new(), &[], &[]).unwrap_err();
        assert_eq!(error.class, RunErrorClass::FunctionNotFound);
        insta::assert_snapshot!(error, @r#"FunctionNotFound: no function "d" is known. Start the operator with --function d=ENDPOINT, annotate Function "d" with plimsoll.dev/endpoint, install a package whose active FunctionRevision has an endpoint, or use a built-in function (function-auto-ready, function-status-transformer)"#);
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
}
