//! XRs that are left alone because a person asked for it, and XRs that are let go.

use composition::composite::Composite;
use composition::event::Event;
use composition::health::{PassFailure, Stage};
use composition::pass::back_off;
use composition::readiness::{deleting, reconcile_error, reconcile_paused, reconcile_success};
use composition::run::Object;
use composition::status::marked;
use jiff::Timestamp;

use super::choice::FINALIZER;
use super::memory::Memory;
use super::{Composer, Stopped};
use crate::composition::{MANAGER, finalizer};
use crate::store::Key;
use crate::work::Next;

impl Composer {
    /// Says that the XR is left alone; its deletion waits too.
    pub(super) async fn pause(&self, xr: &Object, memory: &mut Memory) -> Next {
        let mut xr = xr.clone();
        let intent = marked(Composite::new(&xr, self.layout), [reconcile_paused(Timestamp::now())]);
        // What was remembered of passes holds no more when they go on: a person may have changed anything.
        memory.passes = composition::pass::Passes::default();
        memory.due = None;
        let written = match self.write_status(&mut xr, memory, &intent).await {
            Ok(written) => written,
            Err(error) => return self.again(memory, error.is_outdated(), &error.text()),
        };
        let event =
            Event::normal("ReconciliationPaused", "Reconciliation is paused via the pause annotation");
        self.tell(&xr, memory, vec![event], !written).await;
        Next::Idle
    }

    /// Lets go of an XR that is being deleted. Its children go with it, by their owner references.
    pub(super) async fn let_go(&self, key: &Key, xr: &Object, memory: &mut Memory) -> Next {
        if !finalizer::is_on(xr, FINALIZER) {
            self.dependents.forget(&self.engine.watches, key);
            return Next::Idle;
        }
        let mut xr = xr.clone();
        let now = Timestamp::now();
        let intent = marked(Composite::new(&xr, self.layout), [deleting(now), reconcile_success(now)]);
        if let Err(error) = self.write_status(&mut xr, memory, &intent).await
            && !error.is_outdated()
        {
            // The status is for people who wait; that it cannot be written must not keep the XR.
            tracing::debug!(xr = %key, error = error.text(), "the status cannot be written");
        }
        match self.engine.writer.replace(&finalizer::taken_off(&xr, FINALIZER), MANAGER).await {
            Ok(answer) => {
                self.learned(&answer);
                self.dependents.forget(&self.engine.watches, key);
                memory.failures = 0;
                Next::Idle
            }
            Err(error) => {
                if let Stopped::Failed(failure) = Stopped::by(Stage::Delete, "", &error) {
                    self.cannot_let_go(&mut xr, memory, &failure).await;
                }
                self.again(memory, error.is_outdated(), &error.text())
            }
        }
    }

    async fn cannot_let_go(&self, xr: &mut Object, memory: &mut Memory, failure: &PassFailure) {
        let now = Timestamp::now();
        let conditions = [deleting(now), reconcile_error(failure.condition_text(), now)];
        let intent = marked(Composite::new(xr, self.layout), conditions);
        // What cannot be told in the status is told by the Event.
        let _told = self.write_status(xr, memory, &intent).await;
        let event = Event::warning(failure.stage.event_reason(), failure.text());
        self.tell(xr, memory, vec![event], false).await;
    }

    fn again(&self, memory: &mut Memory, is_outdated: bool, why: &str) -> Next {
        if is_outdated {
            return Next::In(std::time::Duration::from_millis(50));
        }
        memory.failures += 1;
        let wait = back_off(memory.failures, std::time::Duration::from_secs(30));
        tracing::warn!(kind = %self.kind.composite, why, ?wait, "an XR cannot be written; trying again");
        Next::In(wait)
    }
}
