//! A function written with the official Python SDK serves a claim over mutual TLS.

use std::path::Path;
use std::process::{Child, Command};

use serde_json::json;

use crate::fixture::{
    apply, composition, condition, condition_line, function, get, group, is_true, legacy_xrd, session, until,
    until_recorded, world,
};
use crate::platform::children;

/// Composes a ConfigMap, speaks to the claim, and returns numbers that no enum of the protocol has.
const FUNCTION: &str = r#"
import sys
from crossplane.function import resource, response, runtime
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Function(grpcv1.FunctionRunnerService):
    async def RunFunction(self, req, _):
        rsp = response.to(req)
        image = req.observed.composite.resource["spec"]["image"]
        if image == "missing":
            rsp.conditions.append(fnv1.Condition(
                type="ImageReady", status=fnv1.STATUS_CONDITION_FALSE, reason="NotFound",
                message="No such image.", target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
            ))
            rsp.results.append(fnv1.Result(
                severity=fnv1.SEVERITY_FATAL, message="registry.internal says 404", target=fnv1.TARGET_COMPOSITE,
            ))
            return rsp
        resource.update(rsp.desired.resources["app"], {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}, "data": {"image": image},
        })
        rsp.desired.resources["app"].ready = fnv1.READY_TRUE
        rsp.conditions.append(fnv1.Condition(
            type="ImageReady", status=fnv1.STATUS_CONDITION_TRUE, reason="Available",
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        ))
        rsp.conditions.append(fnv1.Condition(type="Odd", status=42, reason="WhoKnows", target=7))
        rsp.results.append(fnv1.Result(
            severity=fnv1.SEVERITY_NORMAL, reason="Deployed", message="Your app is out.",
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        ))
        rsp.results.append(fnv1.Result(severity=99, message="odd"))
        return rsp


runtime.serve(Function(), sys.argv[1], creds=runtime.load_credentials(sys.argv[2]), insecure=False)
"#;

/// The function as a program, ended with the test.
struct Program(Child);

impl Program {
    fn start(python: &Path, script: &Path, endpoint: &str, certificates: &Path) -> Self {
        Self(Command::new(python).arg(script).arg(endpoint).arg(certificates).spawn().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already if this fails.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_function_of_the_python_sdk_speaks_to_a_claim() {
    let Some(python) = tokio::task::spawn_blocking(testkit::python::with_function_sdk).await.unwrap() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("function.py");
    std::fs::write(&script, FUNCTION).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = format!("127.0.0.1:{port}");
    let _program = Program::start(&python, &script, &endpoint, world().server_certificates());
    let (session, group) = (session(), group("python"));
    let name = format!("function-{}", group.split('.').next().unwrap());
    apply(&session, &function(&name, &format!("dns:///localhost:{port}"))).await;
    apply(&session, &composition(&group, &group, &[&name])).await;
    apply(&session, &legacy_xrd(&group)).await;
    let claim = |image: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "App",
            "metadata": {"name": "shop", "namespace": "default"},
            "spec": {"compositionRef": {"name": group}, "image": image},
        })
    };
    apply(&session, &claim("missing")).await;
    let missing = until(&session, &claim(""), "it says what is missing", |claim| {
        condition(claim, "ImageReady").is_some()
    })
    .await;
    assert_eq!(condition_line(&missing, "ImageReady"), "ImageReady=False NotFound");
    let missing =
        until(&session, &claim(""), "it is not healthy", |claim| condition(claim, "Healthy").is_some()).await;
    assert_eq!(condition_line(&missing, "Healthy"), "Healthy=False ReportedByComposition");
    assert!(!missing.to_string().contains("registry.internal"), "the cause is not for the claim's user");

    apply(&session, &claim("shop:1")).await;
    let out = until(&session, &claim(""), "it is ready", |claim| is_true(claim, "Ready")).await;
    assert_eq!(condition_line(&out, "ImageReady"), "ImageReady=True Available");
    assert_eq!(condition_line(&out, "Healthy"), "Healthy=True Healthy");
    assert!(condition(&out, "Odd").is_none(), "an unknown target means the XR only");
    until_recorded(&session, &out, "Normal Deployed: Your app is out.").await;
    let xr = json!({
        "apiVersion": format!("{group}/v1"), "kind": "XApp",
        "metadata": {"name": out["spec"]["resourceRef"]["name"]},
    });
    let xr = get(&session, &xr).await.unwrap();
    assert_eq!(condition_line(&xr, "Odd"), "Odd=Unknown WhoKnows");
    assert_eq!(children(&xr).await[0]["data"]["image"], "shop:1");
}
