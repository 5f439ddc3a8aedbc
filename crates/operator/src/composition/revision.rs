//! The controller of Compositions: each content gets a revision with a number, and each revision says whether it can run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cluster::{Class, Write};
use composition::composition::Composition;
use composition::condition::{Condition, Conditions};
use composition::revision::{self, Step};
use composition::run::{ConditionStatus, Object};
use composition::{function, object};
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::Value;

use super::MANAGER;
use super::engine::Engine;
use super::function::Places;
use super::writer::WriteError;
use crate::backoff;
use crate::events::{self, Tone};
use crate::work::{Next, Work};

/// As many Compositions as are gone over at once.
const AT_ONCE: usize = 8;
/// The waits after a pass that failed.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// The wait when somebody else was faster, and what they did is not known here yet.
const SOON: Duration = Duration::from_millis(100);

const COMPOSITIONS: &str = "revisions/composition.apiextensions.crossplane.io";
const REVISIONS: &str = "compositionrevision.apiextensions.crossplane.io";

/// What is gone over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// A Composition: has it a revision of its content, and is that the newest?
    Composition(String),
    /// A revision: can its functions run?
    Revision(String),
}

/// The controller of Compositions and their revisions.
pub(super) struct Revisions {
    engine: Arc<Engine>,
    places: Arc<Places>,
    failures: Mutex<HashMap<Subject, u32>>,
}

impl Revisions {
    /// The controller, with the functions that are installed.
    pub(super) fn new(engine: Arc<Engine>, places: Arc<Places>) -> Self {
        Self { engine, places, failures: Mutex::default() }
    }

    /// Goes over what `work` names until the engine stops.
    pub(super) async fn run(self, work: Work<Subject>) {
        let revisions = Arc::new(self);
        let stop = revisions.engine.stop.clone();
        let pass = move |subject: Subject| {
            let revisions = Arc::clone(&revisions);
            async move { revisions.pass(subject).await }
        };
        work.run(AT_ONCE, stop, pass).await;
    }

    async fn pass(&self, subject: Subject) -> Next {
        let outcome = match &subject {
            Subject::Composition(name) => match self.engine.catalogue.composition(name) {
                Some(composition) if !object::is_being_deleted(&composition.object) => {
                    self.revise(&composition).await
                }
                _ => Ok(()),
            },
            Subject::Revision(name) => match self.engine.catalogue.revision(name) {
                Some(revision) if !object::is_being_deleted(&revision.object) => {
                    self.validate(&revision).await
                }
                _ => Ok(()),
            },
        };
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(()) => {
                failures.remove(&subject);
                Next::Idle
            }
            Err(error) if error.is_outdated() => Next::In(SOON),
            Err(error) => {
                tracing::warn!(?subject, why = error.text(), "a Composition has to wait");
                let count = failures.entry(subject).or_default();
                *count += 1;
                Next::In(backoff::pause(*count, FIRST_RETRY, LONGEST_RETRY))
            }
        }
    }

    /// Sees to it that the newest revision of `composition` holds what it says.
    async fn revise(&self, composition: &Composition) -> Result<(), WriteError> {
        let name = object::name(&composition.object).unwrap_or_default();
        let revisions = self.engine.catalogue.revisions(name);
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
            self.told(&composition.object, "UpdateRevision", owned.await)?;
        }
        match revision::next(composition, &revisions) {
            Step::Nothing => Ok(()),
            Step::Renumber { name, number } => {
                let renumbered = self.edit(&name, |revision| {
                    object::nested_mut(revision, &["spec"]).insert("revision".to_owned(), number.into());
                });
                self.told(&composition.object, "UpdateRevision", renumbered.await)
            }
            Step::Create(new) => {
                let created = self.told(&composition.object, "CreateRevision", self.create(*new).await)?;
                let message = "Created new revision";
                self.tell(COMPOSITIONS, &composition.object, Tone::Normal, "CreateRevision", message);
                // Its XRs wait for this, so it is not put off until the watch has told of the new revision.
                match self.engine.catalogue.revision(&created) {
                    Some(created) => self.validate(&created).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Creates a revision; its name.
    async fn create(&self, revision: Object) -> Result<String, WriteError> {
        let target = ObjectRef::of(&revision)?;
        let created = self.engine.session.create(&target, &Value::Object(revision), Write::by(MANAGER)).await;
        let created = match created {
            // Ours, from before a connection broke or before the watch has told of it.
            Err(error) if error.class() == Class::AlreadyExists => {
                match self.engine.session.read(&target).await? {
                    Some(there) => there,
                    None => return Err(error.into()),
                }
            }
            created => created?,
        };
        self.engine.catalogue.revision_written(object::from_value(created.object));
        Ok(target.name)
    }

    /// Changes the revision called `name` as it is known here, unless it has changed since.
    async fn edit(&self, name: &str, change: impl FnOnce(&mut Object)) -> Result<(), WriteError> {
        let Some(revision) = self.engine.catalogue.revision(name) else { return Ok(()) };
        let mut changed = revision.object;
        change(&mut changed);
        // Taken in ahead of the watch: the next number depends on it.
        self.engine.catalogue.revision_written(self.engine.writer.replace(&changed, MANAGER).await?);
        Ok(())
    }

    /// Says on a revision whether its functions can run in compositions.
    async fn validate(&self, revision: &Composition) -> Result<(), WriteError> {
        let now = Timestamp::now();
        let valid = function::valid_pipeline(revision, &self.places.revisions(), now);
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
        self.engine.catalogue.revision_written(self.engine.writer.replace_status(&changed, MANAGER).await?);
        let known = before.get(function::VALID_PIPELINE);
        if known.is_none_or(|known| (known.status, &known.message) != (valid.status, &valid.message)) {
            let (tone, message) = if valid.is_true() {
                (Tone::Normal, "All functions have required composition capability")
            } else {
                (Tone::Warning, valid.message.as_str())
            };
            self.tell(REVISIONS, &revision.object, tone, "CheckCapabilities", message);
        }
        Ok(())
    }

    /// An error of a write for `composition` is told there.
    fn told<T>(
        &self,
        composition: &Object,
        reason: &str,
        outcome: Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        if let Err(error) = &outcome
            && !error.is_outdated()
        {
            self.tell(COMPOSITIONS, composition, Tone::Warning, reason, &error.text());
        }
        outcome
    }

    fn tell(&self, component: &'static str, about: &Object, tone: Tone, reason: &str, message: &str) {
        let reference = events::reference(&Value::Object(about.clone()));
        self.engine.events.recorder(component).record(reference, tone, reason, message);
    }
}
