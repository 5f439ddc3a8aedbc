//! Round trips of messages, undefined enum numbers, and known tags.

use std::fs;
use std::path::Path;
use std::time::Duration;

use composition::protocol::{
    Capability, ConditionStatus, FunctionCondition, FunctionResult, Match, Object, RequestMeta, Requirements,
    ResourceSelector, ResponseMeta, RunRequest, RunResponse, Schema, SchemaSelector, Severity, Target,
};
use proptest::prelude::*;
use prost::Message;
use serde_json::json;

use super::*;

fn names<T: fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = BTreeMap<String, T>> {
    prop::collection::btree_map("[a-z]{1,4}", value, 0..3)
}

fn any_object() -> impl Strategy<Value = Object> {
    prop::collection::btree_map("[a-z]{1,4}", any::<i32>(), 1..3)
        .prop_map(|fields| fields.into_iter().map(|(key, number)| (key, json!(number))).collect())
}

fn any_data() -> impl Strategy<Value = SecretData> {
    names(any::<[u8; 2]>())
        .prop_map(|data| data.into_iter().map(|(key, bytes)| (key, bytes.to_vec())).collect())
}

fn any_resource() -> impl Strategy<Value = Resource> {
    let ready = prop_oneof![Just(Ready::Unspecified), Just(Ready::True), Just(Ready::False)];
    (any_object(), any_data(), ready).prop_map(|(object, connection_details, ready)| Resource {
        object,
        connection_details,
        ready,
    })
}

fn any_state() -> impl Strategy<Value = State> {
    (prop_oneof![Just(Resource::default()), any_resource()], names(any_resource()))
        .prop_map(|(composite, resources)| State { composite, resources })
}

fn any_request() -> impl Strategy<Value = RunRequest> {
    let resources = || names(prop::collection::vec(any_resource(), 0..3));
    let schema = prop::option::of(any_object()).prop_map(|openapi_v3| Schema { openapi_v3 });
    let objects = (prop::option::of(any_object()), prop::option::of(any_object()));
    (any_state(), any_state(), objects, resources(), resources(), names(schema), names(any_data())).prop_map(
        |(observed, desired, (input, context), extra, required, required_schemas, credentials)| RunRequest {
            meta: RequestMeta { tag: String::new(), capabilities: Capability::ALL.to_vec() },
            observed: observed.into(),
            desired,
            input,
            context,
            extra_resources: extra,
            required_resources: required,
            required_schemas,
            credentials,
        },
    )
}

fn any_target() -> impl Strategy<Value = Target> {
    prop_oneof![Just(Target::Composite), Just(Target::CompositeAndClaim)]
}

fn any_selector() -> impl Strategy<Value = ResourceSelector> {
    let matching = prop_oneof![
        Just(Match::All),
        "[a-z]{1,4}".prop_map(Match::Name),
        names("[a-z]{0,4}".prop_map(String::from)).prop_map(Match::Labels),
    ];
    (matching, prop::option::of("[a-z]{1,4}")).prop_map(|(matching, namespace)| ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching,
        namespace,
    })
}

