//! Creates and updates: sends what was planned, and stores the result.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Error, ErrorKind, Reply, Write};
use diag::Diagnostic;
use fields::IgnoreFields;
use manifest::ObjectRef;
use ownership::{Baseline, Desired, Entry, FieldManager, Handover, ManagedFieldsError, Observed};
use serde_json::Value as Json;
use tfplugin::CancellationToken;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::ApplyResponse;
use tfplugin::value::{Object, Value};
use tokio::sync::OwnedMutexGuard;

use super::annotations::{self, OwnerAnnotations};
use super::decide::projection_failed;
use super::{MANAGER, NO_CLIENT, attributes, existing, manager, rejected, wait_for, write_only};
use crate::body::Body;
use crate::clusters::Cluster;
use crate::context::Context;
use crate::planned_change::{PlannedChange, set_unknown};
use crate::private::{
    IMPORTED, Keys as _, LAST_ANSWER, MOVED_FROM, PENDING_PROJECTION, STALE_READ, WRITE_ONLY,
};
use crate::projection::{self, MANAGERS, Maps, VALUES};
use crate::write_only::{Configured, Revealed, WriteOnly, all_marks, hidden, show, stored};
use crate::{cluster_identity, codes, identity, stop};

/// How long to wait for a response after Terraform stops the provider: without it, a created object is not recorded.
const GRACE: Duration = Duration::from_secs(5);

/// The resource version of a create. No object has it, so the API server rejects the apply if there is an object by
/// now, whichever manager holds its fields; it is ignored if there is none.
const NO_VERSION: &str = "1";

/// Creates the object, or updates the one that the state has.
pub(super) async fn apply(
    context: &Context,
    change: PlannedChange,
    stop: &CancellationToken,
) -> ApplyResponse {
    if !concerns_object(&change) {
        return keep(context, change, stop).await;
    }
    // Nothing has been sent yet, so stopping at once is safe.
    let prepared =
        stop::run_unless_stopped(stop, Duration::ZERO, ObjectApply::prepare(context, &change)).await;
    let mut object = match prepared.unwrap_or_else(|| Err(interrupted(&change, None).into())) {
        Ok(object) => object,
        Err(diagnostics) => return change.failed(diagnostics),
    };
    let sent = object.send(&change, stop).await;
    // Even without a response: the server may have carried it out.
    object.cluster.invalidate(&object.target);
    drop(object.creation_lock.take());
    match sent {
        Ok(reply) => object.finish(change, reply, stop).await,
        Err(diagnostic) => change.failed(*diagnostic),
    }
}

/// Whether there is something to send, rather than a change of the connection, a timeout or a policy alone.
fn concerns_object(change: &PlannedChange) -> bool {
    const ATTRIBUTES: [&str; 6] =
        ["yaml_body", "ignore_fields", VALUES, MANAGERS, "object_ref", write_only::NAMES.version];
    let private = &change.private;
    let owed = [IMPORTED, STALE_READ, PENDING_PROJECTION].iter().any(|flag| private.flag(flag));
    owed || private.has(MOVED_FROM) || change.changes(ATTRIBUTES)
}

/// Changes the state, and nothing in the cluster.
async fn keep(context: &Context, change: PlannedChange, stop: &CancellationToken) -> ApplyResponse {
    let found = context.known_cluster(change.planned.get("cluster"), NO_CLIENT);
    let (cluster, target) = match (found, attributes::target(&change.planned)) {
        (Ok(cluster), Some(target)) => (cluster, target),
        (Err(unusable), _) => return change.failed(*unusable),
        (_, None) => return change.failed(Diagnostics::new()),
    };
    let PlannedChange { prior, planned, mut private, .. } = change;
    cluster.mark_ours(&target);
    cluster_identity::store(&mut private, &cluster).await;
    let mut state = planned.clone();
    let what = (prior.as_ref(), &planned, false);
    let unmet = wait_for::complete(cluster.session(), &target, what, (&mut state, &mut private), stop).await;
    let diagnostics = unmet.into_iter().collect();
    ApplyResponse { state: Some(state), private, identity: Some(identity::of(&target)), diagnostics }
}

