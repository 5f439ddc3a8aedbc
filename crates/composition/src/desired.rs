//! From what functions desire to what is applied: scope, metadata and names of composed resources.

use std::collections::BTreeMap;

use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::{Value, json};

use crate::event::Event;
use crate::naming::{
    ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE, child_name,
    is_valid_name,
};
use crate::object;
use crate::protocol::{Object, Ready, State};

/// A composed resource, ready to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// The whole apply: what the function wants and what the engine adds.
    pub intent: Object,
    /// Which object that is.
    pub reference: ObjectRef,
    /// Whether a function marked it ready.
    pub ready: bool,
}

/// Everything to be applied, by key, and what people should know about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The resources.
    pub resources: BTreeMap<String, Composed>,
    /// Warnings for the XR.
    pub events: Vec<Event>,
}

/// Why what a function desires cannot be applied. Nothing is applied then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Without a kind it could not be found again.
    #[error("cannot render composed resource {key:?}: it has no apiVersion or no kind")]
    NoKind {
        /// The resource's key.
        key: String,
    },
    /// The XR lacks the label all names derive from.
    #[error(
        "cannot render metadata for composed resource {key:?}: cannot find top-level composite resource name \
         label {LABEL_COMPOSITE:?} in composite resource metadata"
    )]
    NoCompositeLabel {
        /// The resource's key.
        key: String,
    },
    /// The function set another controller.
    #[error(
        "cannot render metadata for composed resource {key:?}: cannot set controller reference: \
         {name} is already controlled by {controller}"
    )]
    OtherController {
        /// The resource's key.
        key: String,
        /// The name it has.
        name: String,
        /// Who controls it, with uid.
        controller: String,
    },
    /// The name would be refused.
    #[error(
        "cannot apply composed resource {key:?} because it has an invalid name {name:?}. \
         Must be a valid RFC 1123 subdomain name."
    )]
    InvalidName {
        /// The resource's key.
        key: String,
        /// The name it has.
        name: String,
    },
    /// It is not known whether the kind has namespaces.
    #[error("cannot check if composed resource {key:?} is namespaced (a {kind} named {name})")]
    UnknownKind {
        /// The resource's key.
        key: String,
        /// Its kind.
        kind: String,
        /// The name it has.
        name: String,
    },
    /// A namespaced XR composes in its own namespace only.
    #[error(
        "cannot apply cluster scoped composed resource {key:?} (a {kind} named {name}) for a namespaced composite \
         resource."
    )]
    ClusterScoped {
        /// The resource's key.
        key: String,
        /// Its kind.
        kind: String,
        /// The name it has.
        name: String,
    },
}

/// Renders what the functions desire for `xr`, keeping the names of what is `observed`.
///
/// `is_namespaced` answers for a kind, or nothing if the kind is not known; it is asked only for a namespaced XR.
pub fn render(
    xr: &Object,
    observed: &BTreeMap<String, Object>,
    desired: &State,
    is_namespaced: impl Fn(&GroupVersionKind) -> Option<bool>,
) -> Result<Rendered, RenderError> {
    let mut rendered = Rendered::default();
    for (key, resource) in &desired.resources {
        let mut intent = resource.object.clone();
        let gvk = GroupVersionKind::of(&intent).map_err(|_| RenderError::NoKind { key: key.clone() })?;
        keep_identity(&mut intent, &gvk, observed.get(key));
        if let Some(own) = object::namespace(xr) {
            check_scope(key, &intent, &gvk, is_namespaced(&gvk))?;
            if let Some(other) = object::namespace(&intent).filter(|other| *other != own) {
                rendered.events.push(Event::warning(
                    "NamespaceOverridden",
                    format!(
                        "cannot create composed resource {key:?} in namespace {other:?}, \
                         using XR namespace {own:?} instead"
                    ),
                ));
            }
        }
        add_metadata(key, &mut intent, xr)?;
        let name = name(key, &mut intent, &gvk, xr)?;
        let namespace = object::namespace(&intent).and_then(Namespace::new);
        let reference = ObjectRef::new(gvk, namespace, name);
        let ready = resource.ready == Ready::True;
        rendered.resources.insert(key.clone(), Composed { intent, reference, ready });
    }
    Ok(rendered)
}

