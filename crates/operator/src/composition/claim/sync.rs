//! Keeps a claim and its XR in step: first the claim names its XR, then the XR is applied, then the claim shows its state.

use std::time::Duration;

use composition::claim::{composite_name, is_bound, status, sync};
use composition::composite::{Composite, Layout};
use composition::condition::{Condition, Conditions, READY};
use composition::event::Event;
use composition::health::claim_error_text;
use composition::intent::{Applied, is_apply_owed};
use composition::naming::{CLAIM_MANAGER, generated_name};
use composition::object;
use composition::run::Object;
use composition::takeover::hand_over_updates;
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::deletion::FINALIZER;
use super::pass::{BIND, Stopped, shows};
use super::{Binder, Memory};
use crate::composition::composite::random;
use crate::composition::writer::{WriteError, said};
use crate::composition::{MANAGER, finalizer};
use crate::store::Key;
use crate::work::Next;

/// How long an XR may take until it says something for the first time.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many names are tried for an XR.
const MOST_NAMES: usize = 10;

impl Binder {
    /// Brings claim and XR in step.
    pub(super) async fn bring_in_step(
        &self,
        claim: &Object,
        xr: Option<Object>,
        memory: &mut Memory,
    ) -> Result<Next, Stopped> {
        let was_bound = xr.as_ref().is_some_and(|xr| is_bound(claim, xr));
        let name = match composite_name(claim) {
            Some(name) => name.to_owned(),
            None => self.free_name(claim).await?,
        };
        let enforced = self.kind.definition.spec.enforced_composition_ref.is_some();
        let xr_ref = ObjectRef::new(self.kind.composite.clone(), None, name);
        let synced =
            sync(claim, xr.as_ref(), &xr_ref, enforced).map_err(|error| cannot_sync(&error.to_string()))?;
        let mut claim = synced.claim;
        if synced.claim_changed || !finalizer::is_on(&claim, FINALIZER) {
            finalizer::put_on(&mut claim, FINALIZER);
            let answer = self.engine.writer.replace(&claim, MANAGER).await;
            claim = answer.map_err(|error| failed("cannot update claim", &error))?;
            self.learned(&claim);
        }
        let is_new = xr.is_none();
        let xr = self.take_over(xr, &synced.composite).await?;
        if let (Some(xr), None) = (&xr, &memory.applied) {
            memory.applied = Applied::found(&synced.composite, xr, CLAIM_MANAGER);
        }
        let xr = match xr {
            Some(xr) if !is_apply_owed(&synced.composite, memory.applied.as_ref(), Some(&xr)) => xr,
            _ => {
                let answer = self.engine.writer.apply(&synced.composite, CLAIM_MANAGER).await;
                let answer = answer.map_err(|error| failed("cannot apply composite resource", &error))?;
                memory.applied = Some(Applied::new(&synced.composite, &answer));
                self.xrs.store.learned(Value::Object(answer.clone()));
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
        self.show(&claim, &xr, memory, events).await
    }

    /// What an engine without server-side apply wrote into the XR for the claim is held by the claim from now on.
    async fn take_over(&self, xr: Option<Object>, intent: &Object) -> Result<Option<Object>, Stopped> {
        let Some(patch) = xr.as_ref().and_then(|xr| hand_over_updates(xr, intent, CLAIM_MANAGER)) else {
            return Ok(xr);
        };
        match self.engine.writer.patch(intent, &patch, CLAIM_MANAGER).await {
            Ok(released) => {
                self.xrs.store.learned(Value::Object(released.clone()));
                Ok(Some(released))
            }
            // A test that fails says that somebody else was faster.
            Err(error) if error.is_invalid() => Err(Stopped::Outdated),
            Err(error) => Err(failed("cannot take over composite resource", &error)),
        }
    }

    /// Shows the user what the XR has to say.
    async fn show(
        &self,
        claim: &Object,
        xr: &Object,
        memory: &mut Memory,
        mut events: Vec<Event>,
    ) -> Result<Next, Stopped> {
        if let Some(wait) = patience(memory, xr) {
            self.tell(claim, memory, events, false).await;
            return Ok(Next::In(wait));
        }
        let now = Timestamp::now();
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
        let stands = shows(claim, &shown);
        self.write_status(claim, shown).await?;
        self.tell(claim, memory, events, stands).await;
        Ok(Next::Idle)
    }

    /// A name for the XR of `claim` that the API server says is free.
    async fn free_name(&self, claim: &Object) -> Result<String, Stopped> {
        let prefix = format!("{}-", object::name(claim).unwrap_or_default());
        for _ in 0..MOST_NAMES {
            let name = generated_name(&prefix, random());
            let key = Key { namespace: None, name: name.clone() };
            match self.engine.session.read(&key.reference(&self.kind.composite)).await {
                Ok(None) => return Ok(name),
                Ok(Some(_)) => {}
                Err(error) => {
                    let text = format!("cannot generate a name for composite resource: {}", said(&error));
                    return Err(cannot_sync(&text));
                }
            }
        }
        let text = format!("cannot generate a name for composite resource: {MOST_NAMES} names were taken");
        Err(cannot_sync(&text))
    }
}

/// How long an XR that was just created may take until it says something. Before, there is nothing to show that is not
/// about to change, and a write that nobody reads costs as much as one that somebody does.
fn patience(memory: &mut Memory, xr: &Object) -> Option<Duration> {
    let waited = memory.created?.elapsed();
    if Conditions::of(xr).iter().next().is_some() || waited >= PATIENCE {
        memory.created = None;
        return None;
    }
    Some(PATIENCE.saturating_sub(waited))
}

fn cannot_sync(why: &str) -> Stopped {
    Stopped::Failed {
        reason: BIND,
        text: format!("cannot bind and sync claim with composite resource: {why}"),
    }
}

fn failed(what: &str, error: &WriteError) -> Stopped {
    let what = format!("cannot bind and sync claim with composite resource: {what}");
    Stopped::by(BIND, &what, error)
}
