//! Asks the cluster what an apply would do: reads the object, and makes a dry run if something may have changed.

use cluster::{Class, ConnectError, Error, Write};
use diag::{Diagnostic, Severity};
use fields::{FieldSet, IgnoreFields};
use manifest::ObjectRef;
use ownership::{Desired, Observed, takeover_warning};
use plan::{Intervention, LastAnswer, LocalAnswer, Question};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::Object;

use super::annotations::{self, OwnerAnnotations};
use super::decide::{DryRunResult, Outcome, projection_failed};
use super::{MANAGER, attributes, existing, manager, rejected, write_only};
use crate::body::Body;
use crate::cluster_identity::{self, ClusterChange};
use crate::clusters::Cluster;
use crate::context::Context;
use crate::planned_change::PlannedChange;
use crate::private::{IMPORTED, Keys as _, LAST_ANSWER, STALE_READ};
use crate::write_only::{Configured, Effect, Revealed, WriteOnly, compared_at_apply};
use crate::{autoscaler, codes, dependency};

pub(super) async fn dry_run(context: &Context, change: &PlannedChange) -> Result<Outcome, Diagnostics> {
    let unknown = |target| Outcome::Unknown { target, diagnostics: Diagnostics::new() };
    let Some(text) = change.planned.text("yaml_body").filter(|text| !text.is_empty()) else {
        return Ok(unknown(None));
    };
    let mut body =
        Body::parse(text).map_err(|problems| Diagnostics::from(problems).or_at(&Path::of("yaml_body")))?;
    let write_only = write_only::of(change, &mut body)?;
    if let Some(warning) = change.prior.as_ref().and_then(|prior| another_object(prior, &body)) {
        return Ok(Outcome::Replace { paths: vec![Path::of("yaml_body")], warning: Box::new(warning) });
    }
    let own = change.planned.get("cluster");
    let Some(cluster) = context.planned_cluster(own, ConnectError::diagnostic)? else {
        return Ok(unknown(None));
    };
    let target = match cluster.session().resource(&body.gvk).await {
        Ok(resource) => body.target(resource.namespaced),
        Err(error) => return unanswered(&error, None),
    };
    let mut diagnostics = Diagnostics::new();
    if !change.is_create() {
        match cluster_identity::change(context, change, &cluster).await {
            ClusterChange::None => {}
            ClusterChange::Another => {
                let warning = Box::new(cluster_identity::replacement(
                    "The object will be deleted in the old cluster, with the connection in the state, and created in the new \
                     one.",
                ));
                return Ok(Outcome::Replace { paths: vec![Path::of("cluster")], warning });
            }
            ClusterChange::Unproven => diagnostics.add(cluster_identity::unproven("The object")),
        }
        cluster.mark_ours(&target);
    }
    // The projection omits ignored fields, so it is unknown while they are.
    if !change.planned.get("ignore_fields").is_wholly_known() {
        return Ok(Outcome::Unknown { target: Some(target), diagnostics });
    }
    let write_only = match write_only {
        Configured::Unknown => {
            diagnostics.add(compared_at_apply(write_only::NAMES, change).into_iter().collect::<Vec<_>>());
            return Ok(Outcome::Unknown { target: Some(target), diagnostics });
        }
        Configured::Absent => None,
        Configured::Known(write_only) => Some(write_only),
    };
    DryRun { change, cluster: &cluster, body, write_only, target, diagnostics }.run().await
}

/// What is known before the object itself is read.
struct DryRun<'a> {
    change: &'a PlannedChange,
    cluster: &'a Cluster,
    body: Body,
    write_only: Option<WriteOnly>,
    target: ObjectRef,
    diagnostics: Diagnostics,
}

