//! Requests and responses arrive intact, in both versions of the protocol.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use composition::protocol::{
    Capability, ConditionStatus, Match, Requirements, Resource, ResourceSelector, RunRequest, RunResponse,
    Schema, SchemaSelector, Severity, State, Target,
};
use composition::{FunctionRunner, RunErrorClass};
use functions::{FunctionError, ResolveFuture, Resolver, ServeOptions, Transport, response};
use serde_json::json;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::fixture::{Engine, certificates, impatient, patient, request, serve, serve_with};

const NOT_FOUND: &str = "The image provided does not exist or you are not authorized to use it.";

#[tokio::test]
async fn everything_arrives_over_mutual_tls() {
    let out = tempfile::tempdir().unwrap();
    let made = certificates(out.path());
    let function = async |request: RunRequest| {
        assert_eq!(request.meta.capabilities, Capability::ALL);
        assert_eq!(request.credentials["db"]["password"], b"hunter2");
        assert_eq!(request.observed.composite.object["kind"], "XApp");
        let mut rsp = response::to(&request);
        response::fatal(&mut rsp, NOT_FOUND)
            .condition_false("ImageReady", "NotFound")
            .target_composite_and_claim();
        Ok(rsp)
    };
    let served = serve(function, Some(&made.server)).await;
    let engine = Engine::of(patient(Some(&made.client)), &served.endpoint);
    let mut request = request();
    let composite = Resource::of(json!({"apiVersion": "example.org/v1", "kind": "XApp"}));
    request.observed = Arc::new(State { composite, ..State::default() });
    request.desired.resources.insert("web".to_owned(), Resource::of(json!({"kind": "Deployment"})));
    let secret = [("password".to_owned(), b"hunter2".to_vec())].into_iter().collect();
    request.credentials.insert("db".to_owned(), secret);
    let response = engine.run("fn", &request).await.unwrap();

    assert_eq!(response.meta.tag, "the caller's", "the response is to this request");
    assert_eq!(response.meta.ttl, Some(Duration::from_secs(60)));
    assert_eq!(response.desired, request.desired);
    let (result, condition) = (&response.results[0], &response.conditions[0]);
    assert_eq!((result.severity, result.message.as_str()), (Severity::Fatal, NOT_FOUND));
    assert_eq!((condition.kind.as_str(), condition.reason.as_str()), ("ImageReady", "NotFound"));
    assert_eq!((condition.status, condition.message.as_deref()), (ConditionStatus::False, Some(NOT_FOUND)));
    assert_eq!([result.target, condition.target], [Target::CompositeAndClaim; 2]);
}

#[tokio::test]
async fn a_tag_the_engine_did_not_send_is_kept() {
    let function = async |_: RunRequest| -> Result<RunResponse, FunctionError> { Ok(RunResponse::default()) };
    let served = serve(function, None).await;
    let engine = Engine::of(patient(None), &served.endpoint);
    assert_eq!(engine.call().await.unwrap().meta.tag, "");
}

#[tokio::test]
async fn a_rounded_number_is_a_warning_for_the_operator() {
    let served = serve(async |request: RunRequest| Ok(response::to(&request)), None).await;
    let engine = Engine::of(patient(None), &served.endpoint);
    let mut request = request();
    request.input = Resource::of(json!({"id": 9_007_199_254_740_993_u64})).object.into();
    let response = engine.run("fn", &request).await.unwrap();
    let result = &response.results[0];
    assert_eq!((result.severity, result.target), (Severity::Warning, Target::Composite));
    assert_eq!(
        result.message,
        "the protocol carries integers only up to 2^53 exactly, so the function received rounded numbers: \
         9007199254740993 at input.id. Use strings where the function needs exact values."
    );
}

/// Finds one ConfigMap of any name, and no schema.
struct Store;

impl Resolver for Store {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        let Match::Name(name) = &selector.matching else { panic!("{selector:?}") };
        let found = Resource::of(json!({"kind": selector.kind, "metadata": {"name": name}}));
        Box::pin(async { Ok(vec![found]) })
    }

    fn schema<'a>(&'a self, _: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(async { Ok(Schema::default()) })
    }
}

