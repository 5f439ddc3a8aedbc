//! Plans a patch: previews it by a dry run and compares the result with the last apply.

use std::fmt::Write as _;

use cluster::Write;
use diag::Diagnostic;
use manifest::ObjectRef;
use ownership::{Analysis, Desired, FieldManager, FieldTransition, Observed, Prior, Verbosity};
use plan::{Intervention, LastAnswer, Preview, Question};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::{Object, Value};

use super::content::{ATTRIBUTES, Content};
use super::maps::{self, PatchMaps};
use super::{NO_CLIENT, apply, manager, observed, overlap, reference, target_owner};
use crate::context::{self, Context, Reach};
use crate::planned_change::PlannedChange;
use crate::private::Keys as _;
use crate::whereabouts::{self, Moved};
use crate::{codes, dependency, projection};

const VALUES: &str = "managed_state_projection";
const MANAGERS: &str = "managed_fields";

/// The hint for fields that another manager sets as well.
const LEAVE_TO_OTHERS: &str =
    "Take the fields out of the patch, or keep the other manager from setting them.";

/// The most fields that a message lists.
const MOST_FIELDS: usize = 5;

pub(super) struct Plan {
    pub(super) planned: Object,
    pub(super) requires_replace: Vec<Path>,
    pub(super) diagnostics: Diagnostics,
}

impl Plan {
    fn new(planned: Object, diagnostics: impl Into<Diagnostics>) -> Self {
        Self { planned, requires_replace: Vec::new(), diagnostics: diagnostics.into() }
    }

    /// All computed attributes are known only after the apply.
    fn unknown(change: &PlannedChange, diagnostics: impl Into<Diagnostics>) -> Self {
        let planned = change.planned.clone().with(VALUES, Value::unknown()).with(MANAGERS, Value::unknown());
        Self::new(planned, diagnostics)
    }
}

pub(super) async fn plan(context: &Context, change: &PlannedChange) -> Result<Plan, Diagnostics> {
    let planned = &change.planned;
    if ATTRIBUTES.iter().any(|name| planned.get(name).is_unknown())
        || !planned.get("target").is_wholly_known()
    {
        return Ok(Plan::unknown(change, Diagnostics::new()));
    }
    let Some(content) = Content::of(planned) else {
        return Ok(Plan::unknown(change, Diagnostics::new()));
    };
    let content = content.map_err(|problem| *problem)?;
    let cluster = match context.reach(planned.get("cluster")) {
        Ok(Reach::Ready(cluster)) => cluster,
        Ok(Reach::NotYet) => return Ok(Plan::unknown(change, Diagnostics::new())),
        Ok(Reach::Nowhere) => return Err(Diagnostics::from(context::nowhere()).or_at(&Path::of("cluster"))),
        Err(error) => return Err(context::unprepared(&error, NO_CLIENT).into()),
    };
    let mut diagnostics = Diagnostics::new();
    match whereabouts::moved(context, change, &cluster).await {
        Moved::No => {}
        Moved::Yes => {
            let warning = whereabouts::replaced(
                "The patch releases its fields in the old cluster, with the connection in the state, and is applied in the new \
                 one.",
            );
            let requires_replace = vec![Path::of("cluster")];
            return Ok(Plan { requires_replace, ..Plan::unknown(change, warning) });
        }
        Moved::Unproven => diagnostics.add(whereabouts::unproven("The target")),
    }
    let session = cluster.session();
    let reference = reference(planned).map_err(|error| *error)?;
    let (target, live) = match reference.look(session).await {
        Ok((target, Some(reply))) => {
            let live = observed(&target, reply.object)?;
            (target, live)
        }
        // The same apply may create it.
        Ok((_, None)) => return Ok(Plan::unknown(change, diagnostics)),
        Err(error) => {
            let diagnostics = dependency::unknown_in_plan(&error, "Get Target Resource")?;
            return Ok(Plan::unknown(change, diagnostics));
        }
    };
    if let Some(finding) = target_owner::check(context, &cluster, &target, &live).await {
        if finding.is_error() {
            return Err(finding.into());
        }
        diagnostics.add(finding);
    }
    let manager = manager(planned.text("id"));
    let before = change.prior.as_ref().and_then(Content::of).and_then(Result::ok);
    let same = before.as_ref() == Some(&content);
    let remembered = change.private.last_answer().filter(|_| same);
    let now = remembered.as_ref().map(|_| maps::fingerprint(&content, &live, &manager));
    let last_answer = LastAnswer::compare(remembered.as_ref(), now.as_ref());
    if plan::question(last_answer, || false, Intervention::Unknown) == Question::Needless {
        return Ok(Plan::new(kept(change), diagnostics));
    }
    let write = Write::by(manager.as_str()).dry_run();
    let reply = match apply::send(session, &target, live.object(), (&content, before.as_ref()), write).await {
        Ok(reply) => reply,
        Err(error) if error.is_server_trouble() => {
            let diagnostics = dependency::unknown_in_plan(&error, "Dry-run Patch")?;
            return Ok(Plan::unknown(change, diagnostics));
        }
        Err(error) => return Err(apply::refused(&error, "Dry-run Patch").into()),
    };
    diagnostics.add(reply.diagnostics(&target));
    let answer = Answer {
        target: &target,
        content: &content,
        same,
        live: &live,
        object: &observed(&target, reply.object)?,
        manager: &manager,
    };
    let preview = answer.preview(change, before.as_ref());
    diagnostics.add(answer.warnings(&preview, context.verbosity()));
    let overlap = overlap::warning(&target, &live, answer.object, &manager);
    diagnostics.add(overlap.into_iter().collect::<Diagnostics>());
    Ok(Plan::new(answer.decide(change, &preview), diagnostics))
}

