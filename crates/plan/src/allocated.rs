//! Which fields of a Service the API server allocates: a new object gets other values, and a dry run only guesses them.

use serde_json::Value;

/// In `spec`.
pub const SERVICE: [&str; 3] = ["clusterIP", "clusterIPs", "healthCheckNodePort"];

/// In each of its ports.
pub const SERVICE_PORT: &str = "nodePort";

/// Whether the API server chooses the value of a field that is not written.
pub(crate) fn is_allocated(object: &Value, field: &str) -> bool {
    let is_service = object["apiVersion"] == "v1" && object["kind"] == "Service";
    let Some(in_spec) = field.strip_prefix("spec.").filter(|_| is_service) else { return false };
    let is_port = in_spec.starts_with("ports[") && in_spec.ends_with(&format!(".{SERVICE_PORT}"));
    is_port || SERVICE.contains(&in_spec)
}
