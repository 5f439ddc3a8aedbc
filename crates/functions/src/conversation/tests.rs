//! When a function is called again, with what, and when that ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use composition::RunFuture;
use composition::run::{FunctionResult, Match, Object, Severity};
use serde_json::json;

use super::*;

/// Answers from a list and remembers what it was asked.
struct Script {
    answers: Mutex<VecDeque<Result<RunResponse, RunError>>>,
    requests: Mutex<Vec<RunRequest>>,
}

impl FunctionRunner for Script {
    fn run<'a>(&'a self, _: &'a str, request: &'a RunRequest) -> RunFuture<'a> {
        self.requests.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front().expect("the function is called once too often");
        Box::pin(async { answer })
    }
}

/// Finds one ConfigMap by name, all by labels, and one schema; a kind called Forbidden is an error.
struct Store;

impl Resolver for Store {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> Resolving<'a, Vec<Resource>> {
        Box::pin(async {
            match (selector.kind.as_str(), &selector.matching) {
                ("Forbidden", _) => Err(ResolveError("you may not".to_owned())),
                (_, Match::Name(name)) if name == "missing" => Ok(Vec::new()),
                (_, Match::Name(name)) => Ok(vec![config_map(name)]),
                _ => Ok(vec![config_map("a"), config_map("b")]),
            }
        })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> Resolving<'a, Schema> {
        Box::pin(async {
            match selector.kind.as_str() {
                "Forbidden" => Err(ResolveError("you may not".to_owned())),
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

fn asking(requirements: Requirements) -> RunResponse {
    RunResponse { requirements, ..RunResponse::default() }
}

/// Runs a conversation and returns what came of it and what the function was asked.
async fn converse_with(
    request: &RunRequest,
    answers: impl IntoIterator<Item = Result<RunResponse, RunError>>,
) -> (Result<RunResponse, RunError>, Vec<RunRequest>) {
    let script = Script { answers: Mutex::new(answers.into_iter().collect()), requests: Mutex::default() };
    let answer = converse("fn", request, &Store, &script).await;
    assert!(script.answers.lock().unwrap().is_empty(), "the function is called too seldom");
    (answer, script.requests.into_inner().unwrap())
}

fn message(answer: &Result<RunResponse, RunError>) -> (RunErrorClass, &str) {
    let error = answer.as_ref().unwrap_err();
    (error.class, &error.message)
}

#[tokio::test]
async fn a_function_that_requires_nothing_is_called_once() {
    let (answer, requests) = converse_with(&RunRequest::default(), [Ok(RunResponse::default())]).await;
    assert_eq!((answer, requests.len()), (Ok(RunResponse::default()), 1));
}

#[tokio::test]
async fn requirements_are_answered_and_confirmed_with_the_context_of_the_answer() {
    let context = Some(Object::from_iter([("seen".to_owned(), json!(1))]));
    let first = RunResponse { context: context.clone(), ..asking(by_name("a")) };
    let (answer, requests) =
        converse_with(&RunRequest::default(), [Ok(first), Ok(asking(by_name("a")))]).await;
    assert_eq!(answer, Ok(asking(by_name("a"))));
    assert_eq!(requests[1].context, context);
    let given = BTreeMap::from([("it".to_owned(), vec![config_map("a")])]);
    assert_eq!(requests[1].required_resources, given);
    assert!(requests[1].extra_resources.is_empty());
}

#[tokio::test]
async fn the_deprecated_field_is_answered_in_the_deprecated_field() {
    let all = selector("ConfigMap", Match::All);
    let requirements = Requirements {
        extra_resources: BTreeMap::from([("all".to_owned(), all)]),
        ..Requirements::default()
    };
    let asked = || Ok(asking(requirements.clone()));
    let (_, requests) = converse_with(&RunRequest::default(), [asked(), asked()]).await;
    let given = BTreeMap::from([("all".to_owned(), vec![config_map("a"), config_map("b")])]);
    assert_eq!(requests[1].extra_resources, given);
    assert!(requests[1].required_resources.is_empty());
}

#[tokio::test]
async fn what_is_not_there_is_given_as_an_empty_list() {
    let asked = || Ok(asking(by_name("missing")));
    let (_, requests) = converse_with(&RunRequest::default(), [asked(), asked()]).await;
    assert_eq!(requests[1].required_resources, BTreeMap::from([("it".to_owned(), Vec::new())]));
}

#[tokio::test]
async fn what_was_given_up_front_stays_and_saves_the_second_call() {
    let mut request = RunRequest::default();
    request.required_resources.insert("it".to_owned(), vec![config_map("a")]);
    let (answer, _) = converse_with(&request, [Ok(asking(by_name("a")))]).await;
    assert_eq!(answer, Ok(asking(by_name("a"))), "it saw all it asks for");

    request.required_resources.insert("bootstrap".to_owned(), vec![config_map("z")]);
    request.required_schemas.insert("schema".to_owned(), Schema::default());
    let (_, requests) = converse_with(&request, [Ok(asking(by_name("b"))), Ok(asking(by_name("b")))]).await;
    let given = [("bootstrap".to_owned(), vec![config_map("z")]), ("it".to_owned(), vec![config_map("b")])];
    assert_eq!(requests[1].required_resources, BTreeMap::from(given));
    assert_eq!(requests[1].required_schemas, request.required_schemas);
}

#[tokio::test]
async fn a_fatal_result_ends_the_conversation() {
    let fatal = FunctionResult { severity: Severity::Fatal, ..FunctionResult::default() };
    let answer = RunResponse { results: vec![fatal], ..asking(by_name("a")) };
    let (ended, _) = converse_with(&RunRequest::default(), [Ok(answer.clone())]).await;
    assert_eq!(ended, Ok(answer));
}

#[tokio::test]
async fn requirements_that_never_settle_fail_after_six_calls() {
    let answers = (0..6).map(|round| Ok(asking(by_name(&format!("round-{round}")))));
    let (answer, requests) = converse_with(&RunRequest::default(), answers).await;
    assert_eq!(requests.len(), 6);
    let expected = "requirements didn't stabilize after the maximum number of iterations (5)";
    assert_eq!(message(&answer), (RunErrorClass::Unsettled, expected));
}

#[tokio::test]
async fn schemas_are_given_and_what_cannot_be_read_is_named() {
    let schema = |kind: &str| {
        let schema = SchemaSelector { api_version: "v1".to_owned(), kind: kind.to_owned() };
        let schemas = BTreeMap::from([("of".to_owned(), schema)]);
        asking(Requirements { schemas, ..Requirements::default() })
    };
    let (_, requests) = converse_with(&RunRequest::default(), [Ok(schema("Pod")), Ok(schema("Pod"))]).await;
    assert_eq!(requests[1].required_schemas["of"].openapi_v3, Some(Object::new()));

    let (answer, _) = converse_with(&RunRequest::default(), [Ok(schema("Forbidden"))]).await;
    assert_eq!(message(&answer), (RunErrorClass::Requirement, "fetching schema for of: you may not"));

    let forbidden = BTreeMap::from([("it".to_owned(), selector("Forbidden", Match::All))]);
    let forbidden = Requirements { resources: forbidden, ..Requirements::default() };
    let (answer, _) = converse_with(&RunRequest::default(), [Ok(asking(forbidden))]).await;
    assert_eq!(message(&answer), (RunErrorClass::Requirement, "fetching resources for it: you may not"));
}

#[tokio::test]
async fn a_failed_call_fails_the_conversation() {
    let failed = RunError::new(RunErrorClass::Unavailable, "gone");
    let (answer, _) = converse_with(&RunRequest::default(), [Err(failed.clone())]).await;
    assert_eq!(answer, Err(failed));
}

#[tokio::test]
async fn without_a_cluster_whoever_asks_is_told_so() {
    let script =
        Script { answers: Mutex::new([Ok(asking(by_name("a")))].into()), requests: Mutex::default() };
    let answer = converse("fn", &RunRequest::default(), &NoResolver, &script).await;
    let expected = "fetching resources for it: there is no cluster here to read ConfigMap (v1) from";
    assert_eq!(message(&answer), (RunErrorClass::Requirement, expected));
}
