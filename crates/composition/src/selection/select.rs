//! Selects the Composition and the revision of an XR from all there are, and says what the XR is to record of it.

use crate::catalogue::Catalogue;
use crate::composite::{Composite, FINALIZER};
use crate::composition::Composition;
use crate::definition::Definition;
use crate::event::Event;
use crate::health::{ReconcileFailure, Stage};
use crate::object;
use crate::protocol::Object;

use super::SelectionError;

/// The revision that an XR uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    pub revision: Composition,
    /// The XR with all fields set that follow from the selection; `None` if it has them.
    pub configured: Option<Object>,
    pub events: Vec<Event>,
}

/// Why nothing could be selected.
#[derive(Clone, Debug)]
pub struct NotSelected {
    pub failure: ReconcileFailure,
    /// The missing part, if it is probably about to be created.
    pub awaited: Option<Awaited>,
}

/// The parts that may be about to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    Composition,
    Revision,
    Validation,
}

impl NotSelected {
    fn new(stage: Stage, error: &SelectionError) -> Self {
        let (class, awaited) = match error {
            SelectionError::NoComposition => ("NoComposition", Some(Awaited::Composition)),
            SelectionError::NoRevision => ("NoRevision", Some(Awaited::Revision)),
            SelectionError::Incompatible => ("Incompatible", None),
            SelectionError::InvalidPipeline { .. } => ("InvalidPipeline", Some(Awaited::Validation)),
        };
        Self { failure: ReconcileFailure::engine(stage, class, error.to_string()), awaited }
    }
}

/// Selects what an XR of the kind that `definition` defines uses.
pub fn select(
    xr: Composite<'_>,
    definition: &Definition,
    catalogue: &Catalogue,
) -> Result<Selected, NotSelected> {
    let compositions = catalogue.compositions(&definition.composite);
    let selected = super::composition(xr, definition, compositions)
        .map_err(|error| NotSelected::new(Stage::SelectComposition, &error))?;
    let mut events = selected.events;
    let Some(composition) = catalogue.composition(&selected.name) else {
        let text = format!(
            "cannot get Composition: compositions.apiextensions.crossplane.io {:?} not found",
            selected.name
        );
        let failure = ReconcileFailure::engine(Stage::FetchRevision, "CompositionNotFound", text);
        return Err(NotSelected { failure, awaited: Some(Awaited::Composition) });
    };
    let selector = super::revision_selector(xr, definition).map(|(selector, event)| {
        events.push(event);
        selector
    });
    // The revision is selected by the selector that the XR is about to have.
    let selecting = selector.as_ref().map(|selector| with_selector(xr, selector));
    let configured_xr = selecting.as_ref().map_or(xr, |object| Composite::new(object, xr.layout));
    let revisions = catalogue.revisions(&selected.name);
    let revision = super::revision(configured_xr, &composition.object, revisions)
        .map_err(|error| NotSelected::new(Stage::FetchRevision, &error))?;
    super::check_revision(xr, revision).map_err(|error| {
        let stage = match error {
            SelectionError::Incompatible => Stage::Configure,
            _ => Stage::ValidatePipeline,
        };
        NotSelected::new(stage, &error)
    })?;
    let name = object::name(&revision.object).unwrap_or_default();
    if xr.revision_ref() != Some(name) {
        events.push(Event::normal("SelectComposition", format!("Selected composition revision: {name}")));
    }
    let configured = super::configure(xr, &selected.name, revision, selector);
    let configured = with_finalizer(xr.object, configured);
    Ok(Selected { revision: revision.clone(), configured, events })
}

fn with_selector(xr: Composite<'_>, selector: &Object) -> Object {
    let mut object = xr.object.clone();
    object::nested_mut(&mut object, xr.layout.path())
        .insert("compositionRevisionSelector".to_owned(), selector.clone().into());
    object
}

/// Adds the finalizer in the same write.
fn with_finalizer(xr: &Object, configured: Option<Object>) -> Option<Object> {
    let mut finalizers = object::texts(xr, &["metadata", "finalizers"]);
    if finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        return configured;
    }
    finalizers.push(FINALIZER.to_owned());
    let mut held = configured.unwrap_or_else(|| xr.clone());
    object::nested_mut(&mut held, &["metadata"]).insert("finalizers".to_owned(), finalizers.into());
    Some(held)
}
