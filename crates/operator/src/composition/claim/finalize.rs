//! Finalizing a claim: its XR is deleted first.

use std::time::Duration;

use cluster::Propagation;
use composition::claim::{Deletion, deletion, with_conditions};
use composition::event::Event;
use composition::object;
use composition::protocol::Object;
use composition::readiness::deleting;

use super::reconcile::{ClaimFailure, Result};
use super::{Binder, ClaimMemory};
use crate::composition::MANAGER;
use crate::runtime::controller::Action;
use crate::runtime::finalizer;
use crate::runtime::store::Key;

/// Crossplane's finalizer on claims.
pub(super) const FINALIZER: &str = "finalizer.apiextensions.crossplane.io";
const DELETE: &str = "DeleteCompositeResource";
/// How soon to check on an XR that is being deleted, which is watched too.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

impl Binder {
    pub(super) async fn finalize(
        &self,
        claim: &Object,
        xr: Option<&Object>,
        memory: &mut ClaimMemory,
    ) -> Result<Action> {
        if !finalizer::is_present(claim, FINALIZER) {
            return Ok(Action::await_change());
        }
        let step = deletion(claim, xr);
        match (step, xr) {
            (Deletion::DeleteInForeground | Deletion::Wait, Some(xr)) => {
                if step == Deletion::DeleteInForeground {
                    self.delete(xr, Propagation::Foreground).await?;
                }
                self.write_status(claim, with_conditions(claim, [deleting(self.engine.clock.now())])).await?;
                return Ok(Action::requeue(POLL_INTERVAL));
            }
            (Deletion::DeleteThenRelease, Some(xr)) => self.delete(xr, Propagation::Background).await?,
            _ => {}
        }
        let event = Event::normal(DELETE, "Successfully deleted composite resource");
        self.record(claim, memory, vec![event], false).await;
        match finalizer::set(&self.engine.client, claim, &[FINALIZER], false, MANAGER).await {
            Ok(answer) => answer.into_iter().for_each(|answer| self.record_write(answer)),
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                return Err(ClaimFailure::api(DELETE, "cannot remove finalizer from claim", &error));
            }
        }
        Ok(Action::await_change())
    }

    async fn delete(&self, xr: &Object, propagation: Propagation) -> Result<()> {
        let target = Key::of_object(xr).reference(&self.kind.composite);
        let deleted = self.engine.client.delete(&target, object::uid(xr), None, propagation).await;
        let what = "cannot delete bound composite resource";
        deleted.map(|_| ()).map_err(|error| ClaimFailure::api(DELETE, what, &error))
    }
}
