//! Plans a patch: previews it by a dry run and compares the result with the last apply.

use cluster::{ConnectError, Session, Write};
use diag::Diagnostic;
use manifest::ObjectRef;
use manifest::secret::MaskKey;
use ownership::{Desired, FieldManager, Observed, Prior, Reporting};
use plan::{Intervention, LastAnswer, Preview, Question};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::{Object, Value};

use super::content::ATTRIBUTES;
use super::content::Content;
use super::maps;
use super::write_only::{self, Reveal};
use super::{NO_CLIENT, apply, manager, observed, overlap, reference, target_owner};
use crate::cluster_identity::{self, ClusterChange};
use crate::context::{self, Context};
use crate::planned_change::{Decision, PlannedChange};
use crate::private::{Keys as _, LAST_ANSWER};
use crate::projection::{self, MANAGERS, Maps, VALUES};
use crate::write_only::{Configured, Effect, Revealed, WriteOnly, compared_at_apply};
use crate::{autoscaler, dependency};

/// The hint for fields that another manager sets as well.
const RESOLVE_CONFLICT: &str =
    "Remove the fields from the patch, or stop the other manager from setting them.";

pub(super) async fn plan(context: &Context, change: &PlannedChange) -> Result<Decision, Diagnostics> {
    let planned = &change.planned;
    let unknown = |diagnostics: Diagnostics| unknown(change, diagnostics);
    let is_known = |name: &str| !planned.get(name).is_unknown() && planned.get("target").is_wholly_known();
    let secret = match write_only::of(change)? {
        Configured::Absent => None,
        Configured::Unknown => {
            return Ok(unknown(compared_at_apply(write_only::NAMES, change).into_iter().collect()));
        }
        Configured::Known(secret) => Some(secret),
    };
    let marks = secret.as_ref().map(|secret| &secret.marks);
    let content = write_only::content(planned, marks).filter(|_| ATTRIBUTES.into_iter().all(is_known));
    let Some(content) = content else { return Ok(unknown(Diagnostics::new())) };
    let content = match content {
        Ok(content) => content,
        // It is in the state already, and an error would block a destroy.
        Err(_) if change.prior.as_ref().is_some_and(|prior| is_same_text(prior, planned)) => {
            return Ok(Decision::new(unchanged(change), Diagnostics::new()));
        }
        Err(problem) => return Err((*problem).into()),
    };
    let unusable = |error: &ConnectError| context::unusable(error, NO_CLIENT);
    let Some(cluster) = context.planned_cluster(planned.get("cluster"), unusable)? else {
        return Ok(unknown(Diagnostics::new()));
    };
    let mut diagnostics = Diagnostics::new();
    match cluster_identity::change(context, change, &cluster).await {
        ClusterChange::None => {}
        ClusterChange::Another => return Ok(in_another_cluster(change)),
        ClusterChange::Unproven => diagnostics.add(cluster_identity::unproven("The target")),
    }
    let session = cluster.session();
    let reference = reference(planned)?;
    let (target, live) = match reference.look(session).await {
        Ok((target, Some(reply))) => {
            let live = observed(&target, reply.object)?;
            (target, live)
        }
        // The same apply may create it.
        Ok((_, None)) => return Ok(unknown(diagnostics)),
        Err(error) => return dependency::unknown_in_plan(&error, "Get Target Resource").map(unknown),
    };
    if let Some(finding) = target_owner::check(context, &cluster, &target, &live).await {
        if finding.is_error() {
            return Err(finding.into());
        }
        diagnostics.add(finding);
    }
    let manager = manager(planned.text("id"));
    let stored = crate::write_only::stored(&change.private);
    let before = change.prior.as_ref().and_then(|prior| write_only::content(prior, stored.as_ref()));
    let before = before.and_then(Result::ok);
    let raw = live;
    let schema = raw.schema();
    let marks = crate::write_only::all_marks(secret.as_ref(), stored.clone(), schema);
    let hidden = write_only::hidden(&raw, marks.as_ref());
    change.hidden.add_live(&raw, marks.as_ref());
    let live = hidden.as_ref().unwrap_or(&raw);
    let same = before.as_ref() == Some(&content);
    let remembered: Option<String> = change.private.get_as(LAST_ANSWER).filter(|_| same);
    let remembered = remembered.filter(|_| secret.as_ref().is_none_or(WriteOnly::may_be_remembered));
    let now = remembered.as_ref().map(|_| maps::fingerprint(&content, live, &manager));
    let last_answer = LastAnswer::compare(remembered.as_ref(), now.as_ref());
    if plan::question(last_answer, || false, Intervention::Unknown) == Question::Needless {
        return Ok(Decision::new(unchanged(change), diagnostics));
    }
    let write = Write::by(manager.as_str()).dry_run();
    let reveal = Reveal { write_only: secret.as_ref(), live: &raw, manager: &manager };
    let (body, revealed) = reveal.values(content.to_send(&target, raw.object(), before.as_ref()));
    if revealed == Revealed::Nothing {
        return Ok(unknown(diagnostics));
    }
    let reply = match apply::send(session, &target, (&content, &body), &raw, write).await {
        Ok(reply) => reply,
        // The values that are not known yet may be acceptable.
        Err(_) if revealed == Revealed::LiveValues => return Ok(unknown(diagnostics)),
        Err(error) if error.is_server_fault() => {
            return dependency::unknown_in_plan(&error, "Dry-run Patch").map(unknown);
        }
        Err(error) => return Err(apply::refused(&error, "Dry-run Patch").into()),
    };
    diagnostics.add(reply.diagnostics(&target));
    let answer = observed(&target, reply.object)?;
    let both = (Some(&raw), &answer);
    let write_only = Effect::of(secret.as_ref(), stored.as_ref(), both, &Desired::new(&manager, &body));
    let hidden_answer = write_only::hidden(&answer, marks.as_ref());
    let result = DryRunResult {
        target: &target,
        content: &content,
        same,
        live,
        object: hidden_answer.as_ref().unwrap_or(&answer),
        manager: &manager,
        write_only,
    };
    Ok(decide(context, change, session, &result, before.as_ref(), diagnostics).await)
}

