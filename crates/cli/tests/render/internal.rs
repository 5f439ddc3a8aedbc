//! A `RenderRequest` in, a `RenderResponse` out: the protocol between Crossplane's command line and an engine.

use std::io::Write as _;
use std::process::{Command, Stdio};

use functions::{RunRequest, response};
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};

use crate::fixture::{Fixture, config_map};

/// The response of `plimsoll internal render` to one request, as protobuf's JSON.
struct Answer {
    exit: i32,
    response: Option<Value>,
    stderr: String,
}

impl Answer {
    fn to(request: &Value) -> Self {
        let message = pool().get_message_by_name("crossplane.render.v1alpha1.RenderRequest").unwrap();
        Self::to_bytes(&DynamicMessage::deserialize(message, request).unwrap().encode_to_vec())
    }

    fn to_bytes(request: &[u8]) -> Self {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["internal", "render", "--timeout", "20s"])
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("plimsoll starts");
        engine.stdin.take().unwrap().write_all(request).unwrap();
        let output = engine.wait_with_output().unwrap();
        let message = pool().get_message_by_name("crossplane.render.v1alpha1.RenderResponse").unwrap();
        let response = (!output.stdout.is_empty()).then(|| {
            let read = DynamicMessage::decode(message, output.stdout.as_slice()).unwrap();
            serde_json::to_value(read).unwrap()
        });
        let stderr = String::from_utf8(output.stderr).unwrap();
        Self { exit: output.status.code().unwrap(), response, stderr }
    }

    /// The composite's output from a response with exit status 0.
    fn output(&self) -> &Value {
        assert_eq!(self.exit, 0, "{}", self.stderr);
        &self.response.as_ref().unwrap()["composite"]
    }
}

/// The protocol, read from its file by another implementation than the engine's.
fn pool() -> DescriptorPool {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto");
    DescriptorPool::from_file_descriptor_set(
        protox::compile(["render/v1alpha1/render.proto"], [root]).unwrap(),
    )
    .unwrap()
}

fn xr() -> Value {
    json!({"apiVersion": "example.org/v1", "kind": "XApp", "metadata": {"name": "shop"}, "spec": {"size": 3}})
}

fn composition(steps: &[Value]) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "app"},
        "spec": {
            "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "XApp"},
            "mode": "Pipeline", "pipeline": steps,
        },
    })
}

fn step(name: &str) -> Value {
    json!({"step": name, "functionRef": {"name": "main"}})
}

/// An XRD of version v1, which is a legacy one by default.
fn definition(scope: Option<&str>) -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xapps.example.org"},
        "spec": {
            "group": "example.org", "names": {"kind": "XApp", "plural": "xapps"},
            "versions": [{
                "name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                }}},
            }],
        },
    });
    if let Some(scope) = scope {
        definition["spec"]["scope"] = scope.into();
    }
    definition
}

fn conditions(output: &Value) -> Vec<String> {
    let all = output["compositeResource"]["status"]["conditions"].as_array().unwrap();
    let shown =
        |one: &Value| format!("{}={}", one["type"].as_str().unwrap(), one["status"].as_str().unwrap());
    all.iter().map(shown).collect()
}

#[test]
fn an_xr_is_rendered_with_events_and_names() {
    let fixture = Fixture::new();
    let functions = json!([{"name": "main", "address": fixture.endpoint(config_map)}]);
    let answer = Answer::to(&json!({"composite": {
        "compositeResource": xr(), "composition": composition(&[step("run-main")]), "functions": functions,
    }}));
    let output = answer.output();
    assert_eq!(
        conditions(output),
        ["Responsive=True", "MapReady=True", "Synced=True", "Ready=False", "Healthy=True"]
    );
    let refs = &output["compositeResource"]["spec"]["crossplane"]["resourceRefs"];
    assert_eq!(*refs, json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "shop-9c1a21435007"}]));
    assert_eq!(output["composedResources"][0]["data"], json!({"size": "3"}));
    assert_eq!(output["composedResources"][0]["metadata"]["name"], "shop-9c1a21435007");
    let event = json!({"type": "Normal", "reason": "Composed", "message": "Pipeline step \"run-main\": composed a map"});
    assert!(output["events"].as_array().unwrap().contains(&event), "{}", output["events"]);
    assert_eq!(output.get("requiredResources"), None);
}

