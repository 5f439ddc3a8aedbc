//! Which Composition and which revision of it an XR uses. Where Crossplane picks at random, the choice is stable per XR.

mod select;

use std::collections::BTreeMap;

use manifest::GroupVersionKind;
use serde_json::json;

use crate::composite::{Composite, Layout, UpdatePolicy};
use crate::composition::Composition;
use crate::definition::Definition;
use crate::event::Event;
use crate::naming::{LABEL_COMPOSITE, short_hash};
use crate::object;
use crate::protocol::Object;

pub use select::{Awaited, NotSelected, Selected, select};

/// Why an XR has no Composition or no revision of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// No Composition fits type and labels.
    #[error("no compatible Compositions found")]
    NoComposition,
    /// The Composition has no revision that fits the labels.
    #[error("no compatible CompositionRevisions found")]
    NoRevision,
    /// The Composition the XR names is for another type of XR.
    #[error("referenced composition is not compatible with this composite resource")]
    Incompatible,
    /// The revision's functions cannot run.
    #[error("selected CompositionRevision {revision} does not have a valid function pipeline: {why}")]
    InvalidPipeline {
        /// The revision's name.
        revision: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The Composition an XR is to use.
#[derive(Debug)]
struct Chosen {
    name: String,
    /// Empty when the XR uses it already.
    events: Vec<Event>,
}

/// Chooses a Composition: the one the XRD enforces, else the one the XR names, else the XRD's default if the XR does not
/// select by labels, else one of `compositions` that fits type and labels.
///
/// Of several that fit, the XR's uid picks one: XRs spread over them as in Crossplane, but each XR always gets the same
/// one.
fn composition<'a>(
    xr: Composite<'_>,
    definition: &Definition,
    compositions: impl IntoIterator<Item = &'a Composition>,
) -> Result<Chosen, SelectionError> {
    let current = xr.composition_ref();
    let chosen = |name: &str, why: Option<&str>| {
        let mut events = Vec::new();
        if current != Some(name) {
            events.extend(why.map(|why| Event::normal("CompositionSelection", why)));
            events.push(Event::normal(
                "SelectComposition",
                format!("Successfully selected composition: {name}"),
            ));
        }
        Ok(Chosen { name: name.to_owned(), events })
    };
    if let Some(enforced) = &definition.spec.enforced_composition_ref {
        return chosen(&enforced.name, Some("Enforced composition has been selected"));
    }
    if let Some(current) = current {
        return chosen(current, None);
    }
    let selector = xr.composition_selector();
    if let (None, Some(default)) = (&selector, &definition.spec.default_composition_ref) {
        return chosen(&default.name, Some("Default composition has been selected"));
    }
    let labels = selector.unwrap_or_default();
    let kind = GroupVersionKind::of(xr.object);
    let mut candidates: Vec<&str> = compositions
        .into_iter()
        .filter(|composition| {
            kind.as_ref() == Ok(&composition.spec.composite_type_ref)
                && has_labels(&composition.object, &labels)
        })
        .filter_map(|composition| object::name(&composition.object))
        .collect();
    candidates.sort_unstable();
    let uid = object::uid(xr.object).unwrap_or_default();
    // Rendezvous hashing: a Composition that comes or goes moves only the XRs that were or become its own.
    let best = candidates.into_iter().max_by_key(|candidate| short_hash(&[uid, candidate], 16));
    best.map_or(Err(SelectionError::NoComposition), |best| chosen(best, None))
}

/// The selector for revisions an XR is given by default, if it has neither selector nor revision.
fn revision_selector(xr: Composite<'_>, definition: &Definition) -> Option<(Object, Event)> {
    if xr.revision_selector().is_some() || xr.revision_ref().is_some() {
        return None;
    }
    let selector = definition.spec.default_composition_revision_selector.as_ref()?;
    let value = object::object(json!({"matchLabels": selector.match_labels}));
    Some((value, Event::normal("CompositionSelection", "Default revision selector has been selected")))
}

