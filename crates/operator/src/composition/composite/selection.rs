//! Which Composition and revision an XR uses, selected from the catalogue without a request.

use composition::composite::Composite;
use composition::composition::Composition;
use composition::event::Event;
use composition::health::{ReconcileFailure, Stage};
use composition::object;
use composition::protocol::Object;
use composition::selection::{self, SelectionError};

use crate::composition::catalogue::Catalogue;
use crate::composition::kinds::Kind;
use crate::runtime::finalizer;

/// Crossplane's finalizer on XRs.
pub(super) const FINALIZER: &str = "composite.apiextensions.crossplane.io";

pub(in crate::composition) struct Selected {
    pub(in crate::composition) revision: Composition,
    /// The XR with all fields set that follow from the selection; `None` if it has them.
    pub(in crate::composition) configured: Option<Object>,
    pub(super) events: Vec<Event>,
}

/// Why nothing could be selected.
pub(in crate::composition) struct NotSelected {
    pub(in crate::composition) failure: ReconcileFailure,
    /// What is missing, if it is probably about to be created.
    pub(super) awaited: Option<Awaited>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::composition) enum Awaited {
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

pub(in crate::composition) fn select(
    xr: Composite<'_>,
    kind: &Kind,
    catalogue: &Catalogue,
) -> Result<Selected, NotSelected> {
    let definition = &kind.definition;
    let compositions = catalogue.compositions(&kind.composite);
    let selected = selection::composition(xr, definition, &compositions)
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
    let selector = selection::revision_selector(xr, definition).map(|(selector, event)| {
        events.push(event);
        selector
    });
    // The revision is selected by the selector that the XR is about to have.
    let selecting = selector.as_ref().map(|selector| with_selector(xr, selector));
    let configured_xr = selecting.as_ref().map_or(xr, |object| Composite::new(object, xr.layout));
    let revisions = catalogue.revisions(&selected.name);
    let revision = selection::revision(configured_xr, &composition.object, &revisions)
        .map_err(|error| NotSelected::new(Stage::FetchRevision, &error))?;
    selection::check_revision(xr, revision).map_err(|error| {
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
    let configured = selection::configure(xr, &selected.name, revision, selector);
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
    if finalizer::is_present(xr, FINALIZER) {
        return configured;
    }
    let mut held = configured.unwrap_or_else(|| xr.clone());
    finalizer::add(&mut held, FINALIZER);
    Some(held)
}