#[test]
fn an_empty_pipeline_is_ready_and_the_definition_places_the_references() {
    let observed = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "old", "annotations": {"crossplane.io/composition-resource-name": "old"},
            // The uid that an XR of this kind and name is rendered with.
            "ownerReferences": [{
                "apiVersion": "example.org/v1", "kind": "XApp", "name": "shop", "controller": true,
                "uid": "1b0dc85e-913f-5925-9e76-a269606f5ce6",
            }],
        },
    });
    let check = |definition: Option<Value>, engine_fields: &str| {
        let mut input = json!({
            "compositeResource": xr(), "composition": composition(&[]), "observedResources": [{}, observed],
        });
        if let Some(definition) = definition {
            input["compositeResourceDefinition"] = definition;
        }
        let answer = Answer::to(&json!({"composite": input}));
        let output = answer.output();
        let expected = ["Responsive=True", "Synced=True", "Ready=True", "Healthy=True"];
        assert_eq!(conditions(output), expected, "{engine_fields}");
        let field = output["compositeResource"].pointer(engine_fields);
        assert_eq!(field, Some(&json!({"resourceRefs": []})), "{engine_fields}");
        assert_eq!(output["deletedResources"][0]["metadata"]["name"], "old", "{engine_fields}");
    };
    check(None, "/spec/crossplane");
    check(Some(definition(None)), "/spec");
    check(Some(definition(Some("LegacyCluster"))), "/spec");
    check(Some(definition(Some("Cluster"))), "/spec/crossplane");
}

/// Requires a ClusterRole, and stops once it has been looked for.
async fn fetch(request: RunRequest) -> Result<functions::RunResponse, functions::FunctionError> {
    let mut answer = response::to(&request);
    let role = composition::protocol::ResourceSelector {
        api_version: "rbac.authorization.k8s.io/v1".to_owned(),
        kind: "ClusterRole".to_owned(),
        matching: composition::protocol::Match::Name("some-cluster-role".to_owned()),
        namespace: None,
    };
    answer.requirements.resources.insert("namedClusterRole".to_owned(), role);
    if request.required_resources.contains_key("namedClusterRole") {
        response::fatal(&mut answer, "there is no such role");
    }
    Ok(answer)
}

#[test]
fn a_fatal_result_has_its_own_exit_status_and_lists_the_requirements() {
    let fixture = Fixture::new();
    let answer = Answer::to(&json!({"composite": {
        "compositeResource": xr(), "composition": composition(&[step("fetch-extras")]),
        "functions": [{"name": "main", "address": fixture.endpoint(fetch)}],
    }}));
    assert_eq!(answer.exit, 3, "{}", answer.stderr);
    let output = &answer.response.as_ref().unwrap()["composite"];
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "matchName": "some-cluster-role",
    });
    assert_eq!(output["requiredResources"], json!([role]));
    assert!(conditions(output).contains(&"Synced=False".to_owned()), "{output}");
    assert!(
        answer.stderr.contains("fetch-extras") && answer.stderr.contains("there is no such role"),
        "{}",
        answer.stderr
    );
}

#[test]
fn an_invalid_request_gets_an_error_and_no_response() {
    let check = |request: Answer, expected: &str| {
        assert_eq!((request.exit, &request.response), (1, &None), "{expected}: {}", request.stderr);
        assert!(request.stderr.contains(expected), "{expected}: {}", request.stderr);
    };
    let whole = |change: &dyn Fn(&mut Value)| {
        let mut request =
            json!({"composite": {"compositeResource": xr(), "composition": composition(&[step("run")])}});
        change(&mut request);
        Answer::to(&request)
    };
    check(Answer::to_bytes(b"apiVersion: v1"), "it is not a RenderRequest");
    check(Answer::to_bytes(b""), "it has no input");
    check(Answer::to(&json!({"cronOperation": ""})), "a CronOperation");
    check(whole(&|all| all["composite"]["compositeResource"] = json!({})), "no apiVersion and kind");
    check(
        whole(&|all| drop(all["composite"].as_object_mut().unwrap().remove("composition"))),
        "it has no composition",
    );
    check(
        whole(&|all| all["composite"]["compositeResourceDefinition"] = json!({"kind": "Odd"})),
        "CompositeResourceDefinition",
    );
    check(whole(&|_| ()), "is not among the functions");
    check(
        whole(&|all| all["composite"]["functions"] = json!([{"name": "main", "address": "127.0.0.1:1"}])),
        "run",
    );
}
