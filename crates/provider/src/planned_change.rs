//! A change that Terraform plans or applies to a resource, other than its destruction.

use ownership::{Analysis, Fights};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::private::Private;
use tfplugin::provider::{ApplyResponse, Change, Identity, PlanRequest, PlanResponse};
use tfplugin::value::{Object, Value};

use crate::private::FIGHTS;

#[derive(Clone)]
pub(crate) struct PlannedChange {
    /// The prior state; `None` when creating.
    pub(crate) prior: Option<Object>,
    /// In a plan, what the schema alone gives: the configuration, with unknowns wherever something may change.
    pub(crate) planned: Object,
    pub(crate) private: Private,
    /// The only place with write-only values.
    pub(crate) config: Object,
}

impl PlannedChange {
    /// `None` if the resource is to be destroyed.
    pub(crate) fn of(change: &Change, private: &Private, config: Option<&Object>) -> Option<Self> {
        let planned = change.planned()?.clone();
        let config = config.cloned().unwrap_or_default();
        Some(Self { prior: change.prior().cloned(), planned, private: private.clone(), config })
    }

    pub(crate) fn is_create(&self) -> bool {
        self.prior.is_none()
    }

    /// Whether `planned` is the prior state, so that Terraform applies nothing.
    pub(crate) fn is_prior(&self, planned: &Object) -> bool {
        self.prior.as_ref().is_some_and(|prior| planned.iter().all(|(name, value)| prior.get(name) == value))
    }

    /// The private state after an apply of what `analysis` is about.
    pub(crate) fn private_after(&self, analysis: &Analysis) -> Private {
        let fights = self.fights().after(analysis);
        let mut private = self.private.clone();
        private.set_optional(FIGHTS, (!fights.is_empty()).then_some(&fights));
        private
    }

    /// What the last applies took back.
    pub(crate) fn fights(&self) -> Fights {
        self.private.get_as(FIGHTS).unwrap_or_default()
    }

    /// The response if nothing was changed.
    pub(crate) fn failed(self, diagnostics: impl Into<Diagnostics>) -> ApplyResponse {
        let diagnostics = diagnostics.into();
        ApplyResponse { state: self.prior, private: self.private, identity: None, diagnostics }
    }
}

/// What a plan shows.
#[derive(Default)]
pub(crate) struct Decision {
    pub(crate) planned: Object,
    pub(crate) requires_replace: Vec<Path>,
    pub(crate) identity: Option<Identity>,
    /// What an apply of this plan stores; otherwise the prior private state.
    pub(crate) private: Option<Private>,
    pub(crate) diagnostics: Diagnostics,
}

impl Decision {
    pub(crate) fn new(planned: Object, diagnostics: impl Into<Diagnostics>) -> Self {
        Self { planned, diagnostics: diagnostics.into(), ..Self::default() }
    }

    pub(crate) fn respond(self, request: PlanRequest) -> PlanResponse {
        PlanResponse {
            planned: Some(self.planned),
            requires_replace: self.requires_replace,
            private: self.private.unwrap_or(request.private),
            identity: self.identity.or(request.identity),
            diagnostics: self.diagnostics,
            ..PlanResponse::default()
        }
    }
}

/// Fills in a value that was unknown in the plan.
pub(crate) fn set_unknown(state: &mut Object, name: &str, value: impl FnOnce() -> Value) {
    if !state.get(name).is_wholly_known() {
        state.set(name, value());
    }
}
