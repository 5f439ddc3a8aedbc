//! A namespace per test, and what tests do in it: apply as another field manager, read, wait.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A namespace for one test. It is not deleted: it goes with the sandbox.
#[derive(Clone)]
pub struct Namespace {
    name: String,
    client: kube::Client,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
}

impl Namespace {
    pub(super) async fn create(
        client: kube::Client,
        kubeconfig: PathBuf,
        kubectl: PathBuf,
        test: &str,
    ) -> Self {
        let wanted = json!({ "metadata": { "generateName": format!("{}-", test.replace('_', "-")) } });
        let wanted: v1::Namespace = serde_json::from_value(wanted).expect("a valid namespace");
        let api = Api::<v1::Namespace>::all(client.clone());
        let created =
            api.create(&PostParams::default(), &wanted).await.expect("the sandbox creates namespaces");
        let name = created.metadata.name.expect("the API server generates a name");
        // Pods need the ServiceAccount, which the controller manager creates.
        let accounts = Api::<v1::ServiceAccount>::namespaced(client.clone(), &name);
        watch_until(&accounts, "default", "ServiceAccount default", |account| account.is_some()).await;
        Self { name, client, kubeconfig, kubectl }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// An administrator's client.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Runs kubectl in the namespace; returns its standard output, or its standard error if it failed.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let arguments: Vec<&str> = ["--namespace", &self.name].iter().chain(arguments).copied().collect();
        let output = super::kubectl(&self.kubectl, &self.kubeconfig, &arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Applies `object` by forced server-side apply as the field manager `manager`.
    pub async fn apply_as(&self, manager: &str, object: &Value) -> Value {
        let parameters = PatchParams::apply(manager).force();
        self.patch(object, &parameters, &Patch::Apply(object)).await
    }

    /// Changes the object by a merge patch as the field manager `manager`, as controllers and `kubectl edit` do.
    pub async fn merge_as(&self, manager: &str, object: &Value, change: &Value) -> Value {
        let parameters = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.patch(object, &parameters, &Patch::Merge(change)).await
    }

    async fn patch<P: serde::Serialize + std::fmt::Debug>(
        &self,
        object: &Value,
        parameters: &PatchParams,
        patch: &Patch<P>,
    ) -> Value {
        let (api, name) = self.api_of(object);
        let patched = api.patch(&name, parameters, patch).await;
        serde_json::to_value(patched.unwrap_or_else(|error| panic!("patching {name}: {error}")))
            .expect("an object")
    }

    /// The live object with the apiVersion, kind and name of `object`, if it exists.
    pub async fn get(&self, object: &Value) -> Option<Value> {
        let (api, name) = self.api_of(object);
        let found = api.get_opt(&name).await.unwrap_or_else(|error| panic!("reading {name}: {error}"));
        found.map(|object| serde_json::to_value(object).expect("an object"))
    }

    /// Waits until `is_true` of the live object, which is none while it does not exist; returns it.
    ///
    /// # Panics
    ///
    /// After a timeout, with `what` and the last state of the object.
    pub async fn until(
        &self,
        object: &Value,
        what: &str,
        is_true: impl Fn(Option<&Value>) -> bool,
    ) -> Option<Value> {
        let (api, name) = self.api_of(object);
        let as_value = |object: &DynamicObject| serde_json::to_value(object).expect("an object");
        let met = |object: Option<&DynamicObject>| is_true(object.map(as_value).as_ref());
        watch_until(&api, &name, what, met).await.as_ref().map(as_value)
    }

    fn api_of(&self, object: &Value) -> (Api<DynamicObject>, String) {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("/apiVersion").rsplit_once('/').unwrap_or(("", text("/apiVersion")));
        let kind = GroupVersionKind::gvk(group, version, text("/kind"));
        let api = Api::namespaced_with(self.client.clone(), &self.name, &ApiResource::from_gvk(&kind));
        (api, text("/metadata/name").to_owned())
    }
}

/// Watches one object until `is_met`; panics with the last state after a timeout.
async fn watch_until<K>(
    api: &Api<K>,
    name: &str,
    what: &str,
    is_met: impl Fn(Option<&K>) -> bool,
) -> Option<K>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + 'static,
{
    let mut last: Option<K> = None;
    let watched = tokio::time::timeout(TIMEOUT, async {
        loop {
            last = api.get_opt(name).await.unwrap_or_else(|error| panic!("reading {name}: {error}"));
            if is_met(last.as_ref()) {
                return;
            }
            let version = last.as_ref().and_then(|object| object.meta().resource_version.clone());
            let parameters = WatchParams::default().fields(&format!("metadata.name={name}"));
            let events = api.watch(&parameters, version.as_deref().unwrap_or("0")).await;
            let mut events = pin!(events.unwrap_or_else(|error| panic!("watching {name}: {error}")).fuse());
            // After a watch has ended, the next one starts with a fresh read.
            while let Ok(Some(event)) = events.try_next().await {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => last = Some(object),
                    WatchEvent::Deleted(_) => last = None,
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(_) => break,
                }
                if is_met(last.as_ref()) {
                    return;
                }
            }
        }
    })
    .await;
    assert!(watched.is_ok(), "{what}: not within {TIMEOUT:?}; last seen: {last:#?}");
    last
}
