//! The objects of a new sandbox: one Node and two StorageClasses.

use http::Request;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde_json::{Value, json};

use crate::control_plane::state::Failure;

pub(super) const NODE: &str = "sandbox";
/// kwok's stages provision volumes under this name.
const PROVISIONER: &str = "sandbox.plimsoll.dev/volumes";

pub(super) async fn create(client: &Client) -> Result<(), Failure> {
    post(client, "/api/v1/nodes", &node()).await?;
    for class in [
        storage_class("standard", "WaitForFirstConsumer", true),
        storage_class("immediate", "Immediate", false),
    ] {
        post(client, "/apis/storage.k8s.io/v1/storageclasses", &class).await?;
    }
    Ok(())
}

async fn post(client: &Client, path: &str, object: &Value) -> Result<(), Failure> {
    let request = Request::post(path).header(CONTENT_TYPE, "application/json");
    let request = request.body(object.to_string().into_bytes()).expect("the path is a constant");
    let created = client.request::<Value>(request).await;
    let kind = object["kind"].as_str().unwrap_or_default();
    created.map(drop).map_err(Failure::of(&format!("cannot create the {kind}")))
}

fn node() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": NODE,
                "kubernetes.io/os": "linux",
                "node-role.kubernetes.io/worker": "",
            },
        },
    })
}

fn storage_class(name: &str, binding: &str, default: bool) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": name,
            "annotations": { "storageclass.kubernetes.io/is-default-class": default.to_string() },
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": binding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kwok_provisions_volumes_for_the_storage_classes() {
        let stages = include_str!("../stages.yaml");
        assert!(stages.contains(&format!("== '{PROVISIONER}'")));
        assert!(stages.contains(&format!("provisioned-by: {PROVISIONER}\n")));
    }
}
