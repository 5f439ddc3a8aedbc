//! What a pass writes between its functions and its status: garbage goes, references are stored, children are applied.

use std::collections::BTreeMap;

use cluster::Propagation;
use composition::composite::{Composite, refs_intent};
use composition::desired::{Composed, Rendered};
use composition::garbage::{Deletion, garbage};
use composition::health::{self, PassFailure, Stage};
use composition::intent::Applied;
use composition::naming::{COMPOSITE_MANAGER, composed_manager};
use composition::object;
use composition::readiness::{Child, ChildState};
use composition::run::{Object, State};
use composition::takeover::{hand_over_updates, has_applied};
use manifest::{GroupVersionKind, ObjectRef};
use serde_json::json;

use super::memory::Memory;
use super::{Composer, Stopped};
use crate::composition::MANAGER;
use crate::composition::writer::WriteError;

/// How often somebody else may be faster before a child is applied as it is.
const MOST_TAKE_OVERS: usize = 5;

impl Composer {
    /// What is to be applied for what the functions desire.
    pub(super) async fn render(
        &self,
        xr: &Object,
        observed: &BTreeMap<String, Object>,
        desired: &State,
    ) -> Result<Rendered, PassFailure> {
        let mut namespaced = BTreeMap::new();
        if object::namespace(xr).is_some() {
            for resource in desired.resources.values() {
                let Ok(gvk) = GroupVersionKind::of(&resource.object) else { continue };
                if let Ok(served) = self.engine.session.resource(&gvk).await {
                    namespaced.insert(gvk, served.namespaced);
                }
            }
        }
        composition::desired::render(xr, observed, desired, |kind| namespaced.get(kind).copied())
            .map_err(|error| PassFailure::engine(Stage::Compose, "Render", error.to_string()))
    }

    /// Deletes what is no longer desired. It comes before the references are stored, so that none is forgotten.
    pub(super) async fn collect(
        &self,
        xr: &Object,
        observed: &BTreeMap<String, Object>,
        desired: &BTreeMap<String, Composed>,
    ) -> Result<(), Stopped> {
        let what = "cannot garbage collect composed resources that are no longer desired";
        let uid = object::uid(xr).unwrap_or_default();
        let deletions = garbage(uid, observed, desired).map_err(|error| {
            PassFailure::engine(Stage::Compose, "ControlledByOther", format!("{what}: {error}"))
        })?;
        for deletion in deletions {
            if observed.get(&deletion.key).is_some_and(object::is_being_deleted) {
                continue;
            }
            self.delete(&deletion, what).await?;
        }
        Ok(())
    }

    async fn delete(&self, deletion: &Deletion, what: &str) -> Result<(), Stopped> {
        let (kind, name) = (deletion.object.kind(), &deletion.object.name);
        let named = format!("composed resource {:?} (a {kind} named {name})", deletion.key);
        if let Some(unlabelled) = &deletion.unlabelled {
            match self.engine.writer.replace(unlabelled, MANAGER).await {
                Err(error) if error.is_gone() => return Ok(()),
                outcome => outcome.map_err(|error| {
                    let text = format!("{what}: cannot cleanup composed resource labels of {named}");
                    Stopped::by(Stage::Compose, &text, &error)
                })?,
            };
        }
        let deleted =
            self.engine.writer.delete(&deletion.object, deletion.uid.clone(), Propagation::Foreground).await;
        deleted
            .map(|_| ())
            .map_err(|error| Stopped::by(Stage::Compose, &format!("{what}: cannot delete {named}"), &error))
    }

    /// Stores what the XR is composed of, before anything is created; the XR as it then is, if that was a write.
    pub(super) async fn refer(
        &self,
        xr: &Object,
        desired: &BTreeMap<String, Composed>,
    ) -> Result<Option<Object>, Stopped> {
        let composite = Composite::new(xr, self.layout);
        let intent = refs_intent(composite, desired.values().map(|composed| &composed.reference));
        let wanted = Composite::new(&intent, self.layout).field("resourceRefs").cloned();
        let nothing = json!([]);
        if composite.field("resourceRefs").unwrap_or(&nothing) == wanted.as_ref().unwrap_or(&nothing) {
            return Ok(None);
        }
        let answer = self.engine.writer.apply(&intent, COMPOSITE_MANAGER).await;
        let answer = answer.map_err(|error| {
            Stopped::by(Stage::Compose, "cannot update composed resource references", &error)
        })?;
        self.learned(&answer);
        Ok(Some(answer))
    }

