//! The Secret that tells applications where a resource can be reached: named like its object, and only ever ours.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams, Preconditions};
use kube::{Resource, ResourceExt as _};

/// The entry of the Secret.
const KEY: &str = "endpoint";
/// How often others may come in between before a later pass takes over.
const MOST_CONFLICTS: usize = 3;

/// The Secrets of one kind.
pub struct EndpointSecret<O> {
    client: kube::Client,
    label: &'static str,
    of: fn(&O) -> Option<&str>,
}

impl<O: Resource<DynamicType = ()>> EndpointSecret<O> {
    /// Secrets with what `of` says of an object, once it says something. They carry `label` with the object's uid, by
    /// which they are known to be ours.
    pub const fn new(client: kube::Client, label: &'static str, of: fn(&O) -> Option<&str>) -> Self {
        Self { client, label, of }
    }

    /// Makes the Secret of `object` say what it should; what stands in the way of it, for people. A Secret of somebody
    /// else is left alone; one without an owner that says just the same becomes ours.
    pub async fn keep(&self, object: &O) -> kube::Result<Option<String>> {
        let Some(endpoint) = (self.of)(object) else { return Ok(None) };
        let uid = object.meta().uid.clone().unwrap_or_default();
        let data = BTreeMap::from([(KEY.to_owned(), ByteString(endpoint.as_bytes().to_vec()))]);
        let (api, name) = (self.api(object), object.name_any());
        let mut last = None;
        for _ in 0..MOST_CONFLICTS {
            let outcome = match api.get_opt(&name).await? {
                None => {
                    api.create(&PostParams::default(), &self.new_secret(object, &uid, data.clone())).await
                }
                Some(mut secret) => {
                    match secret.labels().get(self.label) {
                        Some(owner) if *owner == uid && says(&secret, endpoint) => return Ok(None),
                        Some(owner) if *owner == uid => {}
                        None if secret.data.as_ref() == Some(&data) => {}
                        _ => return Ok(Some(taken(object, self.label))),
                    }
                    secret.labels_mut().insert(self.label.to_owned(), uid.clone());
                    secret.data.get_or_insert_default().extend(data.clone());
                    // The version in it keeps this from overwriting what somebody else has just written.
                    api.replace(&name, &PostParams::default(), &secret).await
                }
            };
            match outcome {
                Err(kube::Error::Api(status)) if status.code == 409 || status.code == 404 => {
                    last = Some(kube::Error::Api(status));
                }
                // Asking again would not help: a right or a quota is missing, or the name is too long for a Secret.
                Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => {
                    return Ok(Some(refused(&name, &status.message)));
                }
                outcome => return outcome.map(|_| None),
            }
        }
        last.map_or(Ok(None), Err)
    }

    /// Removes the Secret of `object` if it is ours.
    pub async fn remove(&self, object: &O) -> kube::Result<()> {
        let (api, name) = (self.api(object), object.name_any());
        let Some(secret) = api.get_opt(&name).await? else { return Ok(()) };
        if secret.labels().get(self.label) != object.meta().uid.as_ref() {
            return Ok(());
        }
        let preconditions = Preconditions { uid: secret.uid(), resource_version: secret.resource_version() };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match api.delete(&name, &parameters).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    fn new_secret(&self, object: &O, uid: &str, data: BTreeMap<String, ByteString>) -> Secret {
        let owner = OwnerReference {
            api_version: O::api_version(&()).into_owned(),
            kind: O::kind(&()).into_owned(),
            name: object.name_any(),
            uid: uid.to_owned(),
            ..OwnerReference::default()
        };
        let metadata = ObjectMeta {
            name: Some(object.name_any()),
            labels: Some(BTreeMap::from([(self.label.to_owned(), uid.to_owned())])),
            // An object that goes without us takes its Secret along.
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        };
        Secret { metadata, data: Some(data), ..Secret::default() }
    }

    fn api(&self, object: &O) -> Api<Secret> {
        Api::namespaced(self.client.clone(), object.meta().namespace.as_deref().unwrap_or_default())
    }
}

fn says(secret: &Secret, endpoint: &str) -> bool {
    secret.data.as_ref().and_then(|data| data.get(KEY)).is_some_and(|value| value.0 == endpoint.as_bytes())
}

fn taken<O: Resource<DynamicType = ()>>(object: &O, label: &str) -> String {
    let (name, kind) = (object.name_any(), O::kind(&()));
    format!(
        "Secret {name} is somebody else's, so the endpoint cannot be kept in it: it has no label {label} with the uid \
         of this {kind}; rename one of the two, or delete the Secret"
    )
}

fn refused(name: &str, why: &str) -> String {
    format!("the API server does not accept the Secret {name} with the endpoint: {why}")
}
