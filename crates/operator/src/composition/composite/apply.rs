//! What a reconcile writes between the functions and the status: garbage is deleted, references are stored, composed
//! resources are applied.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{PatchType, Propagation};
use composition::composite::{Composite, refs_intent};
use composition::desired::Composed;
use composition::garbage_collection::{Deletion, undesired, without_labels};
use composition::health::{self, ReconcileFailure, Stage};
use composition::intent::Applied;
use composition::naming::{COMPOSITE_MANAGER, composed_manager};
use composition::object;
use composition::protocol::Object;
use composition::readiness::{Child, ChildState};
use composition::takeover::{hand_over_updates, has_applied};
use manifest::ObjectRef;
use serde_json::json;
use tokio::time::Instant;

use super::memory::XrMemory;
use super::{Composer, Result, failed};
use crate::composition::MANAGER;
use crate::composition::pass::Actor;
use crate::composition::recording::{Recorder, Writing, WritingKind};
use crate::runtime::client::{ApiError, ObjectClient, Part};
use crate::runtime::controller::ReconcileError;
use crate::runtime::store::Key;

/// How often taking over a composed resource is retried before it is applied anyway.
const MAX_TAKE_OVERS: usize = 5;

impl Composer {
    /// Deletes what is no longer desired, before the references are stored, so that none is forgotten.
    pub(super) async fn collect(
        &self,
        xr: &Object,
        observed: &BTreeMap<String, Object>,
        desired: &BTreeMap<String, Composed>,
        actor: &Actor,
        recorder: Option<&Recorder>,
    ) -> Result<()> {
        let what = "cannot garbage collect composed resources that are no longer desired";
        let uid = object::uid(xr).unwrap_or_default();
        let deletions = undesired(uid, observed, desired).map_err(|error| {
            ReconcileFailure::engine(Stage::Compose, "ControlledByOther", format!("{what}: {error}"))
        })?;
        for deletion in deletions {
            match observed.get(&deletion.key) {
                Some(child) if !object::is_being_deleted(child) => {
                    let began = Instant::now();
                    delete(&deletion, child, what, &actor.client).await?;
                    if let Some(recorder) = recorder {
                        let Deletion { key, object, .. } = &deletion;
                        let (took, outcome) = (began.elapsed(), WritingKind::Deleted);
                        recorder.written(Writing::new(key, object, outcome, took, None));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Stores references to all composed resources before any is created; the XR as it then is, if it was written.
    pub(super) async fn store_references(
        &self,
        xr: &Object,
        desired: &BTreeMap<String, Composed>,
    ) -> Result<Option<Object>> {
        let composite = Composite::new(xr, self.layout);
        let intent = refs_intent(composite, desired.values().map(|composed| &composed.reference));
        let wanted = Composite::new(&intent, self.layout).field("resourceRefs").cloned();
        let nothing = json!([]);
        if composite.field("resourceRefs").unwrap_or(&nothing) == wanted.as_ref().unwrap_or(&nothing) {
            return Ok(None);
        }
        let answer = self.engine.client.apply_to(xr, &intent, COMPOSITE_MANAGER).await;
        let answer = answer
            .map_err(|error| failed(Stage::Compose, "cannot update composed resource references", &error))?;
        self.record_write(&answer);
        Ok(Some(answer))
    }

    /// Applies all composed resources that are not as desired, even if some fail.
    pub(super) async fn apply_children(
        &self,
        key: &Key,
        xr: &Object,
        memory: &mut XrMemory,
        desired: &BTreeMap<String, Composed>,
        actor: &Actor,
        recorder: Option<&Recorder>,
    ) -> (Vec<Child>, Result<()>) {
        let manager = composed_manager(object::name(xr).unwrap_or_default(), &self.kind.composite);
        let last = &memory.applied;
        let mut applies = Vec::new();
        for (name, composed) in desired {
            let manager = &manager;
            applies.push(async move {
                let last = last.get(&composed.reference);
                let began = Instant::now();
                let applied = self.apply_child(key, composed, manager, last, &actor.client).await;
                if let Some(recorder) = recorder {
                    recorder.written(writing(name, composed, &applied, began.elapsed()));
                }
                (name, composed, applied)
            });
        }
        // All at once: the client limits concurrent writes.
        let results = futures::future::join_all(applies).await;
        let mut children = Vec::new();
        let mut failures: Vec<(&String, &ObjectRef, ApiError)> = Vec::new();
        let mut applied = std::collections::HashMap::new();
        for (name, composed, result) in results {
            let state = match result {
                Ok(child) => {
                    let problem = health::problem(&child.object);
                    applied.insert(composed.reference.clone(), child.applied);
                    children.push(Child {
                        key: name.clone(),
                        ready: composed.ready,
                        state: ChildState::Applied,
                        problem,
                    });
                    continue;
                }
                Err(error) if error.is_invalid() => ChildState::Refused(health::refusal(error.causes())),
                Err(error) => {
                    let (text, is_there) = (error.text(), self.child(&composed.reference).is_some());
                    failures.push((name, &composed.reference, error));
                    if is_there {
                        continue;
                    }
                    ChildState::Missing(text)
                }
            };
            children.push(Child { key: name.clone(), ready: composed.ready, state, problem: None });
        }
        memory.applied = applied;
        let Some((name, reference, error)) = failures.first() else {
            memory.permissions.clear();
            return (children, Ok(()));
        };
        let more = match failures.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let mut failed =
            failed(Stage::Compose, &format!("cannot apply composed resource {name:?}{more}"), error);
        if let (ReconcileError::Failed(failure), true) = (&mut failed, error.is_forbidden())
            && let Some(missing) = memory.permissions.missing(actor, reference).await
        {
            failure.message = format!("{}; {missing}", failure.message);
        }
        (children, Err(failed))
    }

    async fn apply_child(
        &self,
        xr: &Key,
        composed: &Composed,
        manager: &str,
        last: Option<&Applied>,
        client: &ObjectClient,
    ) -> std::result::Result<AppliedChild, ApiError> {
        let Composed { intent, reference, .. } = composed;
        let live = self.child(reference);
        let live = live.as_ref().and_then(|live| live.as_object());
        if let Some(live) = live {
            let last = last.copied().or_else(|| Applied::found(intent, live, manager));
            if let Some(applied) = last.filter(|last| last.still_holds(intent, live)) {
                return Ok(AppliedChild { object: live.clone(), applied, is_sent: false });
            }
            if !has_applied(live, manager) {
                self.take_over_child(xr, reference, intent, manager, client).await?;
            }
        }
        let answer = client.apply(intent, manager).await?;
        let applied = Applied::new(intent, &answer);
        self.record_child_write(xr, &answer);
        Ok(AppliedChild { object: answer, applied, is_sent: true })
    }

    /// Takes over the fields that an engine without server-side apply wrote.
    async fn take_over_child(
        &self,
        xr: &Key,
        reference: &ObjectRef,
        intent: &Object,
        manager: &str,
        client: &ObjectClient,
    ) -> std::result::Result<(), ApiError> {
        for _ in 0..MAX_TAKE_OVERS {
            // The store drops the managedFields of other managers.
            let Some(live) = self.engine.client.read(reference).await? else { break };
            let Some(patch) = hand_over_updates(&live, intent, manager) else {
                break;
            };
            match client.patch(intent, PatchType::Json, &patch, manager).await {
                // A failed `test` operation means that another writer was first.
                Err(error) if error.is_invalid() => {}
                done => return done.map(|answer| self.record_child_write(xr, &answer)),
            }
        }
        Ok(())
    }
}

/// Deletes garbage, after the labels that tie it to the XR.
async fn delete(deletion: &Deletion, child: &Object, what: &str, client: &ObjectClient) -> Result<()> {
    let (kind, name) = (deletion.object.kind(), &deletion.object.name);
    let named = format!("composed resource {:?} (a {kind} named {name})", deletion.key);
    client.edit(child.clone(), Part::Whole, MANAGER, without_labels).await.map_err(|error| {
        let text = format!("{what}: cannot cleanup composed resource labels of {named}");
        failed(Stage::Compose, &text, &error)
    })?;
    let uid = deletion.uid.as_deref();
    let deleted = client.delete(&deletion.object, uid, None, Propagation::Foreground).await;
    deleted
        .map(|_| ())
        .map_err(|error| failed(Stage::Compose, &format!("{what}: cannot delete {named}"), &error))
}

struct AppliedChild {
    object: Object,
    applied: Applied,
    /// Whether there was anything to send.
    is_sent: bool,
}

/// What became of a composed resource, for a recording.
fn writing(
    key: &str,
    composed: &Composed,
    applied: &std::result::Result<AppliedChild, ApiError>,
    took: Duration,
) -> Writing {
    let (outcome, error) = match applied {
        Ok(child) if child.is_sent => (WritingKind::Applied, None),
        Ok(_) => (WritingKind::Unchanged, None),
        Err(error) => (WritingKind::Refused, Some(error.text())),
    };
    Writing::new(key, &composed.reference, outcome, took, error)
}
