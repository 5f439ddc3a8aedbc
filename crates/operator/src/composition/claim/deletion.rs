//! What becomes of a claim that is deleted, and of its XR.

use std::time::Duration;

use cluster::Propagation;
use composition::claim::{Deletion, deletion, marked};
use composition::event::Event;
use composition::object;
use composition::readiness::deleting;
use composition::run::Object;
use jiff::Timestamp;

use super::pass::Stopped;
use super::{Binder, Memory};
use crate::composition::{MANAGER, finalizer};
use crate::store::Key;
use crate::work::Next;

/// The finalizer on every claim, the reference's.
pub(super) const FINALIZER: &str = "finalizer.apiextensions.crossplane.io";
const DELETE: &str = "DeleteCompositeResource";
/// How soon to look at an XR that is going; its going is watched too.
const AGAIN: Duration = Duration::from_secs(5);

impl Binder {
    /// Lets go of a claim that is being deleted.
    pub(super) async fn let_go(
        &self,
        claim: &Object,
        xr: Option<&Object>,
        memory: &mut Memory,
    ) -> Result<Next, Stopped> {
        if !finalizer::is_on(claim, FINALIZER) {
            return Ok(Next::Idle);
        }
        let step = deletion(claim, xr);
        match (step, xr) {
            (Deletion::DeleteInForeground | Deletion::Wait, Some(xr)) => {
                if step == Deletion::DeleteInForeground {
                    self.delete(xr, Propagation::Foreground).await?;
                }
                self.write_status(claim, marked(claim, [deleting(Timestamp::now())])).await?;
                return Ok(Next::In(AGAIN));
            }
            (Deletion::DeleteThenRelease, Some(xr)) => self.delete(xr, Propagation::Background).await?,
            _ => {}
        }
        let event = Event::normal(DELETE, "Successfully deleted composite resource");
        self.tell(claim, memory, vec![event], false).await;
        let released = self.engine.writer.replace(&finalizer::taken_off(claim, FINALIZER), MANAGER).await;
        match released {
            Ok(answer) => self.learned(&answer),
            Err(error) if error.is_gone() => {}
            Err(error) => return Err(Stopped::by(DELETE, "cannot remove finalizer from claim", &error)),
        }
        Ok(Next::Idle)
    }

    async fn delete(&self, xr: &Object, propagation: Propagation) -> Result<(), Stopped> {
        let uid = object::uid(xr).map(str::to_owned);
        let reference = Key::of_object(xr).reference(&self.kind.composite);
        let deleted = self.engine.writer.delete(&reference, uid, propagation).await;
        let what = "cannot delete bound composite resource";
        deleted.map(|_| ()).map_err(|error| Stopped::by(DELETE, what, &error))
    }
}
