//! The controller of Compositions: every content gets a numbered revision, and every revision reports whether it can run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use backoff::Backoff;
use composition::catalogue::composition_of;
use composition::composition::Composition;
use composition::condition::{Condition, Conditions};
use composition::protocol::{ConditionStatus, Object};
use composition::revision::{self, Step};
use composition::{function, object};
use manifest::ObjectRef;
use serde_json::Value;

use super::engine::Engine;
use super::function::FunctionLocations;
use super::{MANAGER, Stores};
use crate::runtime::client::ApiError;
use crate::runtime::controller::{Action, ReconcileError, Reconciler};
use crate::runtime::events::{EventType, reference};
use crate::runtime::queue::Queue;
use crate::runtime::store::{Key, Store};

const COMPOSITIONS: &str = "revisions/composition.apiextensions.crossplane.io";
const REVISIONS: &str = "compositionrevision.apiextensions.crossplane.io";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// Its newest revision has to have its content.
    Composition(String),
    /// It has to report whether its functions can run.
    Revision(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Composition(name) => write!(f, "Composition {name}"),
            Self::Revision(name) => write!(f, "CompositionRevision {name}"),
        }
    }
}

/// Reconciles Compositions and their revisions.
pub(super) struct Revisions {
    engine: Arc<Engine>,
    locations: Arc<FunctionLocations>,
    composition_store: Store,
    revision_store: Store,
    pub(super) queue: Queue<Self>,
}

impl Reconciler for Revisions {
    type Key = Subject;
    type Memory = ();
    type Signals = ();
    type Error = String;

    const NAME: &'static str = "composition";
    const MAX_CONCURRENT_RECONCILES: usize = 8;
    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

    fn find(&self, subject: &Subject) -> Option<Arc<Value>> {
        match subject {
            Subject::Composition(name) => self.composition_store.get(&Key::cluster_scoped(name)),
            Subject::Revision(name) => self.revision_store.get(&Key::cluster_scoped(name)),
        }
    }

    async fn reconcile(
        self: &Arc<Self>,
        subject: &Subject,
        _object: Arc<Value>,
        _memory: &mut (),
    ) -> Result<Action, ReconcileError<String>> {
        let catalogue = &self.engine.catalogue;
        match subject {
            Subject::Composition(name) => {
                if let Some(composition) = catalogue.composition(name)
                    && self.engine.shard.selects(&composition.object)
                    && !object::is_being_deleted(&composition.object)
                {
                    self.revise(&composition).await?;
                }
            }
            Subject::Revision(name) => {
                if let Some(revision) = catalogue.revision(name)
                    && self.is_of_shard(&revision)
                    && !object::is_being_deleted(&revision.object)
                {
                    self.validate(&revision).await?;
                }
            }
        }
        Ok(Action::await_change())
    }
}

impl Revisions {
    pub(super) fn new(engine: Arc<Engine>, locations: Arc<FunctionLocations>, stores: &Stores) -> Self {
        let (composition_store, revision_store) = (stores.compositions.clone(), stores.revisions.clone());
        Self { engine, locations, composition_store, revision_store, queue: Queue::default() }
    }

    /// A revision belongs to the shard of its Composition.
    fn is_of_shard(&self, revision: &Composition) -> bool {
        let name = composition_of(&revision.object);
        let composition = name.and_then(|name| self.engine.catalogue.composition(name));
        self.engine.shard.selects(&composition.as_ref().unwrap_or(revision).object)
    }