/// The target does not change: a patch that only reads differently is not a change.
fn kept(change: &PlannedChange) -> Object {
    let mut planned = change.planned.clone();
    if let Some(prior) = &change.prior {
        for name in ATTRIBUTES.into_iter().chain([VALUES, MANAGERS]) {
            planned.set(name, prior.get(name).clone());
        }
    }
    planned
}

/// The API server's response to a dry run of a patch.
struct Answer<'a> {
    target: &'a ObjectRef,
    content: &'a Content,
    /// Whether it is the same as in the last apply.
    same: bool,
    live: &'a Observed,
    object: &'a Observed,
    manager: &'a FieldManager,
}

impl Answer<'_> {
    fn decide(&self, change: &PlannedChange, preview: &Preview) -> Object {
        let body = self.content.body(self.target);
        let maps =
            |object: &Observed| PatchMaps::of(object, self.manager, body.as_ref().unwrap_or(object.object()));
        let planned = maps(self.object);
        if self.same && planned == maps(self.live) && !preview.changes_values() {
            return kept(change);
        }
        let (values, managers) = match body {
            Some(_) => (projection::attribute(&planned.values), projection::attribute(&planned.managers)),
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
        Preview::new(&desired, prior, Some(self.live), self.object)
    }

    fn warnings(&self, preview: &Preview, verbosity: Verbosity) -> Diagnostics {
        // Unlike an object, a patch has no fields to ignore: it does not touch fields it does not name.
        let warnings = preview.warnings(&self.target.to_string(), verbosity, Some(LEAVE_TO_OTHERS));
        let mut diagnostics = Diagnostics::from(warnings);
        let analysis = preview.analysis();
        let drifted: Vec<&FieldTransition> =
            analysis.fields.iter().filter(|field| field.change.is_some()).collect();
        if self.same && !drifted.is_empty() && verbosity != Verbosity::None {
            diagnostics.add(fighting(self.target, analysis, &drifted));
        }
        diagnostics
    }
}

/// The warning that another manager changed fields of the patch. It names fields and managers, not values.
fn fighting(target: &ObjectRef, analysis: &Analysis, drifted: &[&FieldTransition]) -> Diagnostic {
    let mut detail = format!(
        "These fields of {target} no longer have the values that this patch set; the apply will set them again:\n"
    );
    for field in drifted.iter().take(MOST_FIELDS) {
        let owners: Vec<&str> = field.others.iter().map(FieldManager::as_str).collect();
        let owner = if owners.is_empty() { "unknown".to_owned() } else { owners.join(", ") };
        let _infallible = write!(detail, "\n  {} (now held by: {owner})", analysis.print(field));
    }
    if drifted.len() > MOST_FIELDS {
        let _infallible = write!(detail, "\n  … and {} more", drifted.len() - MOST_FIELDS);
    }
    let namespace =
        target.namespace.as_ref().map_or_else(String::new, |namespace| format!(" -n {namespace}"));
    let look = format!(
        "kubectl get {} {}{namespace} -o yaml --show-managed-fields",
        target.kind().to_lowercase(),
        target.name
    );
    Diagnostic::warning(codes::PATCH_FIGHT, "Field Ownership Conflict - Controllers Fighting")
        .detail(format!("{detail}\n\nIf their manager stays active, both will keep setting them. To see who holds what:\n\n  {look}"))
        .object(target.to_string())
        .hint(LEAVE_TO_OTHERS)
}

#[cfg(test)]
mod tests;
