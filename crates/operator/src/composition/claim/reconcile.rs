//! One reconcile of one claim.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use backoff::Backoff;
use composition::claim::{check_binding, composite_name, with_conditions};
use composition::composite::{Composite, Layout};
use composition::event::Event;
use composition::object;
use composition::protocol::Object;
use composition::readiness::{PAUSED, reconcile_error, reconcile_paused};
use serde_json::Value;

use super::{Binder, ClaimMemory};
use crate::composition::MANAGER;
use crate::composition::events::record_new;
use crate::runtime::client::ApiError;
use crate::runtime::controller::{Action, ReconcileError, Reconciler};
use crate::runtime::store::Key;

/// The reason of Events about binding and syncing.
pub(super) const BIND: &str = "BindCompositeResource";

/// What went wrong with a claim, and the reason of the Event about it.
pub(super) struct ClaimFailure {
    pub(super) reason: &'static str,
    pub(super) text: String,
    /// Whether a user has to act, so that retrying does not help.
    pub(super) is_final: bool,
}

pub(super) type Result<T> = std::result::Result<T, ReconcileError<ClaimFailure>>;

impl ClaimFailure {
    pub(super) fn new(reason: &'static str, text: impl Into<String>) -> Self {
        Self { reason, text: text.into(), is_final: false }
    }

    /// A failed read or write.
    pub(super) fn api(reason: &'static str, what: &str, error: &ApiError) -> ReconcileError<Self> {
        if error.is_conflict() {
            return ReconcileError::Conflict;
        }
        // The text of a rejection may differ each time, and would cause a write at every reconcile.
        let why =
            if error.is_invalid() { composition::health::refusal(error.causes()) } else { error.text() };
        Self::new(reason, format!("{what}: {why}")).into()
    }
}

impl fmt::Display for ClaimFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Reconciler for Binder {
    type Key = Key;
    type Memory = ClaimMemory;
    type Signals = ();
    type Error = ClaimFailure;

    const NAME: &'static str = "claim";
    /// Most of them wait for their turn to write; more would only need more memory.
    const MAX_CONCURRENT_RECONCILES: usize = 100;
    const RESERVED_FOR_CHANGES: usize = 20;
    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

    fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.claims.store.get(key)
    }

    async fn reconcile(
        self: &Arc<Self>,
        key: &Key,
        claim: Arc<Value>,
        memory: &mut ClaimMemory,
    ) -> Result<Action> {
        let Some(claim) = claim.as_object() else { return Ok(Action::await_change()) };
        let mut outcome = self.bind(claim, memory).await;
        if let Err(ReconcileError::Failed(failure)) = &outcome {
            self.report(claim, memory, failure).await;
            if failure.is_final {
                outcome = Ok(Action::await_change());
            }
        }
        self.count(key, memory);
        outcome
    }

    async fn forget(&self, _key: &Key, memory: ClaimMemory) {
        if let Some(uid) = memory.counted {
            self.engine.counts.claims.forget(&uid);
        }
    }
}

impl Binder {
    async fn bind(&self, claim: &Object, memory: &mut ClaimMemory) -> Result<Action> {
        if Composite::new(claim, Layout::Legacy).is_paused() {
            let status = with_conditions(claim, [reconcile_paused(self.engine.clock.now())]);
            let is_unchanged = has_status(claim, &status);
            self.write_status(claim, status).await?;
            self.record(claim, memory, vec![Event::normal("ReconciliationPaused", PAUSED)], is_unchanged)
                .await;
            return Ok(Action::await_change());
        }
        let xr = match composite_name(claim) {
            Some(name) => self.find_xr(name).await?,
            None => None,
        };
        if let Some(xr) = &xr {
            check_binding(claim, xr).map_err(|error| ClaimFailure {
                is_final: true,
                ..ClaimFailure::new(BIND, error.to_string())
            })?;
        }
        if object::is_being_deleted(claim) {
            return self.finalize(claim, xr.as_ref(), memory).await;
        }
        self.sync(claim, xr, memory).await
    }

    /// Counts the claim by its conditions.
    fn count(&self, key: &Key, memory: &mut ClaimMemory) {
        let claim = self.claims.store.get(key);
        let claim = claim.as_ref().and_then(|claim| claim.as_object());
        if let Some(uid) = claim.and_then(|claim| self.engine.counts.claims.count(self.kind.name(), claim)) {
            memory.counted = Some(uid);
        }
    }

    /// The XR called `name`. If the store lacks it, the store may be behind.
    async fn find_xr(&self, name: &str) -> Result<Option<Object>> {
        if let Some(known) = self.xrs.store.get(&Key::cluster_scoped(name)) {
            return Ok(known.as_object().cloned());
        }
        let read = self.read_xr(name).await;
        read.map_err(|error| {
            ClaimFailure::new(BIND, format!("cannot get bound composite resource: {}", error.text())).into()
        })
    }

    pub(super) async fn read_xr(&self, name: &str) -> std::result::Result<Option<Object>, ApiError> {
        self.engine.client.read(&Key::cluster_scoped(name).reference(&self.kind.composite)).await
    }

    /// Reports a failure in the claim's status and by an Event.
    async fn report(&self, claim: &Object, memory: &mut ClaimMemory, failure: &ClaimFailure) {
        // This reconcile may have written the claim already.
        let latest = self.claims.store.get(&Key::of_object(claim));
        let claim = latest.as_ref().and_then(|latest| latest.as_object()).unwrap_or(claim);
        let status = with_conditions(claim, [reconcile_error(&failure.text, self.engine.clock.now())]);
        let is_unchanged = has_status(claim, &status);
        // If the status cannot be written, there is still the Event.
        let _written = self.write_status(claim, status).await;
        let event = Event::warning(failure.reason, &failure.text);
        self.record(claim, memory, vec![event], is_unchanged).await;
    }

    /// Records the events that the last reconcile did not have.
    pub(super) async fn record(
        &self,
        claim: &Object,
        memory: &mut ClaimMemory,
        events: Vec<Event>,
        is_unchanged: bool,
    ) {
        let (log, no_claim) = (&mut memory.events, std::future::ready(None));
        record_new(&self.recorder, claim, log, (events, &BTreeSet::new()), is_unchanged, no_claim).await;
    }

    /// Writes the status of a claim if it differs.
    pub(super) async fn write_status(&self, claim: &Object, status: Object) -> Result<()> {
        if has_status(claim, &status) {
            return Ok(());
        }
        let mut wanted = claim.clone();
        wanted.insert("status".to_owned(), status.into());
        let answer = self.engine.client.replace_status(&wanted, MANAGER).await;
        let answer = answer.map_err(|error| ClaimFailure::api(BIND, "cannot update claim status", &error))?;
        self.record_write(answer);
        Ok(())
    }

    pub(super) fn record_write(&self, claim: Object) {
        self.claims.store.record_write(claim.into());
    }
}

pub(super) fn has_status(claim: &Object, status: &Object) -> bool {
    claim.get("status").and_then(Value::as_object) == Some(status)
}