    /// Makes sure that the newest revision of `composition` has its content.
    async fn revise(&self, composition: &Composition) -> Result<(), ApiError> {
        let name = object::name(&composition.object).unwrap_or_default();
        let revisions: Vec<Composition> = self.engine.catalogue.read().revisions(name).cloned().collect();
        for orphan in revision::unowned(&revisions) {
            let owned = self.edit(orphan, |revision| {
                let owner = object::controller_reference(&composition.object);
                let metadata = object::nested_mut(revision, &["metadata"]);
                match metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
                    Some(owners) => owners.push(owner),
                    None => {
                        metadata.insert("ownerReferences".to_owned(), Value::Array(vec![owner]));
                    }
                }
            });
            self.report(&composition.object, "UpdateRevision", owned.await)?;
        }
        match revision::next(composition, &revisions) {
            Step::Nothing => Ok(()),
            Step::Renumber { name, number } => {
                let renumbered = self.edit(&name, |revision| {
                    object::nested_mut(revision, &["spec"]).insert("revision".to_owned(), number.into());
                });
                self.report(&composition.object, "UpdateRevision", renumbered.await)
            }
            Step::Create(new) => {
                let created = self.report(&composition.object, "CreateRevision", self.create(&new).await)?;
                let message = "Created new revision";
                self.record(COMPOSITIONS, &composition.object, EventType::Normal, "CreateRevision", message);
                // Validated now and not when the watch delivers it: XRs wait for this.
                match self.engine.catalogue.revision(&created) {
                    Some(created) => self.validate(&created).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Creates a revision; its name.
    async fn create(&self, revision: &Object) -> Result<String, ApiError> {
        let client = &self.engine.client;
        let created = match client.create(revision, MANAGER).await {
            // Ours, from before a connection broke or from before the watch delivered it.
            Err(error) if error.is_already_exists() => {
                client.read(&ObjectRef::of(revision)?).await?.ok_or(error)?
            }
            created => created?,
        };
        self.engine.catalogue.revision_written(created);
        Ok(object::name(revision).unwrap_or_default().to_owned())
    }

    /// Changes the revision called `name` in the version that is known here.
    async fn edit(&self, name: &str, change: impl FnOnce(&mut Object)) -> Result<(), ApiError> {
        let Some(revision) = self.engine.catalogue.revision(name) else { return Ok(()) };
        let mut changed = revision.object;
        change(&mut changed);
        // Recorded ahead of the watch: the next number depends on it.
        self.engine.catalogue.revision_written(self.engine.client.replace(&changed, MANAGER).await?);
        Ok(())
    }

    /// Reports on a revision whether its functions can run in compositions.
    async fn validate(&self, revision: &Composition) -> Result<(), ApiError> {
        let now = self.engine.clock.now();
        let valid = function::valid_pipeline(revision, &self.locations.revisions(), now);
        let generation = object::generation(&revision.object);
        let before = Conditions::of(&revision.object);
        let mut conditions = before.clone();
        let synced = Condition::new("Synced", ConditionStatus::True, "ReconcileSuccess", now);
        conditions.set(synced.generation(generation));
        conditions.set(valid.clone().generation(generation));
        if conditions == before {
            return Ok(());
        }
        let mut changed = revision.object.clone();
        object::nested_mut(&mut changed, &["status"]).insert("conditions".to_owned(), conditions.to_value());
        self.engine.catalogue.revision_written(self.engine.client.replace_status(&changed, MANAGER).await?);
        let known = before.get(function::VALID_PIPELINE);
        if known.is_none_or(|known| (known.status, &known.message) != (valid.status, &valid.message)) {
            let (kind, message) = if valid.is_true() {
                (EventType::Normal, "All functions have required composition capability")
            } else {
                (EventType::Warning, valid.message.as_str())
            };
            self.record(REVISIONS, &revision.object, kind, "CheckCapabilities", message);
        }
        Ok(())
    }

    /// Records an error of a write on the Composition it was for.
    fn report<T>(
        &self,
        composition: &Object,
        reason: &str,
        outcome: Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        if let Err(error) = &outcome
            && !error.is_conflict()
        {
            self.record(COMPOSITIONS, composition, EventType::Warning, reason, &error.text());
        }
        outcome
    }

    fn record(&self, component: &'static str, about: &Object, kind: EventType, reason: &str, message: &str) {
        self.engine.events.recorder(component).record(reference(about), kind, reason, message);
    }
}
