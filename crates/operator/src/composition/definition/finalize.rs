//! Finalizing an XRD: its claims are deleted, then its XRs, each followed by its CRD.

use std::time::Duration;

use cluster::{Propagation, Selection};
use composition::composite::Composite;
use composition::definition::Definition;
use composition::object;
use composition::protocol::Object;
use diag::Diagnostic;
use jiff::Timestamp;
use manifest::ObjectRef;

use super::status::Status;
use super::{Reconcile, Result, Role, in_words};
use crate::runtime::client::ApiError;
use crate::runtime::controller::Action;
use crate::runtime::events::EventType;

/// How soon to check whether the last object is gone, which no watch of this controller reports.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl Reconcile<'_> {
    /// Deletes claims and their CRD, then XRs and theirs, as far as possible now.
    ///
    /// Crossplane deletes both at once; a claim could then create a new XR in place of one that was deleted before it.
    pub(super) async fn finalize(&mut self, definition: &Definition) -> Result<Action> {
        let roles = Role::of(definition);
        let mut status = Status::of(&self.xrd, Timestamp::now());
        for role in &roles {
            status.terminating(*role);
        }
        self.write_status(status).await?;
        self.remember_composed(definition).await?;
        for role in roles.into_iter().rev() {
            if let Some(action) = self.finalize_role(definition, role).await? {
                return Ok(action);
            }
        }
        self.remove_finalizers().await
    }

    /// An invalid XRD does not say what it defined, so there is nothing to delete.
    pub(super) async fn finalize_invalid(&mut self, found: &[Diagnostic]) -> Result<Action> {
        let why = found.iter().map(in_words).collect::<Vec<_>>().join("; ");
        tracing::warn!(
            xrd = object::name(&self.xrd),
            why,
            "finalizing an invalid CompositeResourceDefinition"
        );
        let name = object::name(&self.xrd).unwrap_or_default().to_owned();
        self.definitions.stop_controllers(&name).await;
        self.remove_finalizers().await
    }

    async fn remove_finalizers(&mut self) -> Result<Action> {
        let all = [Role::Claim, Role::Composite];
        self.set_finalizers(&all, false, "cannot remove composite resource finalizer").await?;
        Ok(Action::await_change())
    }

    /// Deletes the objects and the CRD of one role; `None` when both are gone.
    async fn finalize_role(&mut self, definition: &Definition, role: Role) -> Result<Option<Action>> {
        let words = role.words();
        let name = object::name(&self.xrd).unwrap_or_default().to_owned();
        let Some(crd) = role.crd(definition) else {
            // There never was a CRD.
            self.definitions.kinds.stop(role, &name).await;
            return Ok(None);
        };
        let engine = &self.definitions.engine;
        let doing = format!("cannot get {} CustomResourceDefinition", words.noun);
        let read = async { engine.client.read(&ObjectRef::of(&crd)?).await };
        let live = self.check(read.await, role, &doing)?;
        let Some(live) = live.filter(|live| self.controls(live)) else {
            self.definitions.kinds.stop(role, &name).await;
            return Ok(None);
        };
        if self.delete_objects(definition, role).await? {
            let message = format!("waiting for defined {}s to be deleted", words.noun);
            self.event(role, EventType::Normal, words.terminate, message);
            return Ok(Some(Action::requeue(POLL_INTERVAL)));
        }
        if role == Role::Composite && self.is_composed_left().await? {
            return Ok(Some(Action::requeue(POLL_INTERVAL)));
        }
        // The controller has seen the last object go; without the kind it would only get errors.
        self.definitions.kinds.stop(role, &name).await;
        if !object::is_being_deleted(&live) {
            let deleted = self.delete(&live).await;
            self.check(deleted, role, &format!("cannot delete {} CustomResourceDefinition", words.noun))?;
            let crd = object::name(&live).unwrap_or_default();
            let message = format!("Deleted {} CustomResourceDefinition: {crd}", words.noun);
            self.event(role, EventType::Normal, words.terminate, message);
        }
        // The deletion of the CRD enqueues the XRD too.
        Ok(Some(Action::requeue(POLL_INTERVAL)))
    }

    /// Remembers what the XRs are composed of while they exist.
    async fn remember_composed(&mut self, definition: &Definition) -> Result<()> {
        for xr in self.objects(definition, Role::Composite).await? {
            let refs = Composite::new(&xr, definition.scope.layout()).resource_refs();
            let uid = object::uid(&xr).unwrap_or_default();
            self.memory.composed.extend(refs.into_iter().map(|reference| (reference, uid.to_owned())));
        }
        Ok(())
    }

    /// Whether a composed resource is left that is not being deleted.
    ///
    /// Kubernetes garbage-collects it, but not once the kind of its owner is gone.
    async fn is_composed_left(&mut self) -> Result<bool> {
        for (reference, uid) in self.memory.composed.clone() {
            let read = match self.definitions.engine.client.read(&reference).await {
                Err(error) if error.is_kind_missing() => Ok(None),
                read => read,
            };
            let read = self.check(read, Role::Composite, "cannot get composed resource")?;
            let is_left = read.is_some_and(|left| {
                let is_ours = object::controller(&left).is_some_and(|controller| controller.uid == uid);
                is_ours && !object::is_being_deleted(&left)
            });
            if is_left {
                return Ok(true);
            }
            self.memory.composed.remove(&(reference, uid));
        }
        Ok(false)
    }

    fn controls(&self, crd: &Object) -> bool {
        object::controller(crd).is_some_and(|owner| Some(owner.uid.as_str()) == object::uid(&self.xrd))
    }

    /// Deletes all objects of one role; whether there are any left.
    async fn delete_objects(&mut self, definition: &Definition, role: Role) -> Result<bool> {
        let words = role.words();
        let objects = self.objects(definition, role).await?;
        for one in objects.iter().filter(|one| !object::is_being_deleted(one)) {
            let deleted = self.delete(one).await;
            self.check(deleted, role, &format!("cannot delete defined {}s", words.noun))?;
        }
        Ok(!objects.is_empty())
    }

    async fn delete(&self, object: &Object) -> std::result::Result<bool, ApiError> {
        let client = &self.definitions.engine.client;
        client.delete(&ObjectRef::of(object)?, object::uid(object), None, Propagation::Background).await
    }

    /// All objects of one role.
    async fn objects(&mut self, definition: &Definition, role: Role) -> Result<Vec<Object>> {
        let Some(kind) = role.objects(definition) else { return Ok(Vec::new()) };
        let session = self.definitions.engine.client.session();
        let listed = match session.list(kind, &Selection::default()).await.map_err(ApiError::from) {
            Err(error) if error.is_kind_missing() => return Ok(Vec::new()),
            listed => listed,
        };
        let doing = format!("cannot list defined {}s", role.words().noun);
        let listing = self.check(listed, role, &doing)?;
        Ok(listing.items.into_iter().map(object::from_value).collect())
    }
}
