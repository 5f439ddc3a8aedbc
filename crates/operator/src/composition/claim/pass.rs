//! One pass over one claim.

use std::sync::Arc;
use std::time::Duration;

use composition::claim::{check_binding, composite_name, marked};
use composition::composite::{Composite, Layout};
use composition::condition::{Conditions, HEALTHY};
use composition::event::Event;
use composition::object;
use composition::pass::back_off;
use composition::readiness::{reconcile_error, reconcile_paused};
use composition::run::Object;
use jiff::Timestamp;
use serde_json::Value;

use super::{Binder, Memory};
use crate::composition::MANAGER;
use crate::composition::writer::{WriteError, said};
use crate::store::Key;
use crate::work::Next;

/// What binding and syncing a claim is called in Events.
pub(super) const BIND: &str = "BindCompositeResource";
/// The longest wait after a pass that failed.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(60);
/// How soon to look again when somebody else was faster.
const SOON: Duration = Duration::from_millis(50);

/// Why a pass does not go on.
pub(super) enum Stopped {
    /// Somebody else was faster: look again.
    Outdated,
    /// This went wrong, and will be tried again.
    Failed {
        /// The reason of the Event.
        reason: &'static str,
        /// What went wrong.
        text: String,
    },
    /// Somebody has to decide something before it can go on.
    Refused {
        /// What is to be decided.
        text: String,
    },
}

impl Stopped {
    /// What a failed write means for the pass that was doing `what`.
    pub(super) fn by(reason: &'static str, what: &str, error: &WriteError) -> Self {
        if error.is_outdated() {
            return Self::Outdated;
        }
        // The text of a refusal may be another each time, and would cause a write at every pass.
        let why = if error.is_invalid() { error.refusal() } else { error.text() };
        Self::Failed { reason, text: format!("{what}: {why}") }
    }
}

impl Binder {
    /// Goes over the claim called `key`.
    pub(super) async fn pass(self: &Arc<Self>, key: Key) -> Next {
        let Some(found) = self.claims.store.find(&key) else {
            let counted = self.memories().remove(&key).and_then(|memory| memory.counted);
            if let Some(uid) = counted {
                self.engine.metrics.claim(self.kind.name(), &uid, None);
            }
            return Next::Idle;
        };
        let Some(claim) = found.as_object() else { return Next::Idle };
        let mut memory = self.memories().remove(&key).unwrap_or_default();
        let next = match self.go_over(claim, &mut memory).await {
            Ok(next) => {
                memory.failures = 0;
                next
            }
            Err(Stopped::Outdated) => Next::In(SOON),
            Err(Stopped::Refused { text }) => {
                self.complain(claim, &mut memory, BIND, &text).await;
                Next::Idle
            }
            Err(Stopped::Failed { reason, text }) => {
                memory.failures += 1;
                let wait = back_off(memory.failures, LONGEST_BACK_OFF);
                tracing::warn!(claim = %key, error = text, ?wait, "the pass failed; trying again");
                self.complain(claim, &mut memory, reason, &text).await;
                Next::In(wait)
            }
        };
        self.count(&key, &mut memory);
        self.memories().insert(key, memory);
        next
    }

    /// Counts the claim by why it is healthy or not.
    fn count(&self, key: &Key, memory: &mut Memory) {
        let Some(claim) = self.claims.store.find(key) else { return };
        let Some(claim) = claim.as_object() else { return };
        let (Some(uid), conditions) = (object::uid(claim), Conditions::of(claim)) else { return };
        let reason = conditions.get(HEALTHY).map(|healthy| healthy.reason.as_str());
        self.engine.metrics.claim(self.kind.name(), uid, reason);
        memory.counted = Some(uid.to_owned());
    }

    async fn go_over(&self, claim: &Object, memory: &mut Memory) -> Result<Next, Stopped> {
        if Composite::new(claim, Layout::Legacy).is_paused() {
            let status = marked(claim, [reconcile_paused(Timestamp::now())]);
            let stands = shows(claim, &status);
            self.write_status(claim, status).await?;
            let text = "Reconciliation (including deletion) is paused via the pause annotation";
            self.tell(claim, memory, vec![Event::normal("ReconciliationPaused", text)], stands).await;
            return Ok(Next::Idle);
        }
        let xr = match composite_name(claim) {
            Some(name) => self.find_xr(name).await?,
            None => None,
        };
        if let Some(xr) = &xr {
            check_binding(claim, xr).map_err(|error| Stopped::Refused { text: error.to_string() })?;
        }
        if object::is_being_deleted(claim) {
            return self.let_go(claim, xr.as_ref(), memory).await;
        }
        self.bring_in_step(claim, xr, memory).await
    }

    /// The XR called `name`. That the live copy lacks it does not mean much: it may be behind.
    pub(super) async fn find_xr(&self, name: &str) -> Result<Option<Object>, Stopped> {
        if let Some(known) = self.xrs.store.get(None, name) {
            return Ok(known.as_object().cloned());
        }
        let key = Key { namespace: None, name: name.to_owned() };
        match self.engine.session.read(&key.reference(&self.kind.composite)).await {
            Ok(found) => Ok(found.map(|reply| object::from_value(reply.object))),
            Err(error) => {
                let text = format!("cannot get bound composite resource: {}", said(&error));
                Err(Stopped::Failed { reason: BIND, text })
            }
        }
    }

    /// Says on the claim what went wrong.
    async fn complain(&self, claim: &Object, memory: &mut Memory, reason: &'static str, text: &str) {
        // The pass may have written the claim already.
        let latest = self.claims.store.find(&Key::of_object(claim));
        let claim = latest.as_ref().and_then(|latest| latest.as_object()).unwrap_or(claim);
        let status = marked(claim, [reconcile_error(text, Timestamp::now())]);
        // What cannot be told in the status is told by the Event.
        let stands = shows(claim, &status);
        let _told = self.write_status(claim, status).await;
        self.tell(claim, memory, vec![Event::warning(reason, text)], stands).await;
    }

    /// Writes the status of a claim unless it is so already; the claim as it then is.
    pub(super) async fn write_status(&self, claim: &Object, status: Object) -> Result<Object, Stopped> {
        if shows(claim, &status) {
            return Ok(claim.clone());
        }
        let mut wanted = claim.clone();
        wanted.insert("status".to_owned(), status.into());
        let answer = self.engine.writer.replace_status(&wanted, MANAGER).await;
        let answer = answer.map_err(|error| Stopped::by(BIND, "cannot update claim status", &error))?;
        self.learned(&answer);
        Ok(answer)
    }

    /// Takes in what the API server made of a claim.
    pub(super) fn learned(&self, claim: &Object) {
        self.claims.store.learned(claim.clone().into());
    }
}

/// Whether `status` is what the claim shows already.
pub(super) fn shows(claim: &Object, status: &Object) -> bool {
    claim.get("status").and_then(Value::as_object) == Some(status)
}
