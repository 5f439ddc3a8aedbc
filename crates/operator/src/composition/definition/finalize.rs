//! Finalizing an XRD: its claims are deleted, then its XRs, each followed by its CRD.

use std::time::Duration;

use cluster::Propagation;
use composition::definition::Definition;
use composition::object;
use composition::protocol::Object;
use diag::Diagnostic;
use manifest::ObjectRef;

use super::status::{self, Status};
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
        let (definition, _) = self.standing(definition).await?;
        let definition = &definition;
        let roles = Role::of(definition);
        let mut status = Status::of(&self.xrd, self.definitions.engine.clock.now());
        for role in &roles {
            status.terminating(*role);
        }
        self.write_status(status).await?;
        let mut left = Vec::new();
        for role in roles {
            let crd = self.own_crd(definition, role).await?;
            let objects = self.objects(definition, role, crd.as_ref()).await?;
            if !objects.is_empty() {
                // Only a controller removes their finalizers, and after a restart none runs yet.
                self.definitions.kinds.start(role, self.kind(definition)).await;
            }
            left.push((role, crd, objects));
        }
        for (role, crd, objects) in left.into_iter().rev() {
            if let Some(action) = self.finalize_role(role, crd, &objects).await? {
                return Ok(action);
            }
        }
        self.remove_finalizers().await
    }

    /// Deletes what an invalid XRD has defined. One that never can have defined anything is let go.
    pub(super) async fn finalize_invalid(&mut self, found: &[Diagnostic]) -> Result<Action> {
        if let Some(salvaged) = Definition::salvaged(&self.xrd) {
            return self.finalize(&salvaged).await;
        }
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

    /// Deletes the objects of one role, then its CRD; `None` when both are gone.
    async fn finalize_role(
        &mut self,
        role: Role,
        crd: Option<Object>,
        objects: &[Object],
    ) -> Result<Option<Action>> {
        let words = role.words();
        let name = object::name(&self.xrd).unwrap_or_default().to_owned();
        let Some(live) = crd else {
            self.definitions.kinds.stop(role, &name).await;
            return Ok(None);
        };
        for one in objects.iter().filter(|one| !object::is_being_deleted(one)) {
            let deleted = self.delete(one).await;
            self.check(deleted, role, &format!("cannot delete defined {}s", words.noun))?;
        }
        if !objects.is_empty() {
            let message = format!("waiting for defined {}s to be deleted", words.noun);
            self.event(role, EventType::Normal, words.terminate, message);
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

    /// The CRD of one role, if it is there and the XRD controls it.
    pub(super) async fn own_crd(&mut self, definition: &Definition, role: Role) -> Result<Option<Object>> {
        let Some(crd) = role.crd(definition) else { return Ok(None) };
        let engine = &self.definitions.engine;
        let doing = format!("cannot get {} CustomResourceDefinition", role.words().noun);
        let read = async { engine.client.read(&ObjectRef::of(&crd)?).await };
        let live = self.check(read.await, role, &doing)?;
        Ok(live.filter(|live| object::is_controlled_by(live, &self.xrd)))
    }

    async fn delete(&self, object: &Object) -> std::result::Result<bool, ApiError> {
        let client = &self.definitions.engine.client;
        client.delete(&ObjectRef::of(object)?, object::uid(object), None, Propagation::Background).await
    }

    /// All objects of one role, whose CRD is `crd`.
    async fn objects(
        &mut self,
        definition: &Definition,
        role: Role,
        crd: Option<&Object>,
    ) -> Result<Vec<Object>> {
        let (Some(kind), Some(crd)) = (role.objects(definition), crd) else { return Ok(Vec::new()) };
        let listed = match self.definitions.engine.client.list(kind).await {
            // It was never served, or is gone already. A kind that should be served and is not proves nothing.
            Err(error)
                if error.is_kind_absent()
                    && (!status::is_established(crd) || object::is_being_deleted(crd)) =>
            {
                return Ok(Vec::new());
            }
            listed => listed,
        };
        self.check(listed, role, &format!("cannot list defined {}s", role.words().noun))
    }
}