/// Chooses the revision: the one the XR names if its updates are manual, else the highest number among those that
/// `composition` controls and that carry the labels the XR selects revisions by.
fn revision<'a>(
    xr: Composite<'_>,
    composition: &Object,
    revisions: impl IntoIterator<Item = &'a Composition>,
) -> Result<&'a Composition, SelectionError> {
    let mut revisions = revisions.into_iter();
    if let (Some(UpdatePolicy::Manual), Some(current)) = (xr.update_policy(), xr.revision_ref()) {
        let named = revisions.find(|revision| object::name(&revision.object) == Some(current));
        return named.ok_or(SelectionError::NoRevision);
    }
    let labels = match xr.update_policy() {
        Some(UpdatePolicy::Automatic) => xr.revision_selector().unwrap_or_default(),
        _ => BTreeMap::new(),
    };
    let controlled = |revision: &&Composition| object::is_controlled_by(&revision.object, composition);
    let fitting = revisions.filter(controlled).filter(|revision| has_labels(&revision.object, &labels));
    fitting
        .filter(|revision| revision.spec.revision > 0)
        .max_by_key(|revision| revision.spec.revision)
        .ok_or(SelectionError::NoRevision)
}

/// Refuses a revision whose pipeline is not known to be valid, or, on legacy XRs, one for another type.
fn check_revision(xr: Composite<'_>, revision: &Composition) -> Result<(), SelectionError> {
    let conditions = crate::condition::Conditions::of(&revision.object);
    let valid = conditions.get(crate::function::VALID_PIPELINE);
    if !valid.is_some_and(crate::condition::Condition::is_true) {
        let why = valid.map(|condition| condition.message.as_str()).filter(|message| !message.is_empty());
        return Err(SelectionError::InvalidPipeline {
            revision: object::name(&revision.object).unwrap_or_default().to_owned(),
            why: why.unwrap_or("pipeline status unknown").to_owned(),
        });
    }
    if xr.layout == Layout::Legacy
        && GroupVersionKind::of(xr.object).as_ref() != Ok(&revision.spec.composite_type_ref)
    {
        return Err(SelectionError::Incompatible);
    }
    Ok(())
}

/// The XR with everything set that follows from the choice of a revision, or nothing if it is so already: references to
/// Composition and revision, the selector it is given by default, the label its children are named after, and on legacy
/// XRs the Secret for connection details. It is one write, before anything is composed.
pub(crate) fn configure(
    xr: Composite<'_>,
    composition: &str,
    revision: &Composition,
    selector: Option<Object>,
) -> Option<Object> {
    let mut configured = xr.object.clone();
    let engine = object::nested_mut(&mut configured, xr.layout.path());
    if xr.composition_ref() != Some(composition) {
        engine.insert("compositionRef".to_owned(), json!({"name": composition}));
    }
    let revision_name = object::name(&revision.object).unwrap_or_default();
    if xr.revision_ref() != Some(revision_name) {
        engine.insert("compositionRevisionRef".to_owned(), json!({"name": revision_name}));
    }
    if let Some(selector) = selector {
        engine.insert("compositionRevisionSelector".to_owned(), selector.into());
    }
    let namespace = revision.spec.write_connection_secrets_to_namespace.as_deref();
    if let (Layout::Legacy, None, Some(namespace)) =
        (xr.layout, xr.field("writeConnectionSecretToRef"), namespace)
    {
        let name = object::uid(xr.object).unwrap_or_default();
        engine.insert("writeConnectionSecretToRef".to_owned(), json!({"name": name, "namespace": namespace}));
    }
    if object::label(xr.object, LABEL_COMPOSITE).is_none() {
        let name = object::name(xr.object).unwrap_or_default();
        object::nested_mut(&mut configured, &["metadata", "labels"])
            .insert(LABEL_COMPOSITE.to_owned(), name.into());
    }
    (configured != *xr.object).then_some(configured)
}

fn has_labels(object: &Object, labels: &BTreeMap<String, String>) -> bool {
    labels.iter().all(|(key, value)| {
        object::nested(object, &["metadata", "labels", key]).and_then(serde_json::Value::as_str)
            == Some(value)
    })
}

#[cfg(test)]
mod tests;
