//! A platform for a test: an XRD in a group of its own, a Composition, and a function in this process.

use composition::protocol::{Ready, Resource, RunRequest, RunResponse};
use functions::Function;
use serde_json::{Value, json};

use crate::fixture::{Served, apply, composition, function, get, group, legacy_xrd, session, until, world};

/// What a test offers to its claims.
pub(crate) struct Platform {
    pub(crate) group: String,
    pub(crate) function: String,
    _served: Served,
}

impl Platform {
    /// A platform with claims, whose one step is `run`.
    pub(crate) async fn new(test: &str, run: impl Function) -> Self {
        Self::with(test, run, legacy_xrd, &[]).await
    }

    /// A platform of which the XRD is what `xrd` makes for a group, and which runs `more` functions after its own.
    pub(crate) async fn with(
        test: &str,
        run: impl Function,
        xrd: impl Fn(&str) -> Value,
        more: &[&str],
    ) -> Self {
        let (session, group, served) = (session(), group(test), world().serve(run));
        let function_name = format!("function-{test}");
        apply(&session, &function(&function_name, &served.endpoint)).await;
        let steps: Vec<&str> = std::iter::once(function_name.as_str()).chain(more.iter().copied()).collect();
        apply(&session, &composition(&group, &group, &steps)).await;
        apply(&session, &xrd(&group)).await;
        Self { group, function: function_name, _served: served }
    }

    /// A claim with this spec.
    pub(crate) fn claim(&self, name: &str, mut spec: Value) -> Value {
        spec["compositionRef"] = json!({"name": self.group});
        self.object("App", name, Some("default"), &spec)
    }

    /// An object of this kind with this spec.
    pub(crate) fn object(&self, kind: &str, name: &str, namespace: Option<&str>, spec: &Value) -> Value {
        let mut object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    }

    /// The XR of a claim, once it has one and `is_so`.
    pub(crate) async fn xr(&self, claim: &Value, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let session = session();
        let bound = |claim: &Value| claim.pointer("/spec/resourceRef/name").is_some();
        let claim = until(&session, claim, "it is bound", bound).await;
        let name = claim["spec"]["resourceRef"]["name"].as_str().unwrap();
        until(&session, &self.object("XApp", name, None, &Value::Null), what, is_so).await
    }
}

/// What an XR is composed of, as far as it exists.
pub(crate) async fn children(xr: &Value) -> Vec<Value> {
    let refs = xr.pointer("/spec/resourceRefs").or_else(|| xr.pointer("/spec/crossplane/resourceRefs"));
    let mut children = Vec::new();
    for reference in refs.and_then(Value::as_array).cloned().unwrap_or_default() {
        let namespace = reference.get("namespace").or_else(|| xr.pointer("/metadata/namespace")).cloned();
        let object = json!({
            "apiVersion": reference["apiVersion"], "kind": reference["kind"],
            "metadata": {"name": reference["name"], "namespace": namespace.unwrap_or_default()},
        });
        children.extend(get(&session(), &object).await);
    }
    children
}

/// A ConfigMap to be composed, without a name.
pub(crate) fn map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}, "data": data})
}

/// Desires `object` under `key`, and says that it is ready.
pub(crate) fn desire(response: &mut RunResponse, key: &str, object: Value) {
    let resource = Resource { ready: Ready::True, ..Resource::of(object) };
    response.desired.resources.insert(key.to_owned(), resource);
}

/// What the XR's spec says at `key`.
pub(crate) fn asked(request: &RunRequest, key: &str) -> Value {
    request.observed.composite.object["spec"].get(key).cloned().unwrap_or_default()
}

/// What the XR's spec says at `key`, as text.
pub(crate) fn asked_text(request: &RunRequest, key: &str) -> String {
    asked(request, key).as_str().unwrap_or_default().to_owned()
}
