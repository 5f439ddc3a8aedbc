//! Which fields of a Service the API server allocates: a new object gets other values, and a dry run only guesses them.

use fields::{FieldPath, PathElement};
use serde_json::Value;

/// In `spec`.
pub const SERVICE: [&str; 3] = ["clusterIP", "clusterIPs", "healthCheckNodePort"];

/// In each of its ports.
pub const SERVICE_PORT: &str = "nodePort";

/// Whether the API server chooses the value of a field that is not written.
pub fn is_allocated(object: &Value, path: &FieldPath) -> bool {
    let is_service = object["apiVersion"] == "v1" && object["kind"] == "Service";
    let names: Vec<&str> = path.elements().iter().filter_map(PathElement::as_field).collect();
    is_service
        && match names[..] {
            ["spec", name] => SERVICE.contains(&name),
            ["spec", "ports", name] => name == SERVICE_PORT,
            _ => false,
        }
}
