//! Applies a patch, and releases its fields on destroy.

use std::sync::Arc;
use std::time::Duration;

use cluster::{Class, Error, ErrorKind, Reply, Session, Write};
use diag::Diagnostic;
use fields::FieldSet;
use manifest::ObjectRef;
use ownership::{Baseline, Desired, FieldManager, Handover, Observed};
use serde_json::Value as Json;
use tfplugin::CancellationToken;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::ApplyResponse;
use tfplugin::value::{Object, Value};

use super::content::{ATTRIBUTES, Content};
use super::maps;
use super::write_only::{self, Reveal};
use super::{NO_CLIENT, manager, observed, reference, target_owner};
use crate::clusters::Cluster;
use crate::context::Context;
use crate::object::new_id;
use crate::planned_change::{PlannedChange, set_unknown};
use crate::private::{Keys as _, LAST_ANSWER, WRITE_ONLY};
use crate::projection::{self, MANAGERS, Maps, VALUES};
use crate::reference::Reference;
use crate::write_only::{Configured, Revealed, WriteOnly, all_marks, show, stored};
use crate::{cluster_identity, codes, stop};

/// How long to wait for a response after Terraform stops the provider.
const GRACE: Duration = Duration::from_secs(5);

/// Sends `sent`, made of `content`, to `target`. If nothing is left to do, nothing is sent and the result is the live object.
pub(super) async fn send(
    session: &Session,
    target: &ObjectRef,
    (content, sent): (&Content, &Json),
    live: &Observed,
    write: Write<'_>,
) -> Result<Reply, Error> {
    match content.patch_type() {
        None => session.apply(target, sent, write.force()).await,
        Some(_) if Content::is_nothing(sent) => {
            let object = live.object().clone();
            Ok(Reply { code: 200, object, warnings: Vec::new(), retries: Vec::new() })
        }
        Some(patch_type) => session.patch(target, patch_type, sent, write).await,
    }
}

/// Creates the patch, or updates the one in the state.
pub(super) async fn apply(
    context: &Context,
    change: PlannedChange,
    stop: &CancellationToken,
) -> ApplyResponse {
    if !concerns_target(&change) {
        return keep(context, change).await;
    }
    // Nothing has been sent yet, so stopping at once is safe.
    let prepared =
        stop::run_unless_stopped(stop, Duration::ZERO, PatchApply::prepare(context, &change)).await;
    let done = match prepared {
        Some(Ok(patch)) => stop::run_unless_stopped(stop, GRACE, patch.carry_out(change.clone())).await,
        Some(Err(diagnostics)) => Some(Err(diagnostics)),
        None => None,
    };
    let done = done.unwrap_or_else(|| Err(interrupted().into()));
    done.unwrap_or_else(|diagnostics| change.failed(diagnostics))
}

/// Whether there is something to send, rather than a change of the connection or a policy alone.
fn concerns_target(change: &PlannedChange) -> bool {
    let [patch, json, merge] = ATTRIBUTES;
    change.changes([patch, json, merge, "target", VALUES, MANAGERS, write_only::NAMES.version])
}

/// Changes the state, and nothing in the cluster.
async fn keep(context: &Context, change: PlannedChange) -> ApplyResponse {
    let cluster = match context.known_cluster(change.planned.get("cluster"), NO_CLIENT) {
        Ok(cluster) => cluster,
        Err(unusable) => return change.failed(*unusable),
    };
    let PlannedChange { planned, mut private, .. } = change;
    cluster_identity::store(&mut private, &cluster).await;
    ApplyResponse { state: Some(planned), private, ..ApplyResponse::default() }
}

/// A patch to send, and its target.
struct PatchApply {
    cluster: Arc<Cluster>,
    content: Content,
    /// The content of the last apply.
    before: Option<Content>,
    write_only: Option<WriteOnly>,
    target: ObjectRef,
    live: Observed,
    diagnostics: Diagnostics,
}

impl PatchApply {
    async fn prepare(context: &Context, change: &PlannedChange) -> Result<Self, Diagnostics> {
        let (prior, planned) = (change.prior.as_ref(), &change.planned);
        let cluster = context.known_cluster(planned.get("cluster"), NO_CLIENT)?;
        if let Some(prior) = prior.filter(|prior| prior.get("target") != planned.get("target")) {
            return Err(target_changed(prior).into());
        }
        let secret = match write_only::of(change)? {
            Configured::Known(secret) => Some(secret),
            // Nothing is unknown at apply.
            Configured::Absent | Configured::Unknown => None,
        };
        let marks = secret.as_ref().map(|secret| &secret.marks);
        let content = write_only::content(planned, marks);
        let Some(content) = content else { return Err(nothing_to_do().into()) };
        let content = content?;
        let stored = stored(&change.private);
        let before = prior.and_then(|prior| write_only::content(prior, stored.as_ref()));
        let before = before.and_then(Result::ok);
        let (target, live) = existing(&cluster, planned).await?;
        let marks = all_marks(secret.as_ref(), stored, live.schema());
        change.hidden.add_live(&live, marks.as_ref());
        let mut diagnostics = Diagnostics::new();
        if let Some(finding) = target_owner::check(context, &cluster, &target, &live).await {
            if finding.is_error() {
                return Err(finding.into());
            }
            diagnostics.add(finding);
        }
        Ok(Self { cluster, content, before, write_only: secret, target, live, diagnostics })
    }

