//! Rendering an XR from files: what an API server would have added before the first reconcile.

use manifest::{GroupVersionKind, IdentityError, KindError, ObjectRef};

use crate::composite::{Composite, Layout, refs_intent};
use crate::composition::Composition;
use crate::definition::Definition;
use crate::naming::{ANNOTATION_RESOURCE_NAME, LABEL_COMPOSITE, child_name, rendered_uid};
use crate::object;
use crate::protocol::Object;
use crate::{revision, selection};

/// An XR ready to be reconciled, and the revision it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderInput {
    /// The XR as it would be in a cluster.
    pub xr: Object,
    /// Where it keeps the engine's fields.
    pub layout: Layout,
    /// The revision, made from the Composition.
    pub revision: Composition,
    /// The composed resources that exist already.
    pub observed: Vec<(ObjectRef, Object)>,
}

/// Why the files do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderInputError {
    /// The XRD defines another kind.
    #[error(
        "CompositeResourceDefinition {definition:?} (composite Group={} Kind={}) does not match the input XR's \
         Group={} Kind={}", defines.group(), defines.kind(), xr.group(), xr.kind()
    )]
    OtherKind {
        /// The XRD's name.
        definition: String,
        /// What it defines.
        defines: GroupVersionKind,
        /// What the XR is.
        xr: GroupVersionKind,
    },
    /// The XR is of no kind.
    #[error("the XR's apiVersion and kind do not name a kind: {0}")]
    NoKind(KindError),
    /// The Composition is for another kind.
    #[error("composition's compositeTypeRef.{field} ({wanted}) does not match XR's {field} ({found})")]
    OtherType {
        /// `apiVersion` or `kind`.
        field: &'static str,
        /// What the Composition is for.
        wanted: String,
        /// What the XR is.
        found: String,
    },
    /// The XR selects Compositions by labels.
    #[error("composition {composition:?} does not have the label {label:?} that the XR selects")]
    NotSelected {
        /// The Composition's name.
        composition: String,
        /// `key=value`
        label: String,
    },
    /// An observed resource has no kind.
    #[error("an observed resource cannot be referred to: {0}")]
    Unidentified(IdentityError),
    /// An observed resource has another controller.
    #[error("observed resource {0} has a controller ref but is not controlled by the XR")]
    NotControlled(
        /// Its name.
        String,
    ),
    /// A namespaced XR composes only in its own namespace.
    #[error("observed resource {0} is not in the same namespace as the XR")]
    OtherNamespace(
        /// Its name.
        String,
    ),
}

/// Prepares `xr` to be reconciled with `composition`, given the resources that exist already. All errors are returned
/// together.
///
/// Without an XRD the XR is taken for a modern one.
pub fn prepare(
    xr: &Object,
    definition: Option<&Definition>,
    composition: &Composition,
    observed: &[Object],
) -> Result<RenderInput, Vec<RenderInputError>> {
    let gvk = GroupVersionKind::of(xr).map_err(|error| vec![RenderInputError::NoKind(error)])?;
    let layout = match definition {
        None => Layout::Modern,
        Some(definition) if definition.composite.is_same_kind(&gvk) => definition.scope.layout(),
        Some(definition) => {
            return Err(vec![RenderInputError::OtherKind {
                definition: object::name(&definition.object).unwrap_or_default().to_owned(),
                defines: definition.composite.clone(),
                xr: gvk,
            }]);
        }
    };
    check_composition(xr, &gvk, layout, composition)?;
    let mut xr = xr.clone();
    if object::uid(&xr).is_none() {
        let (namespace, name) =
            (object::namespace(&xr).unwrap_or_default(), object::name(&xr).unwrap_or_default());
        let uid = rendered_uid(&gvk, namespace, name);
        object::set_metadata(&mut xr, "uid", Some(&uid));
    }
    let observed = check_observed(&xr, observed)?;
    if !observed.is_empty() {
        let references = observed.iter().map(|(reference, _)| reference);
        let intent = refs_intent(Composite::new(&xr, layout), references);
        let refs = Composite::new(&intent, layout).field("resourceRefs").cloned();
        object::nested_mut(&mut xr, layout.path()).extend(refs.map(|refs| ("resourceRefs".to_owned(), refs)));
    }
    let revision = revision::rendered(composition);
    let name = object::name(&composition.object).unwrap_or_default();
    let configured = selection::configure(Composite::new(&xr, layout), name, &revision, None);
    Ok(RenderInput { xr: configured.unwrap_or(xr), layout, revision, observed })
}

/// In a cluster, an XR would never use a Composition for another kind, or one that it does not select.
fn check_composition(
    xr: &Object,
    gvk: &GroupVersionKind,
    layout: Layout,
    composition: &Composition,
) -> Result<(), Vec<RenderInputError>> {
    let wanted = &composition.spec.composite_type_ref;
    let fields = [
        ("kind", wanted.kind().to_owned(), gvk.kind().to_owned()),
        ("apiVersion", wanted.api_version().to_string(), gvk.api_version().to_string()),
    ];
    if let Some((field, wanted, found)) = fields.into_iter().find(|(_, wanted, found)| wanted != found) {
        return Err(vec![RenderInputError::OtherType { field, wanted, found }]);
    }
    let labels = Composite::new(xr, layout).composition_selector().unwrap_or_default();
    let lacking = labels.iter().filter(|(key, value)| object::label(&composition.object, key) != Some(value));
    let errors: Vec<_> = lacking
        .map(|(key, value)| RenderInputError::NotSelected {
            composition: object::name(&composition.object).unwrap_or_default().to_owned(),
            label: format!("{key}={value}"),
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

type Referred = Vec<(ObjectRef, Object)>;

fn check_observed(xr: &Object, observed: &[Object]) -> Result<Referred, Vec<RenderInputError>> {
    let (mut references, mut errors) = (Vec::new(), Vec::new());
    for resource in observed.iter().map(|resource| named(xr, resource)) {
        let resource = &resource;
        let name = || object::name(resource).unwrap_or_default().to_owned();
        if object::controller(resource)
            .is_some_and(|controller| Some(controller.uid.as_str()) != object::uid(xr))
        {
            errors.push(RenderInputError::NotControlled(name()));
        }
        if object::namespace(xr).is_some() && object::namespace(resource) != object::namespace(xr) {
            errors.push(RenderInputError::OtherNamespace(name()));
        }
        match ObjectRef::of(resource) {
            Ok(reference) => references.push((reference, resource.clone())),
            Err(error) => errors.push(RenderInputError::Unidentified(error)),
        }
    }
    if errors.is_empty() { Ok(references) } else { Err(errors) }
}

/// The resource with the name that it would be created with, if it has none.
fn named(xr: &Object, resource: &Object) -> Object {
    let mut named = resource.clone();
    if object::name(resource).is_none()
        && let Some(key) = object::annotation(resource, ANNOTATION_RESOURCE_NAME)
    {
        let tree = object::label(xr, LABEL_COMPOSITE).or_else(|| object::name(xr)).unwrap_or_default();
        let prefix = object::text(resource, &["metadata", "generateName"]);
        let prefix = prefix.map_or_else(|| format!("{tree}-"), str::to_owned);
        let name = child_name(&prefix, object::uid(xr).unwrap_or_default(), key);
        object::set_metadata(&mut named, "name", Some(&name));
    }
    named
}

#[cfg(test)]
mod tests;
