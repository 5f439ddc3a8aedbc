//! When a function is called again, with what, and when to stop.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use composition::protocol::{FunctionResult, Match, Object, Severity};
use serde_json::json;

use super::*;

/// Responds from a list and records the requests with what they are given.
struct Script<'a> {
    resolver: &'a dyn Resolver,
    responses: Mutex<VecDeque<Result<RunResponse, RunError>>>,
    requests: Mutex<Vec<RunRequest>>,
}

impl Caller for Script<'_> {
    fn call<'a>(&'a self, request: &'a RunRequest, given: &'a Requirements) -> RunFuture<'a> {
        Box::pin(async move {
            let request = resolve(request, given, self.resolver).await?.into_owned();
            self.requests.lock().unwrap().push(request);
            self.responses.lock().unwrap().pop_front().expect("the function is called too often")
        })
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

/// Runs a function that requires what `given` has and returns its final response and the requests it received.
async fn run_given(
    given: &Requirements,
    resolver: &dyn Resolver,
    responses: impl IntoIterator<Item = Result<RunResponse, RunError>>,
) -> (Result<RunResponse, RunError>, Vec<RunRequest>) {
    let responses = Mutex::new(responses.into_iter().collect());
    let script = Script { resolver, responses, requests: Mutex::default() };
    let response = run_with_requirements(&RunRequest::default(), given, &script).await;
    assert!(script.responses.lock().unwrap().is_empty(), "the function is called too rarely");
    (response, script.requests.into_inner().unwrap())
}

/// The same for a function that is given nothing at first.
async fn run(
    responses: impl IntoIterator<Item = Result<RunResponse, RunError>>,
) -> (Result<RunResponse, RunError>, Vec<RunRequest>) {
    run_given(&Requirements::NONE, &Store, responses).await
}

fn message(response: &Result<RunResponse, RunError>) -> (RunErrorClass, &str) {
    let error = response.as_ref().unwrap_err();
    (error.class, &error.message)
}

#[tokio::test]
async fn a_function_that_requires_nothing_is_called_once() {
    let (response, requests) = run([Ok(RunResponse::default())]).await;
    assert_eq!((response, requests.len()), (Ok(RunResponse::default()), 1));
}

#[tokio::test]
async fn requirements_are_resolved_and_confirmed_with_the_context_of_the_response() {
    let context = Some(Object::from_iter([("seen".to_owned(), json!(1))]));
    let first = RunResponse { context: context.clone(), ..requiring(by_name("a")) };
    let (response, requests) = run([Ok(first), Ok(requiring(by_name("a")))]).await;
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
    let (_, requests) = run([required(), required()]).await;
    let given = BTreeMap::from([("all".to_owned(), vec![config_map("a"), config_map("b")])]);
    assert_eq!(requests[1].extra_resources, given);
    assert!(requests[1].required_resources.is_empty());
}

#[tokio::test]
async fn missing_resources_are_an_empty_list() {
    let required = || Ok(requiring(by_name("missing")));
    let (_, requests) = run([required(), required()]).await;
    assert_eq!(requests[1].required_resources, BTreeMap::from([("it".to_owned(), Vec::new())]));
}

#[tokio::test]
async fn what_is_given_from_the_beginning_stays_and_saves_the_second_call() {
    let mut given = by_name("a");
    let (response, requests) = run_given(&given, &Store, [Ok(requiring(by_name("a")))]).await;
    assert_eq!(response, Ok(requiring(by_name("a"))), "it had everything it requires");
    assert_eq!(requests[0].required_resources, BTreeMap::from([("it".to_owned(), vec![config_map("a")])]));

    given.resources.insert("bootstrap".to_owned(), selector("ConfigMap", Match::Name("z".to_owned())));
    let schema = SchemaSelector { api_version: "v1".to_owned(), kind: "Pod".to_owned() };
    given.schemas.insert("schema".to_owned(), schema);
    let responses = [Ok(requiring(by_name("b"))), Ok(requiring(by_name("b")))];
    let (_, requests) = run_given(&given, &Store, responses).await;
    let expected =
        [("bootstrap".to_owned(), vec![config_map("z")]), ("it".to_owned(), vec![config_map("b")])];
    assert_eq!(requests[1].required_resources, BTreeMap::from(expected));
    assert_eq!(requests[1].required_schemas, requests[0].required_schemas);
}

#[tokio::test]
async fn a_fatal_result_is_final() {
    let fatal = FunctionResult { severity: Severity::Fatal, ..FunctionResult::default() };
    let response = RunResponse { results: vec![fatal], ..requiring(by_name("a")) };
    let (ended, _) = run([Ok(response.clone())]).await;
    assert_eq!(ended, Ok(response));
}

#[tokio::test]
async fn requirements_that_never_stabilize_fail_after_six_calls() {
    let responses = (0..6).map(|round| Ok(requiring(by_name(&format!("round-{round}")))));
    let (response, requests) = run(responses).await;
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
    let (_, requests) = run([Ok(schema("Pod")), Ok(schema("Pod"))]).await;
    assert_eq!(requests[1].required_schemas["of"].openapi_v3, Some(Object::new()));

    let (response, _) = run([Ok(schema("Forbidden"))]).await;
    assert_eq!(message(&response), (RunErrorClass::Requirement, "fetching schema for of: forbidden"));

    let forbidden = BTreeMap::from([("it".to_owned(), selector("Forbidden", Match::All))]);
    let forbidden = Requirements { resources: forbidden, ..Requirements::default() };
    let (response, _) = run([Ok(requiring(forbidden))]).await;
    assert_eq!(message(&response), (RunErrorClass::Requirement, "fetching resources for it: forbidden"));
}

#[tokio::test]
async fn a_failed_call_fails_the_run() {
    let failed = RunError::new(RunErrorClass::Unavailable, "gone");
    let (response, _) = run([Err(failed.clone())]).await;
    assert_eq!(response, Err(failed));
}

#[tokio::test]
async fn without_a_cluster_requirements_are_an_error() {
    let (response, _) = run_given(&Requirements::NONE, &NoResolver, [Ok(requiring(by_name("a")))]).await;
    let expected = "fetching resources for it: there is no cluster to read ConfigMap (v1) from";
    assert_eq!(message(&response), (RunErrorClass::Requirement, expected));
}