    async fn carry_out(self, change: PlannedChange) -> Result<ApplyResponse, Diagnostics> {
        let Self { cluster, content, before, write_only: secret, target, live, mut diagnostics } = self;
        let PlannedChange { prior, planned, mut private, .. } = change;
        let id = planned.text("id").map_or_else(new_id, str::to_owned);
        let manager = manager(Some(&id));
        let operation = if prior.is_some() { "Update Patch" } else { "Apply Patch" };
        let write = Write::by(manager.as_str());
        // Fetched before the write, so that nothing can fail between the write and its record.
        cluster_identity::store(&mut private, &cluster).await;
        let session = cluster.session();
        let reveal = Reveal { write_only: secret.as_ref(), live: &live, manager: &manager };
        let (body, revealed) = reveal.values(content.to_send(&target, live.object(), before.as_ref()));
        if revealed != Revealed::Everything {
            return Err(nothing_to_do().into());
        }
        let what = (&content, &body);
        let sent = session.when_possible(&target, || send(session, &target, what, &live, write)).await;
        cluster.invalidate(&target);
        let reply = sent.map_err(|error| refused(&error, operation))?;
        let marks = secret.as_ref().map(|secret| &secret.marks);
        private.set_optional(WRITE_ONLY, marks);
        diagnostics.add(reply.diagnostics(&target));
        let mut response = ApplyResponse { state: None, private, identity: None, diagnostics };
        let mut state = planned.with("id", id);
        match observed(&target, reply.object) {
            Ok(answer) => {
                let hidden = |object: Observed| write_only::hidden(&object, marks).unwrap_or(object);
                let (live, answer) = (hidden(live), hidden(answer));
                let what = (&content, before.as_ref() == Some(&content));
                let baseline = response.private.baseline(None);
                let removed = maps::removals(what, (&live, &answer), baseline.as_ref(), &manager);
                let (private, planned) = (&mut response.private, state.get(VALUES));
                projection::renew_masks(private, answer.object(), planned, prior.is_none());
                let what = (&content, &removed);
                store(&mut state, &mut response.private, &target, what, &answer, &manager);
            }
            Err(unreadable) => response.diagnostics.add(unreadable),
        }
        for name in [VALUES, MANAGERS] {
            set_unknown(&mut state, name, || Value::Null);
        }
        response.state = Some(state);
        Ok(response)
    }
}

/// The target as it is now, or once it has come with a kind or a namespace of the same apply.
async fn existing(cluster: &Arc<Cluster>, planned: &Object) -> Result<(ObjectRef, Observed), Diagnostics> {
    let reference = reference(planned)?;
    match reference.look_when_possible(cluster.session()).await {
        Ok((target, Some(live))) => {
            let live = observed(&target, live)?;
            Ok((target, live))
        }
        Ok((target, None)) => Err(absent(&format!("{target} does not exist.")).into()),
        Err(error) if matches!(Error::kind(&error), ErrorKind::KindMissing(_)) => {
            Err(absent(&error.diagnostic("Get Target Resource").detail).into())
        }
        Err(error) => Err(error.diagnostic("Get Target Resource").into()),
    }
}

/// Stores the result of the patch: the values that were unknown in the plan, and the baseline.
fn store(
    state: &mut Object,
    private: &mut Private,
    target: &ObjectRef,
    (content, removed): (&Content, &FieldSet),
    answer: &Observed,
    manager: &FieldManager,
) {
    let body = content.body(target);
    let key = private.mask_key();
    let shape = body.as_ref().unwrap_or(answer.object());
    let mut maps = Maps::of_patch(answer, manager, shape, &key);
    if let Some(marks) = stored(private) {
        show(&mut maps.values, &marks, answer, &Desired::new(manager, shape));
    }
    let values = body.as_ref().map_or(Value::Null, |_| projection::attribute(&maps.values));
    let managers = projection::attribute(&maps.managers);
    match &body {
        Some(_) => state.set(VALUES, projection::filled(state.get(VALUES), &maps.values)),
        None => set_unknown(state, VALUES, || Value::Null),
    }
    set_unknown(state, MANAGERS, || managers.clone());
    let as_planned = *state.get(VALUES) == values && *state.get(MANAGERS) == managers;
    let written = body.unwrap_or_else(|| maps::held_part(answer, manager));
    let desired = Desired::new(manager, &written).removing(removed);
    private.adopt_baseline(&Baseline::record(answer, &desired, &key));
    let fingerprint = maps::fingerprint(content, answer, manager);
    private.set_optional(LAST_ANSWER, as_planned.then_some(&fingerprint));
}

