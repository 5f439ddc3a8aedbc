//! Establishing an XRD: its CRDs are applied, and controllers run once they are served.

use std::time::Duration;

use cluster::PatchType;
use composition::definition::Definition;
use composition::object;
use composition::protocol::Object;
use composition::{crd, intent, takeover};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use manifest::ObjectRef;
use serde_json::Value;

use super::status::{self, Status};
use super::{Definitions, Reconcile, Result, Role};
use crate::composition::kinds::Kind;
use crate::runtime::controller::{Action, Reconciler as _};
use crate::runtime::events::EventType;

/// How soon to check whether an administrator has granted what is missing, which no watch of this controller reports.
const GRANT_INTERVAL: Duration = Duration::from_secs(5);
const CRD_MANAGER: &str = "apiextensions.crossplane.io/definition";

/// The state of a CRD.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CrdState {
    Established,
    /// It will be established; that change of the CRD enqueues the XRD.
    Pending,
    /// The XRD does not yield a CRD.
    Invalid,
    /// It is not of this XRD, so it is left alone. No watch reports when that changes.
    Foreign,
    /// The API server rejects it. A change of the XRD is seen; other remedies are not.
    Rejected,
}

impl Reconcile<'_> {
    pub(super) async fn establish(&mut self, definition: &Definition) -> Result<Action> {
        let roles = Role::of(definition);
        self.set_finalizers(&roles, true, "cannot add composite resource finalizer").await?;
        let mut status = Status::of(&self.xrd, self.definitions.engine.clock.now());
        // Both CRDs are applied before either is waited for.
        let mut crds = Vec::new();
        for role in roles {
            crds.push((role, self.apply_crd(definition, role, &mut status).await?));
        }
        for (role, _) in crds.iter().filter(|(_, state)| *state == CrdState::Foreign) {
            self.definitions.kinds.stop(*role, object::name(&self.xrd).unwrap_or_default()).await;
        }
        let established = crds.iter().filter(|(_, state)| *state == CrdState::Established);
        let mut established: Vec<Role> = established.map(|(role, _)| *role).collect();
        let is_refused = |state: &CrdState| matches!(state, CrdState::Rejected | CrdState::Invalid);
        let refused: Vec<Role> =
            crds.iter().filter(|(_, state)| is_refused(state)).map(|(role, _)| *role).collect();
        let mut standing = None;
        if !refused.is_empty() {
            let (definition, served) = self.standing(definition).await?;
            established.extend(served.into_iter().filter(|role| refused.contains(role)));
            standing = Some(definition);
        }
        let definition = standing.as_ref().unwrap_or(definition);
        let mut missing = None;
        if !established.is_empty() {
            missing = self.grant(definition, &established).await;
        } else if !status.is_established() {
            self.revoke().await;
        }
        for role in established {
            match &missing {
                None if refused.contains(&role) => self.start_upheld(definition, role).await,
                None => self.start_controller(definition, role, &mut status).await,
                Some(why) => {
                    status.failed(role, role.words().establish, why);
                    self.event(role, EventType::Warning, role.words().establish, why);
                }
            }
        }
        self.write_status(status).await?;
        if missing.is_some() {
            return Ok(Action::requeue(GRANT_INTERVAL));
        }
        let is_stuck = crds.iter().any(|(_, state)| matches!(state, CrdState::Foreign | CrdState::Rejected));
        Ok(if is_stuck { Action::requeue(Definitions::BACKOFF.max()) } else { Action::await_change() })
    }

    async fn apply_crd(
        &mut self,
        definition: &Definition,
        role: Role,
        status: &mut Status,
    ) -> Result<CrdState> {
        let words = role.words();
        let Some(rendered) = role.crd(definition) else { return Ok(CrdState::Invalid) };
        let crd = match without_unknown_fields(rendered) {
            Ok(crd) => crd,
            Err(why) => {
                let message = format!("cannot render {} CustomResourceDefinition: {why}", words.noun);
                status.failed(role, "RenderCRD", &message);
                self.event(role, EventType::Warning, "RenderCRD", message);
                return Ok(CrdState::Invalid);
            }
        };
        let doing = format!("cannot apply rendered {} CustomResourceDefinition", words.noun);
        let engine = &self.definitions.engine;
        let read = async { engine.client.read(&ObjectRef::of(&crd)?).await };
        let mut live = self.check(read.await, role, &doing)?;
        if let Some(why) = live.as_ref().and_then(|live| foreign(live, &crd, &self.xrd)) {
            let message = format!("{doing}: {why}");
            status.lost(role, words.establish, &message);
            self.event(role, EventType::Warning, words.establish, message);
            return Ok(CrdState::Foreign);
        }
        if let Some(fold) = live.as_ref().and_then(|live| takeover::fold_updates(live, CRD_MANAGER, "")) {
            let folded = engine.client.patch(&crd, PatchType::Json, &fold, CRD_MANAGER).await;
            live = Some(self.check(folded, role, &doing)?);
        }
        if let (Some(live), None) = (&live, self.memory.applied.get(&role))
            && let Some(found) = intent::Applied::found(&crd, live, CRD_MANAGER)
        {
            self.memory.applied.insert(role, found);
        }
        let current = match live {
            Some(live) if !intent::is_apply_owed(&crd, self.memory.applied.get(&role), Some(&live)) => live,
            live => match self.apply(&crd, live.as_ref(), role, &doing).await? {
                Ok(applied) => applied,
                Err(rejection) => {
                    status.failed(role, words.establish, &rejection);
                    self.event(role, EventType::Warning, words.establish, rejection);
                    return Ok(CrdState::Rejected);
                }
            },
        };
        if status::is_established(&current) {
            return Ok(CrdState::Established);
        }
        let message = format!("waiting for {} CustomResourceDefinition to be established", words.noun);
        self.event(role, EventType::Normal, words.establish, message);
        Ok(CrdState::Pending)
    }

    /// Applies a CRD; the response, or why the API server rejects it.
    async fn apply(
        &mut self,
        crd: &Object,
        live: Option<&Object>,
        role: Role,
        doing: &str,
    ) -> Result<std::result::Result<Object, String>> {
        let words = role.words();
        let applied = match self.definitions.engine.client.apply(crd, CRD_MANAGER).await {
            Err(error) if error.is_invalid() => return Ok(Err(format!("{doing}: {}", error.text()))),
            applied => self.check(applied, role, doing)?,
        };
        self.memory.applied.insert(role, intent::Applied::new(crd, &applied));
        if object::resource_version(&applied) != live.and_then(object::resource_version) {
            let name = object::name(crd).unwrap_or_default();
            let message = format!("Applied {} CustomResourceDefinition: {name}", words.noun);
            self.event(role, EventType::Normal, words.establish, message);
        }
        Ok(Ok(applied))
    }

    /// Makes sure that a controller runs for this version of the XRD.
    async fn start_controller(&mut self, definition: &Definition, role: Role, status: &mut Status) {
        let Some(objects) = role.objects(definition).cloned() else { return };
        let kind = self.kind(definition);
        let before = status::watched_generation(&self.xrd, role);
        let was_running = self.definitions.kinds.is_running(role, kind.name()).await;
        let started = self.definitions.kinds.start(role, kind).await;
        if started && was_running && before.is_some() && before != object::generation(&self.xrd) {
            let message = "XRD specification changed; restarting controller to apply updates";
            self.event(role, EventType::Normal, "RestartComposite", message);
        }
        status.watching(role, &objects);
    }

    /// What controllers see of the XRD as it is now.
    pub(super) fn kind(&self, definition: &Definition) -> Kind {
        Kind::new(Definition { object: self.xrd.clone(), ..definition.clone() })
    }
}

/// Why `live` is not a CRD of `xrd`, which would make it `rendered`.
///
/// Taking over the CRD of a user would change its schema, and deleting the XRD would then delete the user's objects.
fn foreign(live: &Object, rendered: &Object, xrd: &Object) -> Option<String> {
    let name = object::name(live).unwrap_or_default();
    let uid = object::uid(xrd).unwrap_or_default();
    match object::controller(live) {
        Some(controller) if controller.uid == uid => None,
        Some(other) => Some(format!(
            "existing object is not controlled by UID {uid:?}, but by {} {:?}",
            other.kind, other.name
        )),
        None if crd::is_generated(live, rendered) => None,
        None => Some(format!(
            "CustomResourceDefinition {name} exists, and no CompositeResourceDefinition defined it. Use another group or \
             other names here"
        )),
    }
}

/// Crossplane's types drop fields of schemas that a CRD does not know; an apply with them would be rejected.
fn without_unknown_fields(crd: Object) -> std::result::Result<Object, String> {
    let read: CustomResourceDefinition =
        serde_json::from_value(Value::Object(crd)).map_err(|error| error.to_string())?;
    serde_json::to_value(read).map(object::from_value).map_err(|error| error.to_string())
}