/// An object to apply, and its cluster.
struct ObjectApply {
    cluster: Arc<Cluster>,
    body: Body,
    write_only: Option<WriteOnly>,
    ignored: IgnoreFields,
    target: ObjectRef,
    /// Whether the kind, and thus its scope, was unknown when the target was built.
    provisional: bool,
    id: String,
    /// Prevents other resources from creating the same object meanwhile.
    creation_lock: Option<OwnedMutexGuard<()>>,
}

impl ObjectApply {
    async fn prepare(context: &Context, change: &PlannedChange) -> Result<Self, Diagnostics> {
        let planned = &change.planned;
        let text = planned.text("yaml_body").unwrap_or_default();
        if text.is_empty() {
            let empty = Diagnostic::error(codes::EMPTY_BODY, "Invalid Configuration")
                .detail("The yaml_body attribute cannot be empty: there is no object to apply.")
                .hint("Set yaml_body to the object in YAML.");
            return Err(empty.into());
        }
        let mut body = Body::parse(text)?;
        let write_only = match write_only::of(change, &mut body)? {
            Configured::Known(write_only) => Some(write_only),
            // Nothing is unknown at apply.
            Configured::Absent | Configured::Unknown => None,
        };
        let cluster = context.known_cluster(planned.get("cluster"), NO_CLIENT)?;
        let (target, provisional) = match cluster.session().resource(&body.gvk).await {
            Ok(resource) => (body.target(resource.namespaced), false),
            // This run may create the kind; then its scope is known as well.
            Err(error) if matches!(error.kind(), ErrorKind::KindMissing(_)) => (body.target(true), true),
            Err(error) => return Err(error.diagnostic(operation(change)).into()),
        };
        let mut creation_lock = None;
        if change.is_create() {
            creation_lock = Some(cluster.lock_creation(&target).await);
            existing::ensure_absent(&cluster, &target, planned).await?;
        }
        // Fetched before the write, so that nothing can fail between the write and its record.
        let _prefetched = cluster.uid().await;
        let id = change.prior.as_ref().and_then(|prior| prior.text("id"));
        let id = id.map_or_else(annotations::new_id, str::to_owned);
        Ok(Self {
            cluster,
            body,
            write_only,
            ignored: attributes::ignored(planned),
            target,
            provisional,
            id,
            creation_lock,
        })
    }

    async fn send(&self, change: &PlannedChange, stop: &CancellationToken) -> Result<Reply, Box<Diagnostic>> {
        let operation = operation(change);
        let failed = |error: &Error| Box::new(error.diagnostic(operation));
        let manager = manager();
        let (mut sent, live) = if change.is_create() {
            // A create gives ignored fields their initial value.
            (self.body.value.clone(), None)
        } else {
            let live = self.cluster.cached_or_read(&self.target).await.map_err(|error| failed(&error))?;
            let live = live.map(Observed::new).transpose();
            let live = live.map_err(|error| Box::new(projection_failed(&self.target, &error)))?;
            if let Some(live) = &live {
                let (now, stored) = (self.write_only.as_ref(), stored(&change.private));
                change.hidden.add_live(live, all_marks(now, stored, live.schema()).as_ref());
            }
            let live = self.hand_over(live, &change.private).await.map_err(|error| failed(&error))?;
            (plan::body_to_send(&self.desired(&manager), live.as_ref()), live)
        };
        if let Some(write_only) = &self.write_only
            && write_only.reveal(&mut sent, live.as_ref(), &self.desired(&manager)) != Revealed::Everything
        {
            return Err(Box::new(unknown_values(&self.target)));
        }
        let created_at = live.as_ref().and_then(|live| annotations::created_at_of(live.object()));
        let created_at = created_at.map_or_else(annotations::now, str::to_owned);
        let mut sent = OwnerAnnotations { id: self.id.clone(), created_at }.add_to(&sent);
        if change.is_create() {
            sent["metadata"]["resourceVersion"] = NO_VERSION.into();
        }
        let write = Write::by(MANAGER).force();
        let session = self.cluster.session();
        let mut applied =
            stop::run_unless_stopped(stop, GRACE, session.apply(&self.target, &sent, write)).await;
        if let Some(Err(error)) = &applied
            && error.dependency().is_some()
        {
            // While it waits for a dependency, there is no response to lose.
            let later = session.apply_when_possible(&self.target, &sent, write);
            applied = stop::run_unless_stopped(stop, Duration::ZERO, later).await;
        }
        match applied {
            Some(Ok(reply)) => Ok(reply),
            Some(Err(error))
                if change.is_create() && error.status().is_some_and(|status| status.code == 409) =>
            {
                self.after_conflict(sent, change, &error).await
            }
            Some(Err(error)) => {
                Err(Box::new(rejected::explained(&error, operation, &self.body.value, live.as_ref())))
            }
            None => Err(Box::new(interrupted(change, Some(&self.target)))),
        }
    }

