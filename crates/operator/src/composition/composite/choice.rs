//! Which Composition and revision an XR uses, chosen from what is known without asking anybody.

use composition::composite::Composite;
use composition::composition::Composition;
use composition::event::Event;
use composition::health::{PassFailure, Stage};
use composition::object;
use composition::run::Object;
use composition::selection::{self, SelectionError};

use crate::composition::catalogue::Catalogue;
use crate::composition::finalizer;
use crate::composition::kinds::Kind;

/// The finalizer on every XR, the reference's.
pub(super) const FINALIZER: &str = "composite.apiextensions.crossplane.io";

/// What an XR uses.
pub(super) struct Choice {
    /// The revision.
    pub(super) revision: Composition,
    /// The XR with everything set that follows from the choice; `None` if it is so already.
    pub(super) configured: Option<Object>,
    /// What to say about it.
    pub(super) events: Vec<Event>,
}

/// Why there is no choice.
pub(super) struct NoChoice {
    /// What to tell.
    pub(super) failure: PassFailure,
    /// Whether it may well be that what is missing is just being made.
    pub(super) may_come: bool,
}

impl NoChoice {
    fn new(stage: Stage, error: &SelectionError) -> Self {
        let (class, may_come) = match error {
            SelectionError::NoComposition => ("NoComposition", true),
            SelectionError::NoRevision => ("NoRevision", true),
            SelectionError::Incompatible => ("Incompatible", false),
            SelectionError::InvalidPipeline { .. } => ("InvalidPipeline", true),
        };
        Self { failure: PassFailure::engine(stage, class, error.to_string()), may_come }
    }
}

/// Chooses for `xr`.
pub(super) fn choose(xr: Composite<'_>, kind: &Kind, catalogue: &Catalogue) -> Result<Choice, NoChoice> {
    let definition = &kind.definition;
    let compositions = catalogue.compositions(&kind.composite);
    let selected = selection::composition(xr, definition, &compositions)
        .map_err(|error| NoChoice::new(Stage::SelectComposition, &error))?;
    let mut events = selected.events;
    let Some(composition) = catalogue.composition(&selected.name) else {
        let text = format!(
            "cannot get Composition: compositions.apiextensions.crossplane.io {:?} not found",
            selected.name
        );
        let failure = PassFailure::engine(Stage::FetchRevision, "CompositionNotFound", text);
        return Err(NoChoice { failure, may_come: true });
    };
    let selector = selection::revision_selector(xr, definition).map(|(selector, event)| {
        events.push(event);
        selector
    });
    // The revision is chosen by the selector the XR is about to have.
    let selecting = selector.as_ref().map(|selector| with_selector(xr, selector));
    let looked_at = selecting.as_ref().map_or(xr, |object| Composite::new(object, xr.layout));
    let revisions = catalogue.revisions(&selected.name);
    let revision = selection::revision(looked_at, &composition.object, &revisions)
        .map_err(|error| NoChoice::new(Stage::FetchRevision, &error))?;
    selection::check_revision(xr, revision).map_err(|error| {
        let stage = match error {
            SelectionError::Incompatible => Stage::Configure,
            _ => Stage::ValidatePipeline,
        };
        NoChoice::new(stage, &error)
    })?;
    let name = object::name(&revision.object).unwrap_or_default();
    if xr.revision_ref() != Some(name) {
        events.push(Event::normal("SelectComposition", format!("Selected composition revision: {name}")));
    }
    let configured = selection::configure(xr, &selected.name, revision, selector);
    let configured = with_finalizer(xr.object, configured);
    Ok(Choice { revision: revision.clone(), configured, events })
}

fn with_selector(xr: Composite<'_>, selector: &Object) -> Object {
    let mut object = xr.object.clone();
    object::nested_mut(&mut object, xr.layout.path())
        .insert("compositionRevisionSelector".to_owned(), selector.clone().into());
    object
}

/// The finalizer goes on in the same write, so that one is enough to begin.
fn with_finalizer(xr: &Object, configured: Option<Object>) -> Option<Object> {
    if finalizer::is_on(xr, FINALIZER) {
        return configured;
    }
    let mut held = configured.unwrap_or_else(|| xr.clone());
    finalizer::put_on(&mut held, FINALIZER);
    Some(held)
}