/// Decides from the answer to the dry run.
async fn decide(
    context: &Context,
    change: &PlannedChange,
    session: &Session,
    result: &DryRunResult<'_>,
    before: Option<&Content>,
    mut diagnostics: Diagnostics,
) -> Decision {
    let preview = result.preview(change, before);
    let planned = result.decide(change, &preview);
    let autoscaler = autoscaler::of(session, result.target, Some(result.live), result.object).await;
    let (is_unapplied, fights) = (change.is_prior(&planned), change.fights());
    let reporting = context.reporting(&planned);
    let (fights, autoscaler) = (Some(&fights), autoscaler.as_deref());
    let reporting = Reporting { is_unapplied, fights, autoscaler, ..reporting };
    diagnostics.add(result.warnings(&preview, reporting));
    let overlap = overlap::warning(result.target, result.live, result.object, result.manager);
    diagnostics.add(overlap.into_iter().collect::<Diagnostics>());
    let private = Some(change.private_after(preview.analysis()));
    Decision { private, ..Decision::new(planned, diagnostics) }
}

fn is_same_text(prior: &Object, planned: &Object) -> bool {
    ATTRIBUTES.into_iter().all(|name| prior.get(name) == planned.get(name))
}

/// A plan that is never applied, because everything is destroyed: whatever an apply would do must not prevent that.
pub(super) fn not_applied(change: &PlannedChange) -> Decision {
    match &change.prior {
        Some(_) => Decision::new(unchanged(change), Diagnostics::new()),
        None => unknown(change, Diagnostics::new()),
    }
}

fn unknown(change: &PlannedChange, diagnostics: Diagnostics) -> Decision {
    let planned = change.planned.clone().with(VALUES, Value::unknown()).with(MANAGERS, Value::unknown());
    Decision::new(planned, diagnostics)
}

