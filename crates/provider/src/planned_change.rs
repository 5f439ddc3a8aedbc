//! A change that Terraform plans or applies to a resource, other than its destruction.

use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::{ApplyResponse, Change};
use tfplugin::value::Object;

#[derive(Clone)]
pub(crate) struct PlannedChange {
    /// The prior state; `None` when creating.
    pub(crate) prior: Option<Object>,
    /// In a plan, what the schema alone gives: the configuration, with unknowns wherever something may change.
    pub(crate) planned: Object,
    pub(crate) private: Private,
}

impl PlannedChange {
    /// `None` if the resource is to be destroyed.
    pub(crate) fn of(change: &Change, private: &Private) -> Option<Self> {
        let planned = change.planned()?.clone();
        Some(Self { prior: change.prior().cloned(), planned, private: private.clone() })
    }

    pub(crate) fn is_create(&self) -> bool {
        self.prior.is_none()
    }

    /// The response if nothing was changed.
    pub(crate) fn undone(self, diagnostics: impl Into<Diagnostics>) -> ApplyResponse {
        let diagnostics = diagnostics.into();
        ApplyResponse { state: self.prior, private: self.private, identity: None, diagnostics }
    }
}
