//! Which Secrets functions may be given for an XR.
//!
//! The operator reads what functions require, with one exception: where a ServiceAccount of a tenant writes what an XR is composed
//! of, a Secret is given to a function only if that account may read it, too. Which Secret a function requires may follow from
//! what a tenant has written. What the Composition itself requires is the platform's choice.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use composition::composition::Composition;
use composition::protocol::Match;
use diag::error_chain;
use functions::ResolveError;
use manifest::ObjectRef;

use super::Actor;
use crate::composition::watches::{Scope, Which, is_secret};
use crate::runtime::store::Key;

pub(in crate::composition) struct SecretRights<'a> {
    actor: &'a Actor,
    included: Mutex<BTreeSet<Scope>>,
}

impl<'a> SecretRights<'a> {
    pub(in crate::composition) fn new(actor: &'a Actor, revision: &Composition) -> Self {
        let required = revision.spec.pipeline.iter().flat_map(|step| step.requirements.resources());
        let included = required.filter_map(|(_, selector)| Scope::required(&selector).ok()).collect();
        Self { actor, included: Mutex::new(included) }
    }

    /// Whether it is known that `scope` may be given.
    pub(in crate::composition) fn include(&self, scope: &Scope) -> bool {
        self.actor.account.is_none() || !is_secret(&scope.gvk) || self.included().contains(scope)
    }

    /// Refuses Secrets that the account of the tenant may not read.
    pub(in crate::composition) async fn check(&self, scope: &Scope) -> Result<(), ResolveError> {
        if self.include(scope) {
            return Ok(());
        }
        let client = &self.actor.client;
        if let Which::Required { namespace: Some(namespace), matching: Match::Name(name) } = &scope.which {
            let key = Key { namespace: Some(namespace.clone()), name: name.clone() };
            let target: ObjectRef = key.reference(&scope.gvk);
            client.read(&target).await.map_err(|error| ResolveError(error.text()))?;
        } else {
            let source = scope.source();
            let listed = client.session().list_kept(&source.gvk, &source.selection, &drop).await;
            listed.map_err(|error| ResolveError(error_chain(&error)))?;
        }
        self.included().insert(scope.clone());
        Ok(())
    }

    fn included(&self) -> MutexGuard<'_, BTreeSet<Scope>> {
        self.included.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
