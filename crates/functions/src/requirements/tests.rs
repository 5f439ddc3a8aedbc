//! When a function is called again, with what, and when to stop.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use composition::RunFuture;
use composition::protocol::{FunctionResult, Match, Object, Severity};
use serde_json::json;

use super::*;

/// Responds from a list and records the requests.
struct Script {
    responses: Mutex<VecDeque<Result<RunResponse, RunError>>>,
    requests: Mutex<Vec<RunRequest>>,
}

impl FunctionRunner for Script {
    fn run<'a>(&'a self, _: &'a str, request: &'a RunRequest) -> RunFuture<'a> {
        self.requests.lock().unwrap().push(request.clone());
        let response = self.responses.lock().unwrap().pop_front().expect("the function is called too often");
        Box::pin(async { response })
    }
}

/// Finds one ConfigMap by name, all by labels, and one schema; a kind called Forbidden is an error.
struct Store;

impl Resolver for Store {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        Box::pin(async {
            match (selector.kind.as_str(), &selector.matching) {
                ("Forbidden", _) => Err(ResolveError("forbidden".to_owned())),
                (_, Match::Name(name)) if name == "missing" => Ok(Vec::new()),
                (_, Match::Name(name)) => Ok(vec![config_map(name)]),
                _ => Ok(vec![config_map("a"), config_map("b")]),
            }
        })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(async {
            match selector.kind.as_str() {
                "Forbidden" => Err(ResolveError("forbidden".to_owned())),
                _ => Ok(Schema { openapi_v3: Some(Object::new()) }),
            }
        })
    }
}