fn in_another_cluster(change: &PlannedChange) -> Decision {
    let warning = cluster_identity::replacement(
        "The patch releases its fields in the old cluster, with the connection in the state, and is applied in the new one.",
    );
    Decision { requires_replace: vec![Path::of("cluster")], ..unknown(change, warning.into()) }
}

/// The target does not change: a patch that only reads differently is not a change.
fn unchanged(change: &PlannedChange) -> Object {
    let mut planned = change.planned.clone();
    if let Some(prior) = &change.prior {
        for name in ATTRIBUTES.into_iter().chain([VALUES, MANAGERS]) {
            planned.set(name, prior.get(name).clone());
        }
    }
    planned
}

/// The API server's response to a dry run of a patch.
struct DryRunResult<'a> {
    target: &'a ObjectRef,
    content: &'a Content,
    /// Whether it is the same as in the last apply.
    same: bool,
    live: &'a Observed,
    object: &'a Observed,
    manager: &'a FieldManager,
    write_only: Effect,
}

impl DryRunResult<'_> {
    fn decide(&self, change: &PlannedChange, preview: &Preview) -> Object {
        let (body, key) = (self.content.body(self.target), change.private.mask_key());
        let maps = |object: &Observed| {
            let written = body.as_ref().unwrap_or(object.object());
            let mut maps = Maps::of_patch(object, self.manager, written, &key);
            if let Some(marks) = &self.write_only.marks {
                crate::write_only::show(
                    &mut maps.values,
                    marks,
                    object,
                    &Desired::new(self.manager, written),
                );
            }
            maps
        };
        let planned = maps(self.object);
        let sends_values = self.write_only.is_due;
        if self.same && !sends_values && planned == maps(self.live) && !preview.changes_values() {
            return unchanged(change);
        }
        let (values, managers) = match &body {
            Some(body) => {
                let renews_masks = change.is_create() || key == MaskKey::FORMER;
                let managers =
                    if sends_values { Value::unknown() } else { projection::attribute(&planned.managers) };
                let values = planned.planned_values(renews_masks);
                (self.write_only.planned(values, body, self.object.schema()), managers)
            }
            // An unknown makes Terraform apply the patch, even if only the target has changed.
            None => (Value::Null, Value::unknown()),
        };
        change.planned.clone().with(VALUES, values).with(MANAGERS, managers)
    }

    /// The outcome for every field of the patch, by the rules for objects.
    fn preview(&self, change: &PlannedChange, before: Option<&Content>) -> Preview {
        let body = self.content.body(self.target);
        let written = body.unwrap_or_else(|| maps::held_part(self.object, self.manager));
        let former = if self.same {
            Some(written.clone())
        } else {
            before.and_then(|before| before.body(self.target))
        };
        let baseline = change.private.baseline(None);
        let prior = match (&change.prior, &baseline) {
            // We held none of it, so all of it is new.
            (None, _) => Prior::Imported,
            (Some(_), Some(baseline)) => {
                Prior::Applied { written: former.as_ref().unwrap_or(&Json::Null), baseline }
            }
            (Some(_), None) => Prior::Unrecorded,
        };
        let what = (self.content, self.same);
        let removed = maps::removals(what, (self.live, self.object), baseline.as_ref(), self.manager);
        let desired = Desired::new(self.manager, &written).removing(&removed);
        let preview = Preview::new(&desired, prior, Some(self.live), self.object, &change.private.mask_key());
        preview.with_hidden_changes(&self.write_only.changed_outside, self.write_only.row())
    }

    fn warnings(&self, preview: &Preview, reporting: Reporting<'_>) -> Vec<Diagnostic> {
        let reporting = Reporting { is_unchanged_patch: self.same, ..reporting };
        // Unlike an object, a patch has no fields to ignore: it does not touch fields it does not name.
        preview.warnings(&self.target.to_string(), &reporting, Some(RESOLVE_CONFLICT))
    }
}

#[cfg(test)]
mod tests;