/// A resource that exists keeps its name. One of another kind is another object, and garbage.
fn keep_identity(intent: &mut Object, gvk: &GroupVersionKind, observed: Option<&Object>) {
    let Some(observed) = observed else { return };
    if !GroupVersionKind::of(observed).is_ok_and(|observed| observed.is_same_kind(gvk)) {
        return;
    }
    for key in ["namespace", "name", "generateName"] {
        object::set_metadata(intent, key, object::text(observed, &["metadata", key]));
    }
}

fn check_scope(
    key: &str,
    intent: &Object,
    gvk: &GroupVersionKind,
    namespaced: Option<bool>,
) -> Result<(), RenderError> {
    let (key, kind) = (key.to_owned(), gvk.kind().to_owned());
    let name = object::name(intent).unwrap_or_default().to_owned();
    match namespaced {
        Some(true) => Ok(()),
        Some(false) => Err(RenderError::ClusterScoped { key, kind, name }),
        None => Err(RenderError::UnknownKind { key, kind, name }),
    }
}

fn add_metadata(key: &str, intent: &mut Object, xr: &Object) -> Result<(), RenderError> {
    let Some(tree) = object::label(xr, LABEL_COMPOSITE) else {
        return Err(RenderError::NoCompositeLabel { key: key.to_owned() });
    };
    if object::name(intent).is_none() && object::text(intent, &["metadata", "generateName"]).is_none() {
        object::set_metadata(intent, "generateName", Some(&format!("{tree}-")));
    }
    if let Some(namespace) = object::namespace(xr) {
        object::set_metadata(intent, "namespace", Some(namespace));
    }
    let annotations = object::nested_mut(intent, &["metadata", "annotations"]);
    annotations.insert(ANNOTATION_RESOURCE_NAME.to_owned(), key.into());
    let labels = object::nested_mut(intent, &["metadata", "labels"]);
    labels.insert(LABEL_COMPOSITE.to_owned(), tree.into());
    let claim = (object::label(xr, LABEL_CLAIM_NAME), object::label(xr, LABEL_CLAIM_NAMESPACE));
    if let (Some(name), Some(namespace)) = claim {
        labels.insert(LABEL_CLAIM_NAME.to_owned(), name.into());
        labels.insert(LABEL_CLAIM_NAMESPACE.to_owned(), namespace.into());
    }
    add_controller(key, intent, xr)
}

fn add_controller(key: &str, intent: &mut Object, xr: &Object) -> Result<(), RenderError> {
    let uid = object::uid(xr).unwrap_or_default();
    if let Some(other) = object::controller(intent).filter(|controller| controller.uid != uid) {
        return Err(RenderError::OtherController {
            key: key.to_owned(),
            name: object::name(intent).unwrap_or_default().to_owned(),
            controller: format!("{} {} (UID {})", other.kind, other.name, other.uid),
        });
    }
    let reference = object::controller_reference(xr);
    let metadata = object::nested_mut(intent, &["metadata"]);
    let owners = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
    if !owners.is_array() {
        *owners = json!([]);
    }
    let owners = owners.as_array_mut().expect("it was made a list above");
    match owners.iter_mut().find(|owner| owner.get("uid").and_then(Value::as_str) == Some(uid)) {
        Some(owner) => *owner = reference,
        None => owners.push(reference),
    }
    Ok(())
}

/// Names are chosen before anything is created, so that a reference to the child can be stored first.
fn name(key: &str, intent: &mut Object, gvk: &GroupVersionKind, xr: &Object) -> Result<String, RenderError> {
    if object::name(intent).is_none() {
        let prefix = object::text(intent, &["metadata", "generateName"]);
        let name = child_name(prefix.unwrap_or_default(), object::uid(xr).unwrap_or_default(), key);
        object::set_metadata(intent, "name", Some(&name));
    }
    let name = object::name(intent).unwrap_or_default().to_owned();
    if is_valid_name(&name, gvk) {
        return Ok(name);
    }
    Err(RenderError::InvalidName { key: key.to_owned(), name })
}

#[cfg(test)]
mod tests;