#[tokio::test]
async fn a_function_is_called_again_with_what_it_requires() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let function = move |request: RunRequest| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut rsp = response::to(&request);
        let matching = Match::Name("settings".to_owned());
        let selector = ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            matching,
            namespace: Some("default".to_owned()),
        };
        rsp.requirements = Requirements {
            resources: BTreeMap::from([("settings".to_owned(), selector)]),
            ..Requirements::default()
        };
        if let Some(found) = request.required_resources.get("settings") {
            rsp.desired.resources.insert("copy".to_owned(), found[0].clone());
        }
        async { Ok::<_, FunctionError>(rsp) }
    };
    let served = serve(function, None).await;
    let engine = Engine::of(patient(None), &served.endpoint);
    let response = engine.functions.runner(&Store).run("fn", &request()).await.unwrap();
    assert_eq!(response.desired.resources["copy"].object["metadata"]["name"], "settings");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(response.meta.tag, "the caller's", "also after the second call");
}

#[tokio::test]
async fn errors_and_panics_of_a_function_fail_only_their_call() {
    let function = async |request: RunRequest| match request.meta.capabilities.len() {
        0 => panic!("no capabilities"),
        1 => Err(FunctionError("boom".to_owned())),
        _ => Ok(response::to(&request)),
    };
    let served = serve(function, None).await;
    let engine = Engine::of(patient(None), &served.endpoint);
    let check = async |capabilities: &[Capability], expected: &str| {
        let mut request = request();
        request.meta.capabilities = capabilities.to_vec();
        let error = engine.run("fn", &request).await.unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (RunErrorClass::Failed, expected));
    };
    check(&[], "rpc error: code = Internal desc = the function panicked").await;
    check(&[Capability::Conditions], "rpc error: code = Unknown desc = boom").await;
    engine.call().await.unwrap();
}

#[tokio::test]
async fn built_in_and_unknown_functions_need_no_connection() {
    use composition::function::{Location, find};
    let locate = |name: &str| find(name, &BTreeMap::new(), &[], &[]);
    assert_eq!(locate("function-auto-ready"), Ok(Location::BuiltIn));
    let functions = functions::Functions::new(impatient(None), locate).unwrap();
    let runner = functions.runner(&Store);
    let response = runner.run("function-auto-ready", &request()).await.unwrap();
    assert_eq!(response.meta.tag, "the caller's");
    functions.reachable("function-auto-ready").await.unwrap();
    let error = runner.run("function-unknown", &request()).await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::FunctionNotFound);

    let engine = Engine::of(impatient(None), "nowhere");
    let error = engine.call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::FunctionNotFound);
    assert!(error.message.starts_with("\"nowhere\" is not a function endpoint: it has no port"), "{error}");
}

#[tokio::test]
async fn every_form_of_an_endpoint_works() {
    let folder = tempfile::tempdir().unwrap();
    let echo = async |request: RunRequest| Ok::<_, FunctionError>(response::to(&request));
    let tcp = serve(echo, None).await;
    let address = format!("unix:{}", folder.path().join("fn.sock").display());
    let unix = serve_with(echo, ServeOptions::new(address, Transport::Insecure)).await;
    let engine = Engine::new(patient(None));
    for endpoint in [
        tcp.endpoint.clone(),
        format!("dns:///{}", tcp.endpoint),
        format!("dns:{}", tcp.endpoint),
        unix.endpoint.clone(),
    ] {
        engine.move_to("fn", &endpoint);
        engine.call().await.unwrap_or_else(|error| panic!("{endpoint}: {error}"));
    }
}

#[tokio::test]
async fn a_function_reports_that_it_is_healthy() {
    let served =
        serve(async |request: RunRequest| Ok::<_, FunctionError>(response::to(&request)), None).await;
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", served.endpoint)).unwrap();
    let mut health = HealthClient::new(endpoint.connect().await.unwrap());
    for service in ["", "apiextensions.fn.proto.v1.FunctionRunnerService"] {
        let response = health.check(HealthCheckRequest { service: service.to_owned() }).await.unwrap();
        assert_eq!(response.into_inner().status, 1, "SERVING");
    }
}
