//! What a reconcile reaches the cloud with: a service, the identity behind it, and what the administrator allows.

use diag::Diagnostic;
use operations::{Identity, Policy};

pub struct Connected<S> {
    pub service: S,
    /// None for a provider that has one place and one user.
    pub identity: Option<Identity>,
    pub policy: Policy,
    /// What an administrator should know; the same at every reconcile.
    pub warnings: Vec<Diagnostic>,
}

impl<S> Connected<S> {
    pub fn map<T>(self, change: impl FnOnce(S) -> T) -> Connected<T> {
        let Self { service, identity, policy, warnings } = self;
        Connected { service: change(service), identity, policy, warnings }
    }
}

/// A service without identities, in a namespace without restrictions.
impl<S> From<S> for Connected<S> {
    fn from(service: S) -> Self {
        Self { service, identity: None, policy: Policy::default(), warnings: Vec::new() }
    }
}
