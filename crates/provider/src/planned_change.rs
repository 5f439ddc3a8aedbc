//! A change that Terraform plans or applies to a resource, other than its destruction.

use diag::{Diagnostic, Severity};
use ownership::{Analysis, Fights};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::private::Private;
use tfplugin::provider::{ApplyResponse, Change, Identity, PlanRequest, PlanResponse};
use tfplugin::value::{Object, Value};

use crate::client_command::ClientCommand;
use crate::private::FIGHTS;
use crate::write_only::HiddenTexts;

#[derive(Clone, Default)]
pub(crate) struct PlannedChange {
    /// The prior state; `None` when creating.
    pub(crate) prior: Option<Object>,
    /// In a plan, what the schema alone gives: the configuration, with unknowns wherever something may change.
    pub(crate) planned: Object,
    pub(crate) private: Private,
    /// The only place with write-only values.
    pub(crate) config: Object,
    /// What the diagnostics about this change must not show.
    pub(crate) hidden: HiddenTexts,
}

impl PlannedChange {
    /// `None` if the resource is to be destroyed.
    pub(crate) fn of(change: &Change, private: &Private, config: Option<&Object>) -> Option<Self> {
        let planned = change.planned()?.clone();
        let config = config.cloned().unwrap_or_default();
        let (prior, private) = (change.prior().cloned(), private.clone());
        Some(Self { prior, planned, private, config, ..Self::default() })
    }

    pub(crate) fn is_create(&self) -> bool {
        self.prior.is_none()
    }

    /// Whether `planned` is the prior state, so that Terraform applies nothing.
    pub(crate) fn is_prior(&self, planned: &Object) -> bool {
        self.prior.as_ref().is_some_and(|prior| planned.iter().all(|(name, value)| prior.get(name) == value))
    }

    /// Whether one of the attributes is another one, or becomes known.
    pub(crate) fn changes<const COUNT: usize>(&self, attributes: [&str; COUNT]) -> bool {
        let Some(prior) = &self.prior else { return true };
        attributes.iter().any(|name| prior.get(name) != self.planned.get(name))
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

    /// The decision about a resource that this process has not read. An apply may have repeated the plan, now that all
    /// values are known, and Terraform has no words for a replacement that was not planned.
    pub(crate) fn of_unread(mut self, command: ClientCommand) -> Self {
        if self.requires_replace.is_empty() {
            return self;
        }
        let mut diagnostics = Diagnostics::new();
        for (path, mut diagnostic) in self.diagnostics {
            if command.repeats_unread() {
                diagnostic = unplanned_replacement(diagnostic);
            } else {
                diagnostic.detail.push_str(
                    "\n\nIf Terraform reports an inconsistent final plan: not all values were known when this was planned. \
                     Apply again to replace the resource.",
                );
            }
            match path {
                Some(path) => diagnostics.add_at(path, diagnostic),
                None => diagnostics.add(diagnostic),
            }
        }
        self.diagnostics = diagnostics;
        self
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

/// The error in place of the warning about a replacement.
fn unplanned_replacement(mut warning: Diagnostic) -> Diagnostic {
    warning.severity = Severity::Error;
    warning.detail.push_str(
        "\n\nNot all values were known when this was planned, so Terraform has planned an update, and an apply cannot make a \
         replacement of it. Nothing was changed.",
    );
    warning.hint("Apply again to replace the resource.")
}

/// Fills in a value that was unknown in the plan.
pub(crate) fn set_unknown(state: &mut Object, name: &str, value: impl FnOnce() -> Value) {
    if !state.get(name).is_wholly_known() {
        state.set(name, value());
    }
}
