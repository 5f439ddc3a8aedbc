//! A function written with the official Python SDK, over mutual TLS.

use std::collections::BTreeMap;
use std::path::Path;

use composition::FunctionRunner;
use composition::protocol::{
    ConditionStatus, Match, Ready, Resource, ResourceSelector, Schema, SchemaSelector, Severity, Target,
};
use functions::{ResolveFuture, Resolver};
use serde_json::json;

use crate::fixture::{Engine, certificates, patient, request};

/// Responds with a resource, conditions and results with targets, and a requirement.
const FUNCTION: &str = r#"
import sys
import grpc
from crossplane.function import resource, response, runtime
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Function(grpcv1.FunctionRunnerService):
    async def RunFunction(self, req, _):
        rsp = response.to(req)
        response.require_resources(rsp, "settings", "v1", "ConfigMap", match_name="settings", namespace="default")
        if "settings" not in req.required_resources:
            return rsp
        settings = req.required_resources["settings"].items[0].resource
        xr = req.observed.composite.resource
        resource.update(rsp.desired.resources["copy"], {
            "apiVersion": "v1", "kind": "ConfigMap",
            "data": {"color": settings["data"]["color"], "size": str(int(xr["spec"]["size"]))},
        })
        rsp.desired.resources["copy"].ready = fnv1.READY_TRUE
        rsp.conditions.append(fnv1.Condition(
            type="DatabaseReady", status=fnv1.STATUS_CONDITION_TRUE, reason="Available",
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        ))
        rsp.conditions.append(fnv1.Condition(
            type="ImageReady", status=fnv1.STATUS_CONDITION_FALSE, reason="NotFound", message="No such image.",
        ))
        rsp.results.append(fnv1.Result(
            severity=fnv1.SEVERITY_NORMAL, message="composed", reason="Composed", target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        ))
        response.warning(rsp, req.credentials["db"].credential_data.data["user"].decode())
        return rsp


runtime.serve(Function(), sys.argv[1], creds=runtime.load_credentials(sys.argv[2]), insecure=False)
"#;

struct Settings;

impl Resolver for Settings {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        assert_eq!(selector.matching, Match::Name("settings".to_owned()));
        assert_eq!(selector.namespace.as_deref(), Some("default"));
        let found = Resource::of(json!({"kind": selector.kind, "data": {"color": "blue"}}));
        Box::pin(async { Ok(vec![found]) })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        panic!("unexpected requirement {selector:?}")
    }
}

#[tokio::test]
async fn a_python_function_sets_conditions_and_results() {
    let Some(python) = testkit::python::with_function_sdk() else { return };
    let out = tempfile::tempdir().unwrap();
    let issued = certificates(out.path());
    let port = free_port();
    let script = out.path().join("function.py");
    std::fs::write(&script, FUNCTION).unwrap();
    let mut function = start(&python, &script, port, &issued.server);

    let engine = Engine::of(patient(Some(&issued.client)), &format!("dns:///localhost:{port}"));
    let mut request = request();
    let composite =
        Resource::of(json!({"apiVersion": "example.org/v1", "kind": "XApp", "spec": {"size": 3}}));
    request.observed =
        std::sync::Arc::new(composition::protocol::State { composite, resources: BTreeMap::new() });
    let secret = [("user".to_owned(), b"alice".to_vec())].into_iter().collect();
    request.credentials.insert("db".to_owned(), secret);
    let runner = engine.functions.runner(&Settings);
    let response = tokio::select! {
        response = runner.run("fn", &request) => response.unwrap(),
        ended = function.wait() => panic!("the function ended: {ended:?}"),
    };

    assert_eq!(response.meta.tag, "the caller's");
    assert_eq!(response.meta.ttl, Some(std::time::Duration::from_secs(60)));
    let copy = &response.desired.resources["copy"];
    assert_eq!(copy.object["data"], json!({"color": "blue", "size": "3"}));
    assert_eq!(copy.ready, Ready::True);
    let conditions: Vec<_> =
        response.conditions.iter().map(|one| (one.kind.as_str(), one.status, one.target)).collect();
    assert_eq!(
        conditions,
        [
            ("DatabaseReady", ConditionStatus::True, Target::CompositeAndClaim),
            ("ImageReady", ConditionStatus::False, Target::Composite)
        ]
    );
    let results: Vec<_> =
        response.results.iter().map(|one| (one.severity, one.message.as_str(), one.target)).collect();
    assert_eq!(
        results,
        [
            (Severity::Normal, "composed", Target::CompositeAndClaim),
            (Severity::Warning, "alice", Target::Composite)
        ]
    );
}

fn start(python: &Path, script: &Path, port: u16, certs: &Path) -> tokio::process::Child {
    let mut command = tokio::process::Command::new(python);
    command.arg(script).arg(format!("127.0.0.1:{port}")).arg(certs).kill_on_drop(true).spawn().unwrap()
}

/// A free port; the SDK does not report which one it got.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