fn config_map(name: &str) -> Resource {
    Resource::of(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
}

fn by_name(name: &str) -> Requirements {
    let resources = BTreeMap::from([("it".to_owned(), selector("ConfigMap", Match::Name(name.to_owned())))]);
    Requirements { resources, ..Requirements::default() }
}

fn selector(kind: &str, matching: Match) -> ResourceSelector {
    ResourceSelector { api_version: "v1".to_owned(), kind: kind.to_owned(), matching, namespace: None }
}

fn requiring(requirements: Requirements) -> RunResponse {
    RunResponse { requirements, ..RunResponse::default() }
}

/// Runs a function and returns its final response and the requests it received.
async fn run(
    request: &RunRequest,
    responses: impl IntoIterator<Item = Result<RunResponse, RunError>>,
) -> (Result<RunResponse, RunError>, Vec<RunRequest>) {
    let script =
        Script { responses: Mutex::new(responses.into_iter().collect()), requests: Mutex::default() };
    let response = run_with_requirements("fn", request, &Store, &script).await;
    assert!(script.responses.lock().unwrap().is_empty(), "the function is called too rarely");
    (response, script.requests.into_inner().unwrap())
}

fn message(response: &Result<RunResponse, RunError>) -> (RunErrorClass, &str) {
    let error = response.as_ref().unwrap_err();
    (error.class, &error.message)
}

#[tokio::test]
async fn a_function_that_requires_nothing_is_called_once() {
    let (response, requests) = run(&RunRequest::default(), [Ok(RunResponse::default())]).await;
    assert_eq!((response, requests.len()), (Ok(RunResponse::default()), 1));
}

#[tokio::test]
async fn requirements_are_resolved_and_confirmed_with_the_context_of_the_response() {
    let context = Some(Object::from_iter([("seen".to_owned(), json!(1))]));
    let first = RunResponse { context: context.clone(), ..requiring(by_name("a")) };
    let (response, requests) = run(&RunRequest::default(), [Ok(first), Ok(requiring(by_name("a")))]).await;
    assert_eq!(response, Ok(requiring(by_name("a"))));
    assert_eq!(requests[1].context, context);
    let given = BTreeMap::from([("it".to_owned(), vec![config_map("a")])]);
    assert_eq!(requests[1].required_resources, given);
    assert!(requests[1].extra_resources.is_empty());
}

#[tokio::test]
async fn the_deprecated_field_is_resolved_in_the_deprecated_field() {
    let all = selector("ConfigMap", Match::All);
    let requirements = Requirements {
        extra_resources: BTreeMap::from([("all".to_owned(), all)]),
        ..Requirements::default()
    };
    let required = || Ok(requiring(requirements.clone()));
    let (_, requests) = run(&RunRequest::default(), [required(), required()]).await;
    let given = BTreeMap::from([("all".to_owned(), vec![config_map("a"), config_map("b")])]);
    assert_eq!(requests[1].extra_resources, given);
    assert!(requests[1].required_resources.is_empty());
}

#[tokio::test]
async fn missing_resources_are_an_empty_list() {
    let required = || Ok(requiring(by_name("missing")));
    let (_, requests) = run(&RunRequest::default(), [required(), required()]).await;
    assert_eq!(requests[1].required_resources, BTreeMap::from([("it".to_owned(), Vec::new())]));
}

#[tokio::test]
async fn resources_already_in_the_request_stay_and_save_the_second_call() {
    let mut request = RunRequest::default();
    request.required_resources.insert("it".to_owned(), vec![config_map("a")]);
    let (response, _) = run(&request, [Ok(requiring(by_name("a")))]).await;
    assert_eq!(response, Ok(requiring(by_name("a"))), "it had everything it requires");

    request.required_resources.insert("bootstrap".to_owned(), vec![config_map("z")]);
    request.required_schemas.insert("schema".to_owned(), Schema::default());
    let (_, requests) = run(&request, [Ok(requiring(by_name("b"))), Ok(requiring(by_name("b")))]).await;
    let given = [("bootstrap".to_owned(), vec![config_map("z")]), ("it".to_owned(), vec![config_map("b")])];
    assert_eq!(requests[1].required_resources, BTreeMap::from(given));
    assert_eq!(requests[1].required_schemas, request.required_schemas);
}

#[tokio::test]
async fn a_fatal_result_is_final() {
    let fatal = FunctionResult { severity: Severity::Fatal, ..FunctionResult::default() };
    let response = RunResponse { results: vec![fatal], ..requiring(by_name("a")) };
    let (ended, _) = run(&RunRequest::default(), [Ok(response.clone())]).await;
    assert_eq!(ended, Ok(response));
}

#[tokio::test]
async fn requirements_that_never_stabilize_fail_after_six_calls() {
    let responses = (0..6).map(|round| Ok(requiring(by_name(&format!("round-{round}")))));
    let (response, requests) = run(&RunRequest::default(), responses).await;
    assert_eq!(requests.len(), 6);
    let expected = "requirements didn't stabilize after the maximum number of iterations (5)";
    assert_eq!(message(&response), (RunErrorClass::Unsettled, expected));
}

#[tokio::test]
async fn schemas_are_resolved_and_failures_name_the_requirement() {
    let schema = |kind: &str| {
        let schema = SchemaSelector { api_version: "v1".to_owned(), kind: kind.to_owned() };
        let schemas = BTreeMap::from([("of".to_owned(), schema)]);
        requiring(Requirements { schemas, ..Requirements::default() })
    };
    let (_, requests) = run(&RunRequest::default(), [Ok(schema("Pod")), Ok(schema("Pod"))]).await;
    assert_eq!(requests[1].required_schemas["of"].openapi_v3, Some(Object::new()));

    let (response, _) = run(&RunRequest::default(), [Ok(schema("Forbidden"))]).await;
    assert_eq!(message(&response), (RunErrorClass::Requirement, "fetching schema for of: forbidden"));

    let forbidden = BTreeMap::from([("it".to_owned(), selector("Forbidden", Match::All))]);
    let forbidden = Requirements { resources: forbidden, ..Requirements::default() };
    let (response, _) = run(&RunRequest::default(), [Ok(requiring(forbidden))]).await;
    assert_eq!(message(&response), (RunErrorClass::Requirement, "fetching resources for it: forbidden"));
}

#[tokio::test]
async fn a_failed_call_fails_the_run() {
    let failed = RunError::new(RunErrorClass::Unavailable, "gone");
    let (response, _) = run(&RunRequest::default(), [Err(failed.clone())]).await;
    assert_eq!(response, Err(failed));
}

#[tokio::test]
async fn without_a_cluster_requirements_are_an_error() {
    let script =
        Script { responses: Mutex::new([Ok(requiring(by_name("a")))].into()), requests: Mutex::default() };
    let response = run_with_requirements("fn", &RunRequest::default(), &NoResolver, &script).await;
    let expected = "fetching resources for it: there is no cluster to read ConfigMap (v1) from";
    assert_eq!(message(&response), (RunErrorClass::Requirement, expected));
}
