//! What stands in a sandbox from the start: one Node and two StorageClasses.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::PostParams;
use kube::{Api, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::control_plane::state::Failure;

/// The name of the Node.
pub(super) const NODE: &str = "sandbox";
/// Who makes volumes; kwok's stages answer to it.
const PROVISIONER: &str = "sandbox.plimsoll.dev/volumes";

/// Creates the Node and the StorageClasses.
pub(super) async fn place(client: &Client) -> Result<(), Failure> {
    create::<Node>(client, node()).await?;
    create::<StorageClass>(client, storage_class("standard", "WaitForFirstConsumer", true)).await?;
    create::<StorageClass>(client, storage_class("immediate", "Immediate", false)).await
}

async fn create<K>(client: &Client, object: Value) -> Result<(), Failure>
where
    K: kube::Resource<Scope = k8s_openapi::ClusterResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Serialize,
{
    let object: K = serde_json::from_value(object).expect("the object is written in this file");
    let created = Api::<K>::all(client.clone()).create(&PostParams::default(), &object).await;
    created.map(drop).map_err(|error| Failure::caused(&format!("cannot create the {}", K::kind(&())), &error))
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
    fn kwok_makes_volumes_for_the_classes_there_are() {
        let stages = include_str!("../stages.yaml");
        assert!(stages.contains(&format!("== '{PROVISIONER}'")));
        assert!(stages.contains(&format!("provisioned-by: {PROVISIONER}\n")));
    }
}