fn any_response() -> impl Strategy<Value = RunResponse> {
    let severity = prop_oneof![
        Just(Severity::Unspecified),
        Just(Severity::Fatal),
        Just(Severity::Warning),
        Just(Severity::Normal)
    ];
    let result = (severity, ".{0,8}", prop::option::of("[A-Z]{1,4}"), any_target())
        .prop_map(|(severity, message, reason, target)| FunctionResult { severity, message, reason, target });
    let status = prop_oneof![
        Just(ConditionStatus::Unknown),
        Just(ConditionStatus::True),
        Just(ConditionStatus::False)
    ];
    let condition = ("[A-Z]{0,4}", status, "[A-Z]{0,4}", prop::option::of(".{0,8}"), any_target()).prop_map(
        |(kind, status, reason, message, target)| FunctionCondition { kind, status, reason, message, target },
    );
    let schema = Just(SchemaSelector { api_version: "v1".to_owned(), kind: "Pod".to_owned() });
    let requirements = (names(any_selector()), names(any_selector()), names(schema)).prop_map(
        |(extra_resources, resources, schemas)| Requirements { extra_resources, resources, schemas },
    );
    let ttl = prop::option::of((0_u64..1 << 40, 0_u32..1_000_000_000));
    let objects = (prop::option::of(any_object()), prop::option::of(any_object()));
    let reported = (prop::collection::vec(result, 0..3), prop::collection::vec(condition, 0..3));
    (ttl, any_state(), reported, objects, requirements).prop_map(
        |(ttl, desired, (results, conditions), (context, output), requirements)| RunResponse {
            meta: ResponseMeta {
                tag: "tag".to_owned(),
                ttl: ttl.map(|(seconds, nanos)| Duration::new(seconds, nanos)),
            },
            desired,
            results,
            context,
            requirements,
            conditions,
            output,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn requests_round_trip_with_a_tag_of_their_content(request in any_request()) {
        let encoded = encode(&request);
        let message = pb::RunFunctionRequest::decode(encoded.bytes.clone()).unwrap();
        prop_assert_eq!(message.encode_to_vec(), encoded.bytes.to_vec());
        let read = read_request(message).unwrap();
        prop_assert_eq!(&read.meta.tag, &encoded.tag);
        let expected = RunRequest { meta: RequestMeta { tag: encoded.tag.clone(), ..request.meta.clone() }, ..request };
        // The tag does not depend on the request's own tag.
        prop_assert_eq!(encode(&expected).tag, encoded.tag);
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn responses_round_trip(response in any_response()) {
        let bytes = write_response(response.clone()).encode_to_vec();
        let read = read_response(pb::RunFunctionResponse::decode(bytes.as_slice()).unwrap()).unwrap();
        prop_assert_eq!(read, response);
    }
}

#[test]
fn the_tag_is_crossplanes() {
    let composite = Resource::of(json!({"apiVersion": "example.org/v1", "kind": "Test"}));
    let observed = State { composite, ..State::default() };
    let mut request = RunRequest { observed: observed.into(), ..RunRequest::default() };
    let expected = "60e065117e1992fb17c3c5ef2a50de370eeec23fbd380836d31ad388bbe4e082";
    assert_eq!(encode(&request).tag, expected);
    request.meta = RequestMeta { tag: "another".to_owned(), capabilities: Capability::ALL.to_vec() };
    assert_eq!(encode(&request).tag, expected, "meta is not part of it");
    request.desired.resources.insert("a".to_owned(), Resource::default());
    assert_ne!(encode(&request).tag, expected);
    // SHA-256 of nothing.
    assert_eq!(
        encode(&RunRequest::default()).tag,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

#[test]
fn undefined_enum_numbers_read_as_unspecified() {
    let result = pb::Result { severity: 99, target: Some(99), ..pb::Result::default() };
    let condition = pb::Condition { status: 99, target: Some(-1), ..pb::Condition::default() };
    let resource = pb::Resource { ready: 99, ..pb::Resource::default() };
    let ttl = Some(prost_types::Duration { seconds: -5, nanos: 0 });
    let response = read_response(pb::RunFunctionResponse {
        meta: Some(pb::ResponseMeta { tag: String::new(), ttl }),
        desired: Some(pb::State { composite: Some(resource), ..pb::State::default() }),
        results: vec![result, pb::Result::default()],
        conditions: vec![condition, pb::Condition::default()],
        ..pb::RunFunctionResponse::default()
    })
    .unwrap();
    assert_eq!(response.meta.ttl, None);
    assert_eq!(response.results, [FunctionResult::default(), FunctionResult::default()]);
    assert_eq!(response.conditions, [FunctionCondition::default(), FunctionCondition::default()]);
    assert_eq!(response.desired.composite.ready, Ready::Unspecified);
}

#[test]
fn capabilities_have_crossplanes_order_and_numbers() {
    let meta = RequestMeta { tag: String::new(), capabilities: Capability::ALL.to_vec() };
    let request = RunRequest { meta, ..RunRequest::default() };
    let mut message = pb::RunFunctionRequest::decode(encode(&request).bytes).unwrap();
    let meta = message.meta.as_mut().unwrap();
    assert_eq!(meta.capabilities, [1, 2, 3, 4, 5]);
    meta.capabilities.push(99);
    assert_eq!(read_request(message).unwrap().meta.capabilities, Capability::ALL);
}

#[test]
fn inexact_numbers_are_reported_with_their_path() {
    let big = || Resource::of(json!({"spec": {"id": 9_007_199_254_740_993_u64}}));
    let mut request = RunRequest::default();
    request.desired.resources.insert("web".to_owned(), big());
    request.required_resources.insert("all".to_owned(), vec![big()]);
    request.input = Some(big().object);
    let expected = [
        "9007199254740993 at desired.resources[web].spec.id",
        "9007199254740993 at input.spec.id",
        "9007199254740993 at required_resources[all].spec.id",
    ];
    assert_eq!(inexact(&request), expected);
}

#[test]
fn v1beta1_differs_from_v1_only_in_its_package() {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/fn");
    let read = |version: &str| {
        let text = fs::read_to_string(proto.join(version).join("run_function.proto")).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("// Generated from "));
        lines.map(|line| line.replace("v1beta1", "v1") + "\n").collect::<String>()
    };
    assert_eq!(read("v1"), read("v1beta1"));
}

#[test]
fn debug_output_of_messages_shows_no_secrets() {
    let mut request = RunRequest::default();
    let secret: SecretData = [("password".to_owned(), b"hunter2".to_vec())].into_iter().collect();
    request.credentials.insert("db".to_owned(), secret.clone());
    request.desired.composite =
        Resource { connection_details: secret, ..Resource::of(json!({"stringData": "hunter2"})) };
    let shown = format!("{:?}", pb::RunFunctionRequest::decode(encode(&request).bytes).unwrap());
    assert!(
        shown.contains("password") && !shown.contains("hunter2") && !shown.contains("104, 117"),
        "{shown}"
    );
}
