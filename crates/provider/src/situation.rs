//! What is asked of a resource that shall exist: how it is, how it shall be, and what it has kept for itself.

use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::{ApplyResponse, Change};
use tfplugin::value::Object;

/// What is to be planned or done.
#[derive(Clone)]
pub(crate) struct Situation {
    /// The state; none when creating.
    pub(crate) prior: Option<Object>,
    /// How it shall be: in a plan what the schema alone gives, which is the configuration, and unknown wherever something
    /// may change.
    pub(crate) planned: Object,
    /// What the resource keeps for itself.
    pub(crate) private: Private,
}

impl Situation {
    /// What `change` asks for; none if the resource shall not exist.
    pub(crate) fn of(change: &Change, private: &Private) -> Option<Self> {
        let planned = change.planned()?.clone();
        Some(Self { prior: change.prior().cloned(), planned, private: private.clone() })
    }

    /// Whether the resource does not exist yet.
    pub(crate) fn is_create(&self) -> bool {
        self.prior.is_none()
    }

    /// Nothing was done: what was there is still there.
    pub(crate) fn undone(self, diagnostics: impl Into<Diagnostics>) -> ApplyResponse {
        let diagnostics = diagnostics.into();
        ApplyResponse { state: self.prior, private: self.private, identity: None, diagnostics }
    }
}
