//! Finalizing an XR, and leaving one alone that a user paused.

use cluster::Propagation;
use composition::composite::{Composite, FINALIZER};
use composition::event::Event;
use composition::health::{ReconcileFailure, Stage};
use composition::object;
use composition::protocol::Object;
use composition::readiness::{deleting, reconcile_error, reconcile_paused, reconcile_success};
use composition::requeue::History;
use composition::status::with_conditions;

use super::memory::XrMemory;
use super::{Composer, failed};
use crate::composition::MANAGER;
use crate::runtime::controller::{Action, ReconcileError};
use crate::runtime::finalizer;
use crate::runtime::store::Key;

/// The finalizer of an object that was deleted with the request to keep its dependents.
const ORPHAN: &str = "orphan";

impl Composer {
    /// Shows that the XR is paused, which includes its deletion.
    pub(super) async fn pause(
        &self,
        xr: &Object,
        memory: &mut XrMemory,
    ) -> Result<Action, ReconcileError<String>> {
        let mut xr = xr.clone();
        let intent =
            with_conditions(Composite::new(&xr, self.layout), [reconcile_paused(self.engine.clock.now())]);
        // When the XR is resumed, it is reconciled whatever has changed until then.
        memory.history = History::default();
        memory.due = None;
        let is_written = self.write_status(&mut xr, memory, &intent).await?;
        let event =
            Event::normal("ReconciliationPaused", "Reconciliation is paused via the pause annotation");
        self.record(&xr, memory, vec![event], !is_written).await;
        Ok(Action::await_change())
    }

    /// Removes the finalizer. Composed resources are garbage-collected by their owner references, unless the kind of the XR
    /// goes too: then they are deleted first.
    pub(super) async fn finalize(
        &self,
        key: &Key,
        xr: &Object,
        memory: &mut XrMemory,
    ) -> Result<Action, ReconcileError<String>> {
        if !finalizer::is_present(xr, FINALIZER) {
            self.dependents.forget(&self.engine.watches, key);
            return Ok(Action::await_change());
        }
        let mut xr = xr.clone();
        // For users who wait. An XR that nothing else holds is gone with the finalizer.
        if self.kind.is_being_deleted() || finalizer::is_held_by_others(&xr, FINALIZER) {
            let now = self.engine.clock.now();
            let intent =
                with_conditions(Composite::new(&xr, self.layout), [deleting(now), reconcile_success(now)]);
            if let Err(error) = self.write_status(&mut xr, memory, &intent).await
                && !error.is_conflict()
            {
                // It must not keep the XR.
                tracing::debug!(xr = %key, error = error.text(), "cannot write the status of an XR under deletion");
            }
        }
        if self.kind.is_being_deleted()
            && let Err(error) = self.delete_children(&xr).await
        {
            let ReconcileError::Failed(failure) = error else { return Err(ReconcileError::Conflict) };
            self.report_stuck(&mut xr, memory, &failure).await;
            return Err(failure.text().into());
        }
        match finalizer::set(&self.engine.client, &xr, &[FINALIZER], false, MANAGER).await {
            Ok(answer) => {
                if let Some(answer) = answer {
                    self.record_write(&answer);
                }
                self.dependents.forget(&self.engine.watches, key);
                Ok(Action::await_change())
            }
            Err(error) if error.is_not_found() => Ok(Action::await_change()),
            Err(error) => {
                if let ReconcileError::Failed(failure) = failed(Stage::Delete, "", &error) {
                    self.report_stuck(&mut xr, memory, &failure).await;
                }
                Err(error.into())
            }
        }
    }

    /// Deletes what the XR is composed of, as the account that wrote it. The garbage collector does not, once it no longer
    /// finds the kind of the owner; and while the XR is there, its references say what is left, whichever operator reads
    /// them.
    async fn delete_children(&self, xr: &Object) -> super::Result<()> {
        if finalizer::is_present(xr, ORPHAN) {
            return Ok(());
        }
        let actor = self.actor(xr)?;
        for reference in Composite::new(xr, self.layout).resource_refs() {
            let Some(child) = self.read_child(&reference).await? else { continue };
            if object::is_controlled_by(&child, xr) && !object::is_being_deleted(&child) {
                let uid = object::uid(&child);
                let deleted = actor.client.delete(&reference, uid, None, Propagation::Background).await;
                let what = || format!("cannot delete composed resource {reference}");
                deleted.map_err(|error| failed(Stage::Delete, &what(), &error))?;
            }
        }
        Ok(())
    }

    async fn report_stuck(&self, xr: &mut Object, memory: &mut XrMemory, failure: &ReconcileFailure) {
        let now = self.engine.clock.now();
        let conditions = [deleting(now), reconcile_error(failure.condition_text(), now)];
        let intent = with_conditions(Composite::new(xr, self.layout), conditions);
        // If the status cannot be written, there is still the Event.
        let _written = self.write_status(xr, memory, &intent).await;
        let event = Event::warning(failure.stage.event_reason(), failure.text());
        self.record(xr, memory, vec![event], false).await;
    }
}