    /// Decides about a create that met an object. It is ours if the answer to an earlier attempt was lost.
    async fn after_conflict(
        &self,
        mut sent: Json,
        change: &PlannedChange,
        conflict: &Error,
    ) -> Result<Reply, Box<Diagnostic>> {
        let session = self.cluster.session();
        match session.read(&self.target).await {
            Ok(Some(found)) if annotations::id_of(&found.object) == Some(&self.id) => Ok(found),
            Ok(Some(found)) => Err(Box::new(existing::found(&self.target, &found.object, &change.planned))),
            // It is gone again. Without force, nothing of another object is overwritten now either.
            Ok(None) => {
                sent["metadata"]["resourceVersion"] = Json::Null;
                let again = session.apply(&self.target, &sent, Write::by(MANAGER)).await;
                again.map_err(|error| Box::new(error.diagnostic("Create")))
            }
            Err(_) => Err(Box::new(conflict.diagnostic("Create"))),
        }
    }

    /// Releases ignored fields that only we hold, and takes over the fields of the tool the object was moved from.
    async fn hand_over(&self, live: Option<Observed>, private: &Private) -> Result<Option<Observed>, Error> {
        let Some(live) = live else { return Ok(None) };
        let (manager, former) =
            (manager(), private.get_as::<Vec<FieldManager>>(MOVED_FROM).unwrap_or_default());
        let (desired, imported) = (self.desired(&manager), private.flag(IMPORTED));
        let part_of_former = |entry: &Entry| {
            let is_former = entry.subresource.is_empty() && former.contains(&entry.manager);
            is_former.then(|| entry.fields.clone())
        };
        let edit = |live: &Observed| {
            let handover = Handover::of(live).hand_over(&manager, "", part_of_former);
            let handover = if imported { handover.take_over_client_side(&manager) } else { handover };
            let released = plan::to_release(&desired, handover.managed(), live.schema());
            handover.release(&manager, &released).patch()
        };
        let Some(patch) = edit(&live) else { return Ok(Some(live)) };
        let again = |live: Json| edit(&Observed::new(live).ok()?);
        let session = self.cluster.session();
        let edited =
            session.edit_managed_fields(&self.target, Write::by(MANAGER), Some(patch), again).await?;
        Ok(Some(edited.and_then(|reply| Observed::new(reply.object).ok()).unwrap_or(live)))
    }