/// Releases the fields of the patch. Their values stay.
pub(super) async fn delete(context: &Context, prior: Object, private: Private) -> ApplyResponse {
    match release(context, &prior, &private).await {
        Ok(diagnostics) => ApplyResponse { diagnostics, ..ApplyResponse::default() },
        Err(error) => {
            ApplyResponse { state: Some(prior), private, identity: None, diagnostics: (*error).into() }
        }
    }
}

async fn release(
    context: &Context,
    prior: &Object,
    private: &Private,
) -> Result<Diagnostics, Box<Diagnostic>> {
    let reference = reference(prior)?;
    let manager = manager(prior.text("id"));
    let refusal = match context.known_cluster(prior.get("cluster"), NO_CLIENT) {
        // No cluster can be reached with such a connection, now or later.
        Err(unusable) => unreleased(&unusable),
        Ok(cluster) => match release_in(&cluster, &reference, &manager).await {
            Ok(()) => return Ok(Diagnostics::new()),
            Err(error) if error.class() == Class::AuthenticationFailed => {
                error.diagnostic("Delete Patch").hint(
                    "Apply once with new credentials to store them in the state, or give the provider block a `cluster` that \
                     leads to the same cluster.",
                )
            }
            Err(error) => return Err(Box::new(error.diagnostic("Delete Patch"))),
        },
    };
    if let Some(cluster) = cluster_identity::provider_cluster(context, prior)
        && cluster_identity::is_proven(private, &cluster).await
    {
        let released = release_in(&cluster, &reference, &manager).await;
        return released
            .map(|()| Diagnostics::new())
            .map_err(|error| Box::new(error.diagnostic("Delete Patch")));
    }
    if refusal.is_error() { Err(Box::new(refusal)) } else { Ok(refusal.into()) }
}

/// Removes the entries of `manager` from the managedFields of the target.
async fn release_in(cluster: &Cluster, reference: &Reference, manager: &FieldManager) -> Result<(), Error> {
    let edited = async {
        let target = reference.locate(cluster.session()).await?;
        let write = Write::by(manager.as_str());
        let edit = |live: Json| Handover::of(&Observed::new(live).ok()?).release_all(manager).patch();
        let edited = cluster.session().edit_managed_fields(&target, write, None, edit).await;
        cluster.invalidate(&target);
        edited
    };
    match edited.await {
        Ok(_) => Ok(()),
        Err(error) if error.is_kind_absent() => Ok(()),
        Err(error) if error.class() == Class::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The error for a patch that the server rejects.
pub(super) fn refused(error: &Error, operation: &str) -> Diagnostic {
    let refused = error.diagnostic(operation);
    if error.class() == Class::Immutable {
        return Diagnostic { summary: "Immutable Field in Patch".to_owned(), ..refused };
    }
    // What the API server says of a JSON patch that cannot be applied names neither the operation nor the path.
    if error.status().is_some_and(|status| status.code == 422 && status.details.causes.is_empty()) {
        return refused.hint(
            "Compare the patch with the live object: in a JSON patch every `test` has to hold, and the paths of `replace`, `remove`, \
             `move` and `copy` have to exist.",
        );
    }
    refused
}

fn absent(why: &str) -> Diagnostic {
    Diagnostic::error(codes::PATCH_TARGET_ABSENT, "Target Resource Not Found")
        .detail(format!("{why} A patch changes an object that exists."))
        .hint(
            "Check the target, or make the patch depend on the resource that creates it. To create an object, use \
             k8sconnect_object.",
        )
}

fn target_changed(prior: &Object) -> Diagnostic {
    let name = prior.get("target").as_object().and_then(|target| target.text("name")).unwrap_or_default();
    Diagnostic::error(codes::PATCH_TARGET_CHANGED, "Target Changed")
        .detail(format!("The patch of {name:?} cannot become one of another object."))
        .hint("Replace the resource.")
}

fn nothing_to_do() -> Diagnostic {
    Diagnostic::error(codes::PATCH_CHOICE, "Failed to Parse Patch")
        .detail("None of patch, json_patch and merge_patch has a value.")
        .hint("Set exactly one of patch, json_patch and merge_patch.")
}

fn unreleased(why: &Diagnostic) -> Diagnostic {
    Diagnostic::warning(codes::PATCH_UNRELEASED, "Patch Not Released")
        .detail(format!(
            "{}: {}\n\nThe patch is removed from the state. Its values stay, and so does its entry in the managedFields of the target.",
            why.summary, why.detail
        ))
}

fn interrupted() -> Diagnostic {
    Diagnostic::error(codes::INTERRUPTED, "Apply Patch: Interrupted")
        .detail("Terraform was interrupted before the API server answered.")
        .hint("Run terraform apply again.")
}
