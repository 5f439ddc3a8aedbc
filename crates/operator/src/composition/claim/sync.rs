//! Syncs a claim and its XR: the claim refers to the XR, the XR is applied, and the claim shows the XR's state.

use std::time::Duration;

use backoff::random;
use cluster::PatchType;
use composition::claim::{self, composite_name, is_bound, status};
use composition::composite::{Composite, Layout};
use composition::condition::{Condition, Conditions, READY};
use composition::event::Event;
use composition::health::claim_error_text;
use composition::intent::{Applied, is_apply_owed};
use composition::naming::{CLAIM_MANAGER, generated_name};
use composition::object;
use composition::protocol::Object;
use composition::takeover::hand_over_updates;
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::finalize::FINALIZER;
use super::reconcile::{BIND, ClaimFailure, Result, has_status};
use super::{Binder, ClaimMemory};
use crate::composition::MANAGER;
use crate::runtime::client::ApiError;
use crate::runtime::controller::{Action, ReconcileError};
use crate::runtime::finalizer;

/// How long a new XR may take to set its first conditions.
const FIRST_CONDITIONS_TIMEOUT: Duration = Duration::from_secs(2);
/// How many names are tried for an XR.
const MAX_NAMES: usize = 10;

impl Binder {
    pub(super) async fn sync(
        &self,
        claim: &Object,
        xr: Option<Object>,
        memory: &mut ClaimMemory,
    ) -> Result<Action> {
        let was_bound = xr.as_ref().is_some_and(|xr| is_bound(claim, xr));
        let name = match composite_name(claim) {
            Some(name) => name.to_owned(),
            None => self.free_name(claim).await?,
        };
        let enforced = self.kind.definition.spec.enforced_composition_ref.is_some();
        let xr_ref = ObjectRef::new(self.kind.composite.clone(), None, name);
        let synced = claim::sync(claim, xr.as_ref(), &xr_ref, enforced)
            .map_err(|error| cannot_sync(&error.to_string()))?;
        let mut claim = synced.claim;
        if synced.claim_changed || !finalizer::is_present(&claim, FINALIZER) {
            finalizer::add(&mut claim, FINALIZER);
            let answer = self.engine.client.replace(&claim, MANAGER).await;
            claim = answer.map_err(|error| failed("cannot update claim", &error))?;
            self.record_write(claim.clone());
        } else if xr.is_none() {
            let is_current = self.engine.client.is_current(&claim).await;
            if !is_current.map_err(|error| failed("cannot read claim", &error))? {
                return Err(ReconcileError::Conflict);
            }
        }
        let is_new = xr.is_none();
        let xr = self.take_over(xr, &synced.composite).await?;
        if let (Some(xr), None) = (&xr, &memory.applied) {
            memory.applied = Applied::found(&synced.composite, xr, CLAIM_MANAGER);
        }
        let xr = match xr {
            Some(xr) if !is_apply_owed(&synced.composite, memory.applied.as_ref(), Some(&xr)) => xr,
            xr => {
                let (client, intent) = (&self.engine.client, &synced.composite);
                let answer = match &xr {
                    Some(xr) => client.apply_to(xr, intent, CLAIM_MANAGER).await,
                    None => client.apply(intent, CLAIM_MANAGER).await,
                };
                let answer = answer.map_err(|error| failed("cannot apply composite resource", &error))?;
                memory.applied = Some(Applied::new(&synced.composite, &answer));
                self.xrs.store.record_write(Value::Object(answer.clone()));
                answer
            }
        };
        if is_new {
            memory.created = Some(Instant::now());
        }
        let mut events = Vec::new();
        if !was_bound && is_bound(&claim, &xr) {
            events.push(Event::normal(BIND, "Successfully bound composite resource"));
        }
        self.update_status(&claim, &xr, memory, events).await
    }