    async fn finish(
        mut self,
        change: PlannedChange,
        reply: Reply,
        stop: &CancellationToken,
    ) -> ApplyResponse {
        let sends_values = write_only::is_sent(&change);
        let PlannedChange { prior, planned, mut private, .. } = change;
        // A kind created by this run is known by now.
        if self.provisional
            && let Ok(resource) = self.cluster.session().resource(&self.body.gvk).await
        {
            self.target = self.body.target(resource.namespaced);
        }
        if prior.is_some() {
            self.cluster.mark_ours(&self.target);
        } else {
            self.cluster.mark_created(&self.target);
        }
        let mut diagnostics: Diagnostics = reply.diagnostics(&self.target).into();
        let mut state = planned.clone();
        state.set("id", self.id.as_str());
        set_unknown(&mut state, "object_ref", || attributes::object_ref(&self.target));
        for flag in [IMPORTED, STALE_READ, PENDING_PROJECTION] {
            private.set_flag(flag, false);
        }
        private.remove(MOVED_FROM);
        cluster_identity::store(&mut private, &self.cluster).await;
        if let Err(error) = self.store(&mut state, &mut private, reply.object, prior.is_none()) {
            state.set(VALUES, projection::filled(state.get(VALUES), &BTreeMap::new()));
            set_unknown(&mut state, MANAGERS, || Value::Object(Object::new()));
            private.set_flag(PENDING_PROJECTION, true);
            diagnostics.add(projection_pending(&self.target, &error));
        }
        let what = (prior.as_ref(), &planned, sends_values);
        let session = self.cluster.session();
        let unmet = wait_for::complete(session, &self.target, what, (&mut state, &mut private), stop).await;
        diagnostics.add(unmet.into_iter().collect::<Diagnostics>());
        ApplyResponse { state: Some(state), private, identity: Some(identity::of(&self.target)), diagnostics }
    }

    /// Stores the server's response. Planned values stay, even if a webhook or a controller has changed them meanwhile:
    /// the next read shows that as a change outside of Terraform.
    fn store(
        &self,
        state: &mut Object,
        private: &mut Private,
        answer: Json,
        is_create: bool,
    ) -> Result<(), ManagedFieldsError> {
        let manager = manager();
        let marks = self.write_only.as_ref().map(|write_only| &write_only.marks);
        private.set_optional(WRITE_ONLY, marks);
        let answer = hidden(Observed::new(answer)?, marks)?;
        let desired = self.desired(&manager);
        projection::renew_masks(private, &self.body.value, state.get(VALUES), is_create);
        let key = private.mask_key();
        let mut maps = Maps::of(&answer, &desired, &key);
        if let Some(marks) = marks {
            show(&mut maps.values, marks, &answer, &desired);
        }
        let values = projection::attribute(&maps.values);
        state.set(VALUES, projection::filled(state.get(VALUES), &maps.values));
        set_unknown(state, MANAGERS, || projection::attribute(&maps.managers));
        private.set_baseline(&Baseline::record(&answer, &desired, &key), &self.body.value);
        let ignore = attributes::ignore_list(state);
        let fingerprint = plan::fingerprint(&self.body.value, &ignore, &manager, &answer);
        let as_planned = *state.get(VALUES) == values;
        private.set_optional(LAST_ANSWER, as_planned.then_some(&fingerprint));
        Ok(())
    }

    fn desired<'a>(&'a self, manager: &'a FieldManager) -> Desired<'a> {
        Desired::new(manager, &self.body.value).ignoring(&self.ignored)
    }
}

fn unknown_values(target: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::WRITE_ONLY_INVALID, "Write-Only Values Not Known")
        .detail("The values of yaml_body_wo are not known at apply, so nothing was sent.")
        .object(target.to_string())
        .hint("Set yaml_body_wo to a value that is known when the configuration is applied.")
}

fn projection_pending(target: &ObjectRef, error: &ManagedFieldsError) -> Diagnostic {
    Diagnostic::error(codes::PROJECTION_PENDING, "Projection Calculation Failed")
        .detail(format!("{target} was applied, but its managedFields cannot be read: {error}."))
        .object(target.to_string())
        .hint("Run terraform apply again to complete the state.")
}

/// The operation's name in messages.
fn operation(change: &PlannedChange) -> &'static str {
    if change.is_create() { "Create" } else { "Update" }
}

fn interrupted(change: &PlannedChange, target: Option<&ObjectRef>) -> Diagnostic {
    let detail = if change.is_create() {
        "Terraform was interrupted before the API server answered. If the object was created nevertheless, the next apply \
         finds it and shows how to import it."
    } else {
        "Terraform was interrupted before the API server answered. The next apply continues."
    };
    let interrupted = Diagnostic::error(codes::INTERRUPTED, format!("{}: Interrupted", operation(change)))
        .detail(detail)
        .hint("Run terraform apply again.");
    Diagnostic { object: target.map(ToString::to_string), ..interrupted }
}
