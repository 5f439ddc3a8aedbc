//! `moved` blocks from other providers' resources: their state becomes ours, and the next apply takes over their
//! fields.

mod typed;

use diag::Diagnostic;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use ownership::FieldManager;
use serde_json::{Map, Value as Json};
use tfplugin::private::Private;
use tfplugin::provider::{MoveRequest, MoveResponse};
use tfplugin::value::Object;

use super::{annotations, attributes};
use crate::body::Body;
use crate::private::{BODY_MISSING, IMPORTED, Keys as _, MOVED_FROM};
use crate::{codes, identity};

/// The field manager of typed resources of hashicorp/kubernetes, and of kubectl_manifest without server-side apply
/// except for kubectl's own applies: it comes from the user agent of both providers.
const HASHICORP: &str = "HashiCorp";

/// Takes over the state of another resource; `None` if its type is unknown.
pub(super) fn take_over(request: &MoveRequest) -> Option<MoveResponse> {
    let json: Json = serde_json::from_slice(request.source_state.json()).unwrap_or_default();
    let provider = request.source_provider.rsplit('/').next().unwrap_or_default();
    let moved = match (provider, request.source_type.as_str()) {
        ("kubernetes", "kubernetes_manifest") => from_manifest(&json),
        ("kubectl", "kubectl_manifest") => from_kubectl(&json),
        ("kubernetes", name) => from_typed(&json, typed::kind_of(name)?),
        _ => return None,
    };
    Some(match moved {
        Some(object) => object.response(),
        None => MoveResponse { diagnostics: unreadable(request).into(), ..MoveResponse::default() },
    })
}

/// An object in another provider's state.
struct MovedObject {
    target: ObjectRef,
    yaml: String,
    /// Whether the state lacks the whole body, so that it has to be read from the cluster.
    body_missing: bool,
    managers: Vec<FieldManager>,
}

impl MovedObject {
    fn response(self) -> MoveResponse {
        let state = Object::new()
            .with("id", annotations::new_id())
            .with("yaml_body", self.yaml)
            .with("object_ref", attributes::object_ref(&self.target));
        let mut private = Private::default();
        private.set_flag(IMPORTED, true);
        private.set_flag(BODY_MISSING, self.body_missing);
        private.set(MOVED_FROM, &self.managers);
        let identity = Some(identity::of(&self.target));
        MoveResponse { state: Some(state), private, identity, ..MoveResponse::default() }
    }
}

/// `kubernetes_manifest` stores the configuration in `manifest`, a dynamic value: `{"type": …, "value": …}`.
fn from_manifest(state: &Json) -> Option<MovedObject> {
    let value = state.pointer("/manifest/value").or_else(|| state.get("manifest"))?;
    let name = state.pointer("/field_manager/0/name").and_then(Json::as_str).filter(|name| !name.is_empty());
    let yaml = manifest::to_yaml(&without_nulls(value)?);
    let target = target_of(&Body::parse(&yaml).ok()?, None);
    Some(MovedObject {
        target,
        yaml,
        body_missing: false,
        managers: vec![FieldManager::new(name.unwrap_or("Terraform"))],
    })
}

/// `kubectl_manifest` stores the YAML itself.
fn from_kubectl(state: &Json) -> Option<MovedObject> {
    let text = |name: &str| state[name].as_str().filter(|text| !text.is_empty());
    let yaml = text("yaml_body")?.to_owned();
    let body = Body::parse(&yaml).ok()?;
    let target = target_of(&body, text("override_namespace").or_else(|| text("namespace")));
    let managers = match text("field_manager") {
        Some(own) => vec![own],
        None => vec!["kubectl", "kubectl-client-side-apply", HASHICORP],
    };
    let managers = managers.into_iter().map(FieldManager::new).collect();
    Some(MovedObject { target, yaml, body_missing: false, managers })
}

/// Typed resources have an id of `namespace/name`; their attributes are not the fields of the object.
fn from_typed(state: &Json, gvk: GroupVersionKind) -> Option<MovedObject> {
    let id = state["id"].as_str().filter(|id| !id.is_empty())?;
    let (namespace, name) =
        id.split_once('/').map_or((None, id), |(namespace, name)| (Some(namespace), name));
    let target = ObjectRef::new(gvk, namespace.and_then(Namespace::new), name);
    let mut metadata = Map::from_iter([("name".to_owned(), name.into())]);
    if let Some(namespace) = namespace {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    let yaml = manifest::to_yaml(&serde_json::json!({
        "apiVersion": target.api_version().to_string(), "kind": target.kind(), "metadata": metadata,
    }));
    Some(MovedObject { target, yaml, body_missing: true, managers: vec![FieldManager::new(HASHICORP)] })
}

/// The object, as far as its scope is known without a cluster; the first apply determines it.
fn target_of(body: &Body, namespace: Option<&str>) -> ObjectRef {
    let mut target = body.presumed_target();
    if target.namespace.is_some() {
        target.namespace = namespace.and_then(Namespace::new).or(target.namespace);
    }
    target
}

/// Terraform's objects have all attributes of their type; those not configured are null.
fn without_nulls(value: &Json) -> Option<Json> {
    match value {
        Json::Null => None,
        Json::Object(fields) => {
            let kept = fields.iter().filter_map(|(name, value)| Some((name.clone(), without_nulls(value)?)));
            Some(Json::Object(kept.collect()))
        }
        Json::Array(items) => Some(Json::Array(items.iter().filter_map(without_nulls).collect())),
        scalar => Some(scalar.clone()),
    }
}

fn unreadable(request: &MoveRequest) -> Diagnostic {
    Diagnostic::error(codes::MOVE_UNREADABLE, "Unable to Move Resource State")
        .detail(format!(
            "The state of {} from {} does not identify an object.",
            request.source_type, request.source_provider
        ))
        .hint("Use an import block for the new resource and a removed block for the old one.")
}

#[cfg(test)]
mod tests;
