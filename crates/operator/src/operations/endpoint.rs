//! The Secret with a resource's endpoints: named like its object, and written only if it is ours.

use std::collections::BTreeMap;

use cluster::Propagation;
use k8s_openapi::ByteString;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use manifest::{Namespace, ObjectRef};
use oraclecloud::Kind;
use serde_json::{Map, Value, json};

use crate::api::VERSION;
use crate::runtime::client::{ApiError, MANAGER, Object, ObjectClient};

/// How often a conflict is retried before a later reconcile takes over.
const MAX_CONFLICTS: usize = 3;

/// The Secrets of one kind.
pub struct EndpointSecret {
    kind: Kind,
    /// The fields of the status with the endpoints, by the entries of the Secret.
    entries: &'static BTreeMap<String, String>,
    /// Marks our Secrets with the uid of their object; the name is OSOK's.
    label: String,
}

impl EndpointSecret {
    /// None for a kind without endpoints.
    pub fn of(kind: Kind) -> Option<Self> {
        let entries = &kind.description().endpoint;
        (!entries.is_empty()).then(|| Self {
            kind,
            entries,
            label: format!("{}/{}-uid", kind.group(), kind.name.to_lowercase()),
        })
    }

    /// Creates or updates the Secret of `object`; why not, if a user has to act. A Secret of another owner is left alone;
    /// one without an owner and with the same data is adopted.
    pub(super) async fn keep(
        &self,
        client: &ObjectClient,
        object: &DynamicObject,
    ) -> Result<Option<String>, ApiError> {
        let shown = |field: &String| object.data["status"][field].as_str();
        let entry = |(key, field): (&String, &String)| {
            Some((key.clone(), json!(ByteString(shown(field)?.as_bytes().to_vec()))))
        };
        let entries: Map<String, Value> = self.entries.iter().filter_map(entry).collect();
        if entries.is_empty() {
            return Ok(None);
        }
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let data = Value::Object(entries.clone());
        let target = target(object);
        let mut conflict = None;
        for _ in 0..MAX_CONFLICTS {
            let outcome = match client.read(&target).await? {
                None => client.create(&self.new_secret(object, &uid, &data), MANAGER).await,
                Some(mut secret) => {
                    let found = secret.get("data");
                    let is_same =
                        entries.iter().all(|(key, value)| found.is_some_and(|it| it[key] == *value));
                    match self.owner(&secret) {
                        Some(owner) if owner == uid && is_same => return Ok(None),
                        Some(owner) if owner == uid => {}
                        None if secret.get("data") == Some(&data) => {}
                        _ => return Ok(Some(taken(object, self.kind, &self.label))),
                    }
                    set(&mut secret, &["metadata", "labels"], &self.label, json!(uid));
                    for (key, value) in &entries {
                        set(&mut secret, &["data"], key, value.clone());
                    }
                    // Its version makes this a conflict if another writer was first.
                    client.replace(&secret, MANAGER).await
                }
            };
            match outcome {
                Err(error) if error.is_conflict() || error.is_already_exists() || error.is_not_found() => {
                    conflict = Some(error);
                }
                // A retry would not help: a right or a quota is missing, or the name is too long for a Secret.
                Err(error) if error.status().is_some_and(|status| matches!(status.code, 400 | 403 | 422)) => {
                    return Ok(Some(rejected(&target.name, &error.text())));
                }
                outcome => return outcome.map(|_| None),
            }
        }
        conflict.map_or(Ok(None), Err)
    }

    /// Deletes the Secret of `object` if it is ours.
    pub(super) async fn remove(&self, client: &ObjectClient, object: &DynamicObject) -> Result<(), ApiError> {
        let target = target(object);
        let Some(secret) = client.read(&target).await? else { return Ok(()) };
        if self.owner(&secret) != object.metadata.uid.as_deref() {
            return Ok(());
        }
        let metadata = |field: &str| secret.get("metadata")?.get(field)?.as_str();
        let (uid, version) = (metadata("uid"), metadata("resourceVersion"));
        client.delete(&target, uid, version, Propagation::Background).await.map(|_| ())
    }

    /// The uid of the object that the Secret belongs to.
    fn owner<'a>(&self, secret: &'a Object) -> Option<&'a str> {
        secret.get("metadata")?.get("labels")?.get(&self.label)?.as_str()
    }

    fn new_secret(&self, object: &DynamicObject, uid: &str, data: &Value) -> Object {
        let owner = json!({
            "apiVersion": format!("{}/{VERSION}", self.kind.group()), "kind": self.kind.name, "name": object.name_any(), "uid": uid,
        });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": object.name_any(),
                "namespace": object.metadata.namespace,
                "labels": {&self.label: uid},
                // Garbage collection deletes the Secret of an object that goes while no operator runs.
                "ownerReferences": [owner],
            },
            "data": data,
        });
        secret.as_object().cloned().unwrap_or_default()
    }
}

fn target(object: &DynamicObject) -> ObjectRef {
    let namespace = object.metadata.namespace.as_deref().and_then(Namespace::new);
    ObjectRef::new("v1/Secret".parse().expect("a valid kind"), namespace, object.name_any())
}

fn set(secret: &mut Object, path: &[&str], name: &str, value: Value) {
    let mut map = secret;
    for step in path {
        let below = map.entry(*step).or_insert_with(|| json!({}));
        let Some(object) = below.as_object_mut() else { return };
        map = object;
    }
    map.insert(name.to_owned(), value);
}

fn taken(object: &DynamicObject, kind: Kind, label: &str) -> String {
    let (name, kind) = (object.name_any(), &kind.name);
    format!(
        "Secret {name} belongs to another owner, so the endpoint cannot be stored in it: it has no label {label} with \
         the uid of this {kind}; rename one of the two, or delete the Secret"
    )
}

fn rejected(name: &str, why: &str) -> String {
    format!("the API server rejects the Secret {name} with the endpoint: {why}")
}