impl DryRun<'_> {
    async fn run(mut self) -> Result<Outcome, Diagnostics> {
        let Some(prior) = &self.change.prior else { return self.of_create().await };
        let live = match self.cluster.cached_or_read(&self.target).await {
            Ok(live) => live.map(|live| self.observed(live)).transpose()?,
            Err(error) => return unanswered(&error, Some(self.target)),
        };
        if let Some(live) = &live {
            self.change.hidden.add_live(live, self.hidden_marks().as_ref());
        }
        let (manager, ignored) = (manager(), attributes::ignored(&self.change.planned));
        let desired = Desired::new(&manager, &self.body.value).ignoring(&ignored);
        let mut released = FieldSet::new();
        let sent = if let Some(live) = &live {
            if question(self.last_answer(live)) == Question::Needless {
                return Ok(Outcome::Unchanged { target: self.target, diagnostics: self.diagnostics });
            }
            // A following apply needs it again.
            self.cluster.cache(&self.target, live.object());
            released = plan::to_release(&desired, live.managed(), live.schema());
            let sent = plan::body_for_dry_run(&desired, live, &released);
            match (prior.text("id"), annotations::created_at_of(live.object())) {
                (Some(id), Some(created_at)) => {
                    OwnerAnnotations { id: id.to_owned(), created_at: created_at.to_owned() }.add_to(&sent)
                }
                _ => sent,
            }
        } else {
            plan::body_to_send(&desired, None)
        };
        let (sent, revealed) = self.revealed(sent, live.as_ref());
        if revealed == Revealed::Nothing {
            return Ok(Outcome::Unknown { target: Some(self.target), diagnostics: self.diagnostics });
        }
        let write = Write::by(MANAGER).force().dry_run();
        let error = match self.cluster.session().apply(&self.target, &sent, write).await {
            Ok(reply) => {
                self.diagnostics.add(reply.diagnostics(&self.target));
                let planned = self.observed(reply.object)?;
                if let Some(live) = live.as_ref().filter(|_| self.change.private.flag(IMPORTED)) {
                    let warning = takeover_warning(&self.target.to_string(), &desired, live, &planned);
                    self.diagnostics.add(Vec::from_iter(warning));
                }
                let session = self.cluster.session();
                let autoscaler = autoscaler::of(session, &self.target, live.as_ref(), &planned).await;
                return self.answered(ignored, (live, planned), released, autoscaler);
            }
            // The values that are not known yet may be acceptable.
            Err(_) if revealed == Revealed::LiveValues => {
                return Ok(Outcome::Unknown { target: Some(self.target), diagnostics: self.diagnostics });
            }
            Err(error) => error,
        };
        let Some(live) = live else { return self.unanswered(&error, None) };
        let is_applied = || {
            let imported = self.change.private.flag(IMPORTED);
            !imported && released.is_empty() && plan::is_applied(&sent, &manager, &live)
        };
        if error.is_unauthorized() && is_applied() {
            let answer = plan::local_answer(|| true, self.cluster.intervention(&self.target.gvk).await);
            if answer == LocalAnswer::NotAsked {
                let note = plan::not_asked(&self.target);
                // Terraform has no notes.
                self.diagnostics.add(Diagnostic { severity: Severity::Warning, ..note });
            }
            if answer != LocalAnswer::Unknown {
                return Ok(Outcome::Unchanged { target: self.target, diagnostics: self.diagnostics });
            }
        }
        match error.immutable_fields(&sent, live.object()) {
            Some(fields) => Ok(immutable(&self.target, &fields, &error)),
            None if rejected::is_invalid(&error) && self.is_as_applied(prior) => {
                self.diagnostics.add(rejected::warning(&error, &self.body.value, &live));
                Ok(Outcome::Unknown { target: Some(self.target), diagnostics: self.diagnostics })
            }
            None => self.unanswered(&error, Some(&live)),
        }
    }

    /// A create sends everything, including fields that are ignored later.
    async fn of_create(mut self) -> Result<Outcome, Diagnostics> {
        let (sent, revealed) = self.revealed(self.body.value.clone(), None);
        if revealed == Revealed::Nothing {
            return Ok(Outcome::Unknown { target: Some(self.target), diagnostics: self.diagnostics });
        }
        let write = Write::by(MANAGER).force().dry_run();
        match self.cluster.session().apply(&self.target, &sent, write).await {
            Ok(reply) if reply.created() => {
                self.cluster.mark_absent(&self.target);
                self.diagnostics.add(reply.diagnostics(&self.target));
                let planned = self.observed(reply.object)?;
                self.created(planned)
            }
            Ok(reply) => {
                let planned = self.observed(reply.object)?;
                self.exists_already(Some(planned)).await
            }
            // Only an existing object has immutable fields.
            Err(error) if error.class() == Class::Immutable => self.exists_already(None).await,
            Err(error) => self.unanswered(&error, None),
        }
    }

    fn created(self, planned: Observed) -> Result<Outcome, Diagnostics> {
        let ignored = attributes::ignored(&self.change.planned);
        self.answered(ignored, (None, planned), FieldSet::new(), None)
    }

    /// If the object belongs to this state, it is about to be replaced; otherwise the apply will report that it exists.
    /// Until then `planned` is what a create would give: if the object was created after the first plan, Terraform
    /// would report anything less as a bug in the provider.
    async fn exists_already(mut self, planned: Option<Observed>) -> Result<Outcome, Diagnostics> {
        // What an earlier plan in this process saw no longer holds.
        self.cluster.take_absent(&self.target);
        let replaced = self.cluster.was_ours(&self.target);
        if !replaced && let Ok(Some(live)) = self.cluster.session().read(&self.target).await {
            let error = existing::found(&self.target, &live.object, &self.change.planned);
            self.diagnostics.add(Diagnostic { severity: Severity::Warning, ..error });
        }
        match planned.filter(|_| !replaced) {
            Some(planned) => self.created(planned),
            None => Ok(Outcome::Unknown { target: Some(self.target), diagnostics: self.diagnostics }),
        }
    }

    fn answered(
        self,
        ignored: IgnoreFields,
        (live, planned): (Option<Observed>, Observed),
        released: FieldSet,
        autoscaler: Option<String>,
    ) -> Result<Outcome, Diagnostics> {
        let marks = self.hidden_marks();
        let stored = crate::write_only::stored(&self.change.private);
        let both = (live.as_ref(), &planned);
        let manager = manager();
        let desired = Desired::new(&manager, &self.body.value).ignoring(&ignored);
        let write_only = Effect::of(self.write_only.as_ref(), stored.as_ref(), both, &desired);
        let hide = |object: Observed| {
            crate::write_only::hidden(object, marks.as_ref())
                .map_err(|error| Box::new(projection_failed(&self.target, &error)))
        };
        let (live, planned) = (live.map(hide).transpose()?, hide(planned)?);
        let Self { target, body, diagnostics, .. } = self;
        Ok(Outcome::Answered(Box::new(DryRunResult {
            target,
            body,
            ignored,
            live,
            planned,
            released,
            write_only,
            autoscaler,
            diagnostics,
        })))
    }

    /// `sent` with write-only values.
    fn revealed(&self, mut sent: Json, live: Option<&Observed>) -> (Json, Revealed) {
        let Some(write_only) = &self.write_only else { return (sent, Revealed::Everything) };
        let (manager, ignored) = (manager(), attributes::ignored(&self.change.planned));
        let desired = Desired::new(&manager, &self.body.value).ignoring(&ignored);
        let revealed = write_only.reveal(&mut sent, live, &desired);
        (sent, revealed)
    }

    /// The marks of all write-only values that are there now, or were at the last apply.
    fn hidden_marks(&self) -> Option<Json> {
        let stored = crate::write_only::stored(&self.change.private);
        crate::write_only::all_marks(self.write_only.as_ref(), stored, &fields::Schema::of(&self.body.value))
    }

    /// Whether body and `ignore_fields` are as they were in the last apply.
    fn is_as_applied(&self, prior: &Object) -> bool {
        attributes::body(prior).is_some_and(|body| body.value == self.body.value)
            && attributes::ignore_list(prior) == attributes::ignore_list(&self.change.planned)
    }

    fn unanswered(self, error: &Error, live: Option<&Observed>) -> Result<Outcome, Diagnostics> {
        match unanswered(error, Some(self.target)) {
            Err(_) => Err(rejected::explained(error, "Plan", &self.body.value, live).into()),
            outcome => outcome,
        }
    }

    fn observed(&self, object: Json) -> Result<Observed, Diagnostics> {
        Observed::new(object).map_err(|error| projection_failed(&self.target, &error).into())
    }

    /// The fingerprint of the last response, if the state can be relied on.
    fn last_answer(&self, live: &Observed) -> LastAnswer {
        let private = &self.change.private;
        let comparable = self.write_only.as_ref().is_none_or(WriteOnly::may_be_remembered);
        let usable = comparable && !private.flag(STALE_READ) && !private.flag(IMPORTED);
        let remembered: Option<String> = private.get_as(LAST_ANSWER).filter(|_| usable);
        let ignore = attributes::ignore_list(&self.change.planned);
        let hidden = self.hidden_marks().and_then(|marks| {
            let copy = Observed::new(live.object().clone()).ok()?;
            crate::write_only::hidden(copy, Some(&marks)).ok()
        });
        let live = hidden.as_ref().unwrap_or(live);
        let now = remembered.as_ref().map(|_| plan::fingerprint(&self.body.value, &ignore, &manager(), live));
        LastAnswer::compare(remembered.as_ref(), now.as_ref())
    }
}