    /// Takes over the fields that an engine without server-side apply wrote to the XR for the claim.
    async fn take_over(&self, xr: Option<Object>, intent: &Object) -> Result<Option<Object>> {
        let Some(patch) = xr.as_ref().and_then(|xr| hand_over_updates(xr, intent, CLAIM_MANAGER)) else {
            return Ok(xr);
        };
        match self.engine.client.patch(intent, PatchType::Json, &patch, CLAIM_MANAGER).await {
            Ok(released) => {
                self.xrs.store.record_write(Value::Object(released.clone()));
                Ok(Some(released))
            }
            // A failed `test` operation means that another writer was first.
            Err(error) if error.is_invalid() => Err(ReconcileError::Conflict),
            Err(error) => Err(failed("cannot take over composite resource", &error)),
        }
    }

    /// Shows the user what the XR reports.
    async fn update_status(
        &self,
        claim: &Object,
        xr: &Object,
        memory: &mut ClaimMemory,
        mut events: Vec<Event>,
    ) -> Result<Action> {
        if let Some(wait) = wait_for_conditions(memory, xr) {
            self.record(claim, memory, events, false).await;
            return Ok(Action::requeue(wait));
        }
        let now = self.engine.clock.now();
        let composition = Composite::new(xr, Layout::Legacy).composition_ref();
        let composition = composition.and_then(|name| self.engine.catalogue.composition(name));
        let text = claim_error_text(
            composition.as_ref().map(|composition| &composition.object),
            Some(&self.kind.definition.object),
        );
        let mut shown = status(claim, xr, text, now).map_err(|error| cannot_sync(&error.to_string()))?;
        if Conditions::of(xr).get(READY).is_some_and(Condition::is_true) {
            if self.propagate(claim, xr).await? {
                let whole = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
                shown.insert("connectionDetails".to_owned(), json!({"lastPublishedTime": whole}));
                events.push(Event::normal(
                    "PropagateConnectionSecret",
                    "Successfully propagated connection details from composite resource",
                ));
            }
        } else {
            events.push(Event::normal(BIND, "Composite resource is not yet ready"));
        }
        let is_unchanged = has_status(claim, &shown);
        self.write_status(claim, shown).await?;
        self.record(claim, memory, events, is_unchanged).await;
        Ok(Action::await_change())
    }

    /// A name for the XR of `claim` that is not taken.
    async fn free_name(&self, claim: &Object) -> Result<String> {
        let prefix = format!("{}-", object::name(claim).unwrap_or_default());
        for _ in 0..MAX_NAMES {
            let name = generated_name(&prefix, random());
            match self.read_xr(&name).await {
                Ok(None) => return Ok(name),
                Ok(Some(_)) => {}
                Err(error) => {
                    let text = format!("cannot generate a name for composite resource: {}", error.text());
                    return Err(cannot_sync(&text));
                }
            }
        }
        let text = format!("cannot generate a name for composite resource: {MAX_NAMES} names were taken");
        Err(cannot_sync(&text))
    }
}

/// How much longer to wait for the first conditions of a new XR. Whatever the claim showed before them would change at
/// once, and cost a write.
fn wait_for_conditions(memory: &mut ClaimMemory, xr: &Object) -> Option<Duration> {
    let waited = memory.created?.elapsed();
    if Conditions::of(xr).iter().next().is_some() || waited >= FIRST_CONDITIONS_TIMEOUT {
        memory.created = None;
        return None;
    }
    Some(FIRST_CONDITIONS_TIMEOUT.saturating_sub(waited))
}

fn cannot_sync(why: &str) -> ReconcileError<ClaimFailure> {
    ClaimFailure::new(BIND, format!("cannot bind and sync claim with composite resource: {why}")).into()
}

fn failed(what: &str, error: &ApiError) -> ReconcileError<ClaimFailure> {
    let what = format!("cannot bind and sync claim with composite resource: {what}");
    ClaimFailure::api(BIND, &what, error)
}
