//! What a patch will do: previewed by a dry run, compared with what it did last, and told before it happens.

use std::fmt::Write as _;

use cluster::{Error, ErrorKind, Write};
use diag::Diagnostic;
use manifest::{ObjectRef, server_metadata};
use ownership::{Analysis, Before, FieldManager, FieldTransition, ManagedFieldsError, Outlook, Verbosity};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::{Object, Value};

use super::content::{ATTRIBUTES, Content};
use super::shown::{self, Shown};
use super::{NO_CLIENT, apply, manager, overlap, own, projection_failed, reference};
use crate::context::{self, Context, Reach};
use crate::private::Keys as _;
use crate::report;
use crate::situation::Situation;
use crate::whereabouts::{self, Moved};
use crate::{codes, projection};

const VALUES: &str = "managed_state_projection";
const MANAGERS: &str = "managed_fields";

/// What to do about fields that somebody else sets as well.
const LEAVE_TO_OTHERS: &str =
    "Take the fields out of the patch, or keep the other manager from setting them.";

/// How many fields a message lists.
const MOST_FIELDS: usize = 5;

/// A plan and what there is to tell about it.
pub(super) struct Plan {
    pub(super) planned: Object,
    pub(super) requires_replace: Vec<Path>,
    pub(super) diagnostics: Diagnostics,
}

impl Plan {
    fn new(planned: Object, diagnostics: impl Into<Diagnostics>) -> Self {
        Self { planned, requires_replace: Vec::new(), diagnostics: diagnostics.into() }
    }

    /// Whatever the cluster would have to say is known after the apply.
    fn open(situation: &Situation, diagnostics: impl Into<Diagnostics>) -> Self {
        let planned =
            situation.planned.clone().with(VALUES, Value::unknown()).with(MANAGERS, Value::unknown());
        Self::new(planned, diagnostics)
    }
}

pub(super) async fn plan(context: &Context, situation: &Situation) -> Result<Plan, Diagnostics> {
    let planned = &situation.planned;
    if ATTRIBUTES.iter().any(|name| planned.get(name).is_unknown())
        || !planned.get("target").is_wholly_known()
    {
        return Ok(Plan::open(situation, Diagnostics::new()));
    }
    let Some(content) = Content::of(planned) else {
        return Ok(Plan::open(situation, Diagnostics::new()));
    };
    let content = content.map_err(|problem| *problem)?;
    let cluster = match context.reach(planned.get("cluster")) {
        Ok(Reach::Ready(cluster)) => cluster,
        Ok(Reach::NotYet) => return Ok(Plan::open(situation, Diagnostics::new())),
        Ok(Reach::Nowhere) => return Err(Diagnostics::from(context::nowhere()).or_at(&Path::of("cluster"))),
        Err(error) => return Err(context::unprepared(&error, NO_CLIENT).into()),
    };
    let mut diagnostics = Diagnostics::new();
    match whereabouts::moved(context, situation, &cluster).await {
        Moved::No => {}
        Moved::Yes => {
            let warning = whereabouts::replaced(
                "The patch gives its fields up in the old cluster, with the connection in the state, and is carried out in \
                 the new one.",
            );
            let requires_replace = vec![Path::of("cluster")];
            return Ok(Plan { requires_replace, ..Plan::open(situation, warning) });
        }
        Moved::Unproven => diagnostics.add(whereabouts::unproven("The target")),
    }
    let session = cluster.session();
    let reference = reference(planned).map_err(|error| *error)?;
    let (target, live) = match reference.look(session).await {
        Ok((target, Some(reply))) => (target, reply.object),
        // It may come with the same apply.
        Ok((_, None)) => return Ok(Plan::open(situation, diagnostics)),
        Err(error) => return unanswered(situation, &error, "Get Target Resource"),
    };
    if let Some(finding) = own::check(context, &cluster, &target, &live).await {
        if finding.is_error() {
            return Err(finding.into());
        }
        diagnostics.add(finding);
    }
    let manager = manager(planned.text("id"));
    let failed = |error: ManagedFieldsError| Diagnostics::from(projection_failed(&target, &error));
    let before = situation.prior.as_ref().and_then(Content::of).and_then(Result::ok);
    let same = before.as_ref() == Some(&content);
    if same && situation.private.settled() == shown::settled(&content, &live, &manager).ok() {
        return Ok(Plan::new(kept(situation), diagnostics));
    }
    let write = Write::by(manager.as_str()).dry_run();
    let reply = match apply::send(session, &target, &live, (&content, before.as_ref()), write).await {
        Ok(reply) => reply,
        Err(error) if error.is_server_trouble() => return unanswered(situation, &error, "Dry-run Patch"),
        Err(error) => return Err(apply::refused(&error, "Dry-run Patch").into()),
    };
    diagnostics.add(reply.diagnostics(&target));
    let preview = Preview {
        target: &target,
        content: &content,
        same,
        live: &live,
        answer: &reply.object,
        manager: &manager,
    };
    let analysis = preview.analyse(situation, before.as_ref()).map_err(failed)?;
    diagnostics.add(preview.warnings(&analysis, context.verbosity()));
    let overlap = overlap::warning(&target, &live, &reply.object, &manager).map_err(failed)?;
    diagnostics.add(overlap.into_iter().collect::<Diagnostics>());
    let planned = preview.decide(situation).map_err(failed)?;
    Ok(Plan::new(planned, diagnostics))
}