    /// Applies every child that is not as desired, whatever becomes of the others.
    pub(super) async fn apply_children(
        &self,
        xr: &Object,
        memory: &mut Memory,
        desired: &BTreeMap<String, Composed>,
    ) -> Result<Vec<Child>, (Vec<Child>, Stopped)> {
        let manager = composed_manager(object::name(xr).unwrap_or_default(), &self.kind.composite);
        let known = &memory.applied;
        let mut applies = Vec::new();
        for (key, composed) in desired {
            let manager = &manager;
            applies.push(async move {
                let result = self.apply_child(composed, manager, known.get(&composed.reference)).await;
                (key, composed, result)
            });
        }
        // All at once: how many are on their way is limited where they are written.
        let results = futures::future::join_all(applies).await;
        let mut children = Vec::new();
        let mut failed: Vec<(&String, &ObjectRef, WriteError)> = Vec::new();
        let mut applied = std::collections::HashMap::new();
        for (key, composed, result) in results {
            let state = match result {
                Ok(child) => {
                    let trouble = health::trouble(&child.object);
                    applied.insert(composed.reference.clone(), child.applied);
                    children.push(Child {
                        key: key.clone(),
                        ready: composed.ready,
                        state: ChildState::Applied,
                        trouble,
                    });
                    continue;
                }
                Err(error) if error.is_invalid() => ChildState::Refused(error.refusal()),
                Err(error) => {
                    let (text, is_there) = (error.text(), self.known(&composed.reference).is_some());
                    failed.push((key, &composed.reference, error));
                    if is_there {
                        continue;
                    }
                    ChildState::Missing(text)
                }
            };
            children.push(Child { key: key.clone(), ready: composed.ready, state, trouble: None });
        }
        memory.applied = applied;
        let Some((key, reference, error)) = failed.first() else {
            memory.access.forget();
            return Ok(children);
        };
        let more = match failed.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let mut stopped =
            Stopped::by(Stage::Compose, &format!("cannot apply composed resource {key:?}{more}"), error);
        if let (Stopped::Failed(failure), true) = (&mut stopped, error.is_forbidden())
            && let Some(missing) = memory.access.missing(&self.engine.session, reference).await
        {
            failure.message = format!("{}; {missing}", failure.message);
        }
        Err((children, stopped))
    }

    async fn apply_child(
        &self,
        composed: &Composed,
        manager: &str,
        last: Option<&Applied>,
    ) -> Result<AppliedChild, WriteError> {
        let Composed { intent, reference, .. } = composed;
        let live = self.known(reference);
        let live = live.as_ref().and_then(|live| live.as_object());
        if let Some(live) = live {
            let last = last.copied().or_else(|| Applied::found(intent, live, manager));
            if let Some(applied) = last.filter(|last| last.still_holds(intent, live)) {
                return Ok(AppliedChild { object: live.clone(), applied });
            }
            if !has_applied(live, manager) {
                self.take_over_child(reference, intent, manager).await?;
            }
        }
        let answer = self.engine.writer.apply(intent, manager).await?;
        let applied = Applied::new(intent, &answer);
        self.learned_child(&answer);
        Ok(AppliedChild { object: answer, applied })
    }

    /// What an engine without server-side apply wrote into a child is held by us from now on.
    async fn take_over_child(
        &self,
        reference: &ObjectRef,
        intent: &Object,
        manager: &str,
    ) -> Result<(), WriteError> {
        for _ in 0..MOST_TAKE_OVERS {
            // The live copy leaves out what others hold.
            let Some(reply) = self.engine.session.read(reference).await? else { break };
            let Some(patch) = hand_over_updates(&object::from_value(reply.object), intent, manager) else {
                break;
            };
            match self.engine.writer.patch(intent, &patch, manager).await {
                // A test that fails says that somebody else was faster.
                Err(error) if error.is_invalid() => {}
                done => return done.map(|answer| self.learned_child(&answer)),
            }
        }
        Ok(())
    }
}

struct AppliedChild {
    object: Object,
    applied: Applied,
}
