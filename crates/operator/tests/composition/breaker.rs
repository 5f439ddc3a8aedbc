//! The circuit breaker of an XR whose composed resources change all the time.

use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{apply, condition_line, is_true, session};
use crate::platform::{Platform, children, desire, map};

async fn one(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    desire(&mut rsp, "one", map(&json!({"ours": "1"})));
    Ok(rsp)
}

/// Crossplane's TestCircuitBreaker.
#[tokio::test]
async fn too_many_changes_of_a_child_open_the_breaker() {
    let platform = Platform::new("breaker", one).await;
    let session = session();
    let claim = platform.claim("breaker", json!({}));
    apply(&session, &claim).await;
    let calm = |xr: &Value| {
        is_true(xr, "Ready") && condition_line(xr, "Responsive") == "Responsive=True WatchCircuitClosed"
    };
    let xr = platform.xr(&claim, "it is ready", calm).await;
    let child = children(&xr).await.remove(0);
    for round in 0..60 {
        let noise = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": child["metadata"]["name"], "namespace": "default"},
            "data": {"noise": round.to_string()},
        });
        apply(&session, &noise).await;
    }
    let open = |xr: &Value| condition_line(xr, "Responsive") == "Responsive=False WatchCircuitOpen";
    let xr = platform.xr(&claim, "it reports that the breaker is open", open).await;
    let condition = crate::fixture::condition(&xr, "Responsive").unwrap();
    let name = child["metadata"]["name"].as_str().unwrap();
    let expected =
        format!("Too many watch events from ConfigMap default/{name}. Allowing events periodically.");
    assert_eq!(condition["message"], json!(expected));
}
