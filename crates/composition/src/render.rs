//! Rendering an XR from files: what an API server would have added before the first reconcile.

use manifest::{GroupVersionKind, IdentityError, KindError, ObjectRef};

use crate::composite::{Composite, Layout, refs_intent};
use crate::composition::Composition;
use crate::definition::Definition;
use crate::naming::rendered_uid;
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
    /// An observed resource has no kind or no name.
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
    let mut xr = xr.clone();
    if object::uid(&xr).is_none() {
        let (namespace, name) =
            (object::namespace(&xr).unwrap_or_default(), object::name(&xr).unwrap_or_default());
        let uid = rendered_uid(&gvk, namespace, name);
        object::set_metadata(&mut xr, "uid", Some(&uid));
    }
    let references = check_observed(&xr, observed)?;
    if !references.is_empty() {
        let intent = refs_intent(Composite::new(&xr, layout), &references);
        let refs = Composite::new(&intent, layout).field("resourceRefs").cloned();
        object::nested_mut(&mut xr, layout.path()).extend(refs.map(|refs| ("resourceRefs".to_owned(), refs)));
    }
    let revision = revision::rendered(composition);
    let name = object::name(&composition.object).unwrap_or_default();
    let configured = selection::configure(Composite::new(&xr, layout), name, &revision, None);
    Ok(RenderInput { xr: configured.unwrap_or(xr), layout, revision })
}

fn check_observed(xr: &Object, observed: &[Object]) -> Result<Vec<ObjectRef>, Vec<RenderInputError>> {
    let (mut references, mut errors) = (Vec::new(), Vec::new());
    for resource in observed {
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
            Ok(reference) => references.push(reference),
            Err(error) => errors.push(RenderInputError::Unidentified(error)),
        }
    }
    if errors.is_empty() { Ok(references) } else { Err(errors) }
}

#[cfg(test)]
mod tests;
