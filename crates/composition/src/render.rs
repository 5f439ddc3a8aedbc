//! Composing without a cluster: what stands in for the API server when an XR is rendered from files.

use serde_json::{Value, json};

use crate::composite::{Composite, Layout};
use crate::composition::Composition;
use crate::definition::Definition;
use crate::naming::rendered_uid;
use crate::object::{self, ObjectRef, TypeRef};
use crate::run::Object;
use crate::{revision, selection};

/// An XR ready for a pass, and the revision it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsal {
    /// The XR, as it would be in a cluster by then.
    pub xr: Object,
    /// Where it keeps the engine's fields.
    pub layout: Layout,
    /// The revision, made from the Composition.
    pub revision: Composition,
}

/// Why the files do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RehearsalError {
    /// The XRD defines another kind.
    #[error(
        "CompositeResourceDefinition {definition:?} (composite Group={} Kind={}) does not match the input XR's \
         Group={} Kind={}", defines.group(), defines.kind, xr.group(), xr.kind
    )]
    OtherKind {
        /// The XRD's name.
        definition: String,
        /// What it defines.
        defines: TypeRef,
        /// What the XR is.
        xr: TypeRef,
    },
    /// An observed resource is another's.
    #[error("observed resource {0} has a controller ref but is not controlled by the XR")]
    NotControlled(
        /// Its name.
        String,
    ),
    /// An observed resource is where a namespaced XR composes nothing.
    #[error("observed resource {0} is not in the same namespace as the XR")]
    OtherNamespace(
        /// Its name.
        String,
    ),
}

/// Prepares `xr` for a pass with `composition`, given the resources that are there already. Everything that does not fit is
/// returned together.
///
/// Without an XRD the XR is taken for a modern one.
pub fn prepare(
    xr: &Object,
    definition: Option<&Definition>,
    composition: &Composition,
    observed: &[Object],
) -> Result<Rehearsal, Vec<RehearsalError>> {
    let kind = TypeRef::of(xr);
    let layout = match definition {
        None => Layout::Modern,
        Some(definition) if definition.defines(&kind) => definition.scope.layout(),
        Some(definition) => {
            return Err(vec![RehearsalError::OtherKind {
                definition: object::name(&definition.object).unwrap_or_default().to_owned(),
                defines: definition.composite_type(),
                xr: kind,
            }]);
        }
    };
    let mut xr = xr.clone();
    if object::uid(&xr).is_none() {
        let (namespace, name) =
            (object::namespace(&xr).unwrap_or_default(), object::name(&xr).unwrap_or_default());
        let uid = rendered_uid(&kind, namespace, name);
        object::set_metadata(&mut xr, "uid", Some(&uid));
    }
    check_observed(&xr, observed)?;
    if !observed.is_empty() {
        let refs: Value = observed.iter().map(|object| reference(object, &xr)).collect();
        object::nested_mut(&mut xr, layout.path()).insert("resourceRefs".to_owned(), refs);
    }
    let revision = revision::rehearsed(composition);
    let name = object::name(&composition.object).unwrap_or_default();
    let configured = selection::configure(Composite::new(&xr, layout), name, &revision, None);
    Ok(Rehearsal { xr: configured.unwrap_or(xr), layout, revision })
}

fn check_observed(xr: &Object, observed: &[Object]) -> Result<(), Vec<RehearsalError>> {
    let mut errors = Vec::new();
    for resource in observed {
        let name = || object::name(resource).unwrap_or_default().to_owned();
        if object::controller(resource)
            .is_some_and(|controller| Some(controller.uid.as_str()) != object::uid(xr))
        {
            errors.push(RehearsalError::NotControlled(name()));
        }
        if object::namespace(xr).is_some() && object::namespace(resource) != object::namespace(xr) {
            errors.push(RehearsalError::OtherNamespace(name()));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn reference(resource: &Object, xr: &Object) -> Value {
    let ObjectRef { kind, namespace, name } = ObjectRef::of(resource);
    let mut reference = json!({"apiVersion": kind.api_version, "kind": kind.kind, "name": name});
    if let (None, Some(namespace)) = (object::namespace(xr), namespace) {
        reference["namespace"] = namespace.into();
    }
    reference
}

#[cfg(test)]
mod tests;