/// The target stays as it is: a patch that only reads differently is no change.
fn kept(situation: &Situation) -> Object {
    let mut planned = situation.planned.clone();
    if let Some(prior) = &situation.prior {
        for name in ATTRIBUTES.into_iter().chain([VALUES, MANAGERS]) {
            planned.set(name, prior.get(name).clone());
        }
    }
    planned
}

/// What an answer that is none means for a plan (decisions, seed 003, 5).
fn unanswered(situation: &Situation, error: &Error, operation: &str) -> Result<Plan, Diagnostics> {
    match error.kind() {
        ErrorKind::NamespaceMissing { .. } => Ok(Plan::open(situation, Diagnostics::new())),
        ErrorKind::KindMissing(missing) if plan::may_still_come(&missing.gvk) => {
            Ok(Plan::open(situation, Diagnostics::new()))
        }
        ErrorKind::Unreachable(_) => Err(error.diagnostic(operation).into()),
        _ if error.is_server_trouble() => {
            Ok(Plan::open(situation, report::no_preview(error.diagnostic(operation))))
        }
        _ => Err(error.diagnostic(operation).into()),
    }
}

/// What the server says about a patch.
struct Preview<'a> {
    target: &'a ObjectRef,
    content: &'a Content,
    /// Whether it is what was applied last.
    same: bool,
    live: &'a Json,
    answer: &'a Json,
    manager: &'a FieldManager,
}

impl Preview<'_> {
    fn decide(&self, situation: &Situation) -> Result<Object, ManagedFieldsError> {
        let body = self.content.body(self.target);
        let shown = Shown::of(self.answer, self.manager, body.as_ref().unwrap_or(self.answer))?;
        let now = Shown::of(self.live, self.manager, body.as_ref().unwrap_or(self.live))?;
        if self.same && shown == now && !self.changes_something()? {
            return Ok(kept(situation));
        }
        let (values, managers) = match body {
            Some(_) => (projection::attribute(&shown.values), projection::attribute(&shown.managers)),
            // An unknown makes Terraform carry the patch out, also when only the target has changed.
            None => (Value::Null, Value::unknown()),
        };
        Ok(situation.planned.clone().with(VALUES, values).with(MANAGERS, managers))
    }

    /// Whether the target would be another one afterwards, apart from what the server keeps about it.
    fn changes_something(&self) -> Result<bool, ManagedFieldsError> {
        let bare = |object: &Json| {
            let mut object = object.clone();
            server_metadata::remove(object.get_mut("metadata"), server_metadata::CHANGED_BY_WRITES);
            object
        };
        let schema = ownership::ManagedFields::of(self.answer)?.schema(self.answer);
        Ok(!fields::diff(&bare(self.live), &bare(self.answer), &schema).is_empty())
    }

    /// What happens to every field of the patch, by the rules that objects have as well.
    fn analyse(
        &self,
        situation: &Situation,
        before: Option<&Content>,
    ) -> Result<Analysis, ManagedFieldsError> {
        let written = match self.content.body(self.target) {
            Some(body) => body,
            None => shown::held_part(self.answer, self.manager)?,
        };
        let former = if self.same {
            Some(written.clone())
        } else {
            before.and_then(|before| before.body(self.target))
        };
        let baseline = situation.private.baseline(None);
        let before = match (&situation.prior, &baseline) {
            // Nothing of it was ours, and all of it is new.
            (None, _) => Before::Imported,
            (Some(_), Some(baseline)) => {
                Before::Applied { written: former.as_ref().unwrap_or(&Json::Null), baseline }
            }
            (Some(_), None) => Before::Untold,
        };
        let outlook = Outlook {
            manager: self.manager,
            before,
            written: &written,
            live: self.live,
            planned: self.answer,
        };
        let what = (self.content, self.same);
        let removed = shown::removals(what, (self.live, self.answer), baseline.as_ref(), self.manager)?;
        Analysis::with_removals(&outlook, &removed, |_| false)
    }

    fn warnings(&self, analysis: &Analysis, verbosity: Verbosity) -> Diagnostics {
        let identity = self.target.to_string();
        // Other than an object, a patch has no fields to ignore: what it does not name is not its own.
        let in_words_of_patches = |warning: Diagnostic| Diagnostic {
            hint: warning.hint.map(|_| LEAVE_TO_OTHERS.to_owned()),
            ..warning
        };
        let warnings = analysis.warnings(&identity, verbosity).into_iter().map(in_words_of_patches);
        let mut diagnostics: Diagnostics = warnings.collect();
        let drifted: Vec<&FieldTransition> =
            analysis.fields.iter().filter(|field| field.change.is_some()).collect();
        if self.same && !drifted.is_empty() && verbosity != Verbosity::None {
            diagnostics.add(fighting(self.target, analysis, &drifted));
        }
        diagnostics
    }
}

/// The warning that somebody has changed what the patch set. It names fields and managers, and no values.
fn fighting(target: &ObjectRef, analysis: &Analysis, drifted: &[&FieldTransition]) -> Diagnostic {
    let mut detail = format!(
        "These fields of {target} no longer are what this patch made them; the apply will set them again:\n"
    );
    for field in drifted.iter().take(MOST_FIELDS) {
        let owners: Vec<&str> = field.others.iter().map(FieldManager::as_str).collect();
        let owner = if owners.is_empty() { "unknown".to_owned() } else { owners.join(", ") };
        let _infallible = write!(detail, "\n  {} (now held by: {owner})", analysis.shown(field));
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
        .detail(format!("{detail}\n\nIf their manager stays active, both will go on setting them. To see who holds what:\n\n  {look}"))
        .object(target.to_string())
        .hint(LEAVE_TO_OTHERS)
}

#[cfg(test)]
mod tests;