/// Without a remembered response every plan asks: only a response says what the apply will return to Terraform.
pub(super) fn question(last_answer: LastAnswer) -> Question {
    plan::question(last_answer, || false, Intervention::Unknown)
}

fn unanswered(error: &Error, target: Option<ObjectRef>) -> Result<Outcome, Diagnostics> {
    let diagnostics = dependency::unknown_in_plan(error, "Plan")?;
    Ok(Outcome::Unknown { target, diagnostics })
}

/// The warning that the body names another object than the state. An explicit `default` namespace or another version of
/// the same kind still names the same object.
fn another_object(prior: &Object, body: &Body) -> Option<Diagnostic> {
    let before = attributes::target(prior)?;
    // The same kind has the same scope.
    let now = body.target(before.namespace.is_some());
    let same_kind = before.group() == now.group() && before.kind() == now.kind();
    let namespace =
        |target: &ObjectRef| target.namespace.as_ref().map_or_else(String::new, ToString::to_string);
    let fields = [
        ("kind", before.kind().to_owned(), now.kind().to_owned()),
        (
            "apiVersion",
            before.api_version().to_string(),
            if same_kind { before.api_version().to_string() } else { now.api_version().to_string() },
        ),
        ("metadata.name", before.name.clone(), now.name.clone()),
        ("metadata.namespace", namespace(&before), namespace(&now)),
    ];
    let changed: Vec<String> = fields
        .iter()
        .filter(|(_, before, now)| before != now)
        .map(|(field, before, now)| format!("  {field}: {before:?} → {now:?}"))
        .collect();
    if changed.is_empty() {
        return None;
    }
    let identity = |target: &ObjectRef| match &target.namespace {
        Some(namespace) => format!("{} {namespace}/{}", target.gvk, target.name),
        None => format!("{} {}", target.gvk, target.name),
    };
    let detail = format!(
        "The body names another object:\n{}\n\nOld: {}\nNew: {}\n\nThe old object will be deleted and the new one created.",
        changed.join("\n"),
        identity(&before),
        identity(&now)
    );
    let title = "Resource Identity Changed - Replacement Required";
    Some(Diagnostic::warning(codes::IDENTITY_CHANGED, title).detail(detail))
}

fn immutable(target: &ObjectRef, fields: &[String], error: &Error) -> Outcome {
    let title = "Immutable Field Changed - Replacement Required";
    let warning = Diagnostic::warning(codes::IMMUTABLE_CHANGED, title)
        .detail(format!(
            "{target} will be deleted and created again, because these fields cannot be changed: {}.\n\n{}",
            fields.join(", "),
            error.diagnostic("Plan").detail
        ))
        .object(target.to_string())
        .hint("Revert the change to keep the object.");
    // If the object was replaced outside of Terraform, the body is unchanged; the projection is not.
    let paths = vec![Path::of("yaml_body"), Path::of("managed_state_projection")];
    Outcome::Replace { paths, warning: Box::new(warning) }
}

#[cfg(test)]
mod tests;
