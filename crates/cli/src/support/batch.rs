//! The objects in the files of `plan`, `apply`, `drift` and `delete`, resolved against the cluster.

mod dry_runs;
mod live;
#[cfg(test)]
mod parity;
pub(crate) mod resolve;
pub(crate) mod writer;

use std::collections::HashMap;

use cluster::{Class, Error, ErrorKind, FieldConflict, PatchType, Reply, Session, Write};
use diag::Diagnostic;
use indicatif::ProgressBar;
use manifest::ObjectRef;
use operator::composition::preview::is_platform;
use ownership::{
    Desired, FieldManager, Handover, ListItems, Observed, Prior, Reporting, client_side_appliers,
};
use plan::{FieldChange, LocalAnswer, Preview, Question};
use serde_json::Value;

use self::dry_runs::DryRuns;
use self::resolve::{Pending, ResolvedObject};
use self::writer::Writer;
use super::applyset::SetPlan;
use super::concurrency::all;
use super::connect::{Cluster, unreadable_managers};
use super::exit::Failure;
use super::files::{self, Loaded};
use super::in_flight::InFlight;
use super::mask_key::MASK_KEY;
use super::report::{ObjectReport, Report, Whole};
use crate::args::applyset::SetArgs;
use crate::args::cluster::ClusterArgs;
use crate::args::plan::BodyArgs;
use crate::codes;

/// Replaces the advice to use `ignore_fields`, which files do not have.
const OMIT_FIELDS: &str =
    "To leave them to the other manager, remove them from the file, or pass --ignore or --leave-to.";

/// The objects in the files, resolved, and their live state.
pub(crate) struct Batch {
    pub(crate) objects: Vec<ResolvedObject>,
    /// The objects that exist, or why they cannot be read.
    live: HashMap<ObjectRef, Result<Observed, Box<Diagnostic>>>,
    /// Problems in documents that are not among the objects.
    pub(crate) problems: Vec<Diagnostic>,
    /// The set that the objects belong to, and its members that are not among them.
    pub(crate) set: Option<SetPlan>,
}

impl Batch {
    /// `operation` begins the titles of errors.
    pub(crate) async fn load(
        bodies: &BodyArgs,
        set: &SetArgs,
        cluster: &ClusterArgs,
        operation: &str,
    ) -> Result<(Self, Cluster), Failure> {
        let loaded = files::load_bodies(bodies).await?;
        let cluster = Cluster::connect(cluster)?;
        Ok((Self::resolve(loaded, set, &cluster, operation).await?, cluster))
    }

    /// No objects, for a plan that is only about functions.
    pub(crate) fn empty(cluster: &ClusterArgs) -> Result<(Self, Cluster), Failure> {
        let batch = Self { objects: Vec::new(), live: HashMap::new(), problems: Vec::new(), set: None };
        Ok((batch, Cluster::connect(cluster)?))
    }

    /// The same for objects that are already loaded.
    pub(crate) async fn resolve(
        loaded: Loaded,
        set: &SetArgs,
        cluster: &Cluster,
        operation: &str,
    ) -> Result<Self, Failure> {
        let (mut objects, mut problems) = resolve::resolve_all(cluster, loaded, operation).await?;
        let set = SetPlan::make(cluster, set, &mut objects, &mut problems).await?;
        let live = live::read(&cluster.session, &objects).await;
        let observe = |(target, found): (ObjectRef, Result<Value, Error>)| {
            let observed = match found {
                Ok(object) => Observed::new(object).map_err(|error| unreadable_managers(&target, &error)),
                Err(error) => Err(refusal(&error, operation).object(target.to_string())),
            };
            (target, observed.map_err(Box::new))
        };
        Ok(Self { objects, live: live.into_iter().map(observe).collect(), problems, set })
    }

    /// Makes a dry run for every object that is not known to stay as it is.
    pub(crate) async fn preview(self, session: &Session, writer: &Writer, bar: ProgressBar) -> Report {
        let in_flight = InFlight::new(bar);
        let dry_runs = self.dry_runs(session, writer).await;
        let asked = self.objects.iter().map(|object| {
            in_flight.track(&object.target, self.preview_one(session, object, writer, &dry_runs))
        });
        let objects = all(asked).await;
        in_flight.finish();
        Report { objects, problems: self.problems, set: self.set, composites: None }
    }

    /// What other managers have added to each object, by its place among the objects.
    pub(crate) fn additions(&self, writer: &Writer) -> Vec<Vec<FieldChange>> {
        let of = |object: &ResolvedObject| match self.observed(&object.target) {
            Some(live) => {
                let left = writer.left(Some(live)).unwrap_or_default();
                let left = left.on(&object.body, live.schema());
                let added = plan::additions(&object.body, &writer.manager, live, &MASK_KEY);
                added.into_iter().filter(|change| !left.contains(&change.path)).collect()
            }
            None => Vec::new(),
        };
        self.objects.iter().map(of).collect()
    }

    pub(crate) async fn dry_runs<'b>(&'b self, session: &'b Session, writer: &Writer) -> DryRuns<'b> {
        let is_applied = |object: &&ResolvedObject| {
            self.observed(&object.target).is_some_and(|live| {
                plan::is_applied(&writer.body(&object.body, Some(live)), &writer.manager, live)
            })
        };
        let applied = self.objects.iter().filter(is_applied).map(|object| &object.target);
        DryRuns::new(session, applied.collect()).await
    }

    async fn preview_one(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
        dry_runs: &DryRuns<'_>,
    ) -> ObjectReport {
        if let Some(report) = self.settled(object, dry_runs).await {
            return report;
        }
        let pending = |pending: Pending| {
            let whole = || Whole { before: None, after: Some(plan::visible(&object.body, &MASK_KEY)) };
            ObjectReport::pending(&object.target, pending).with_whole(writer.keeps_whole.then(whole))
        };
        if let Some(missing) = object.pending {
            return pending(missing);
        }
        let write = writer.write().dry_run();
        let compare = |reply| self.compare(object, reply, writer).of_dry_run(&object.body);
        let error = match self.dry_run(session, object, writer, write).await {
            Ok(reply) => return compare(reply),
            Err(error) => error,
        };
        match error.class() {
            _ if self.creates_missing_namespace(&error) => pending(Pending::Namespace),
            _ if error.is_unauthorized() => match dry_runs.local_answer(&object.target).await {
                LocalAnswer::Unchanged => ObjectReport::unchanged(&object.target),
                LocalAnswer::NotAsked => ObjectReport::not_asked(&object.target),
                LocalAnswer::Unknown => ObjectReport::refused(&object.target, refusal(&error, "Plan")),
            },
            Class::FieldManagerConflict => {
                // The changes help to decide which manager should have the fields.
                let conflict = located(refusal(&error, "Plan"), object);
                match self.dry_run(session, object, writer, write.force()).await {
                    Ok(reply) => compare(reply).but(conflict),
                    Err(_) => ObjectReport::refused(&object.target, conflict),
                }
            }
            _ => ObjectReport::refused(&object.target, located(refusal(&error, "Plan"), object)),
        }
    }

    /// What is known about an object without a request: it stays as it is, or it cannot be read.
    pub(crate) async fn settled(
        &self,
        object: &ResolvedObject,
        dry_runs: &DryRuns<'_>,
    ) -> Option<ObjectReport> {
        if let Some(Err(why)) = self.live.get(&object.target) {
            return Some(ObjectReport::refused(&object.target, (**why).clone()));
        }
        let is_needless = dry_runs.question(&object.target).await == Question::Needless;
        is_needless.then(|| ObjectReport::unchanged(&object.target))
    }

    /// Asks what an apply would do, including a take-over from `kubectl apply` and the fields to take.
    async fn dry_run(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        let target = &object.target;
        let observed = self.observed(target);
        let body = writer.body_for_dry_run(&object.body, observed);
        let client_side = self.client_side(target);
        let appliers = client_side.iter().flat_map(|(_, appliers)| appliers);
        let appliers: Vec<&str> = appliers.map(FieldManager::as_str).collect();
        let is_settled = |conflict: &FieldConflict| {
            appliers.contains(&conflict.manager.as_str()) || writer.takes(conflict, &body, observed)
        };
        let mut reply = match session.apply(target, &body, write).await {
            Err(error) if error.class() == Class::FieldManagerConflict => match error.overlooking(is_settled)
            {
                Some(conflict) => return Err(conflict),
                None => session.apply(target, &body, write.force()).await?,
            },
            applied => applied?,
        };
        let Some((live, _)) = client_side else { return Ok(reply) };
        // Managers that cannot be read are reported by the comparison.
        let Ok(answer) = Observed::new(reply.object.clone()) else { return Ok(reply) };
        let patch = plan::takeover_patch(&Desired::new(&writer.manager, &body), live, &answer);
        let dry_run = Write::by(write.manager).dry_run();
        let patched = session.patch(target, PatchType::Json, &Value::Array(patch), dry_run).await?;
        reply.object = plan::after_takeover(live, &answer, patched.object);
        Ok(reply)
    }

    /// Applies an object, after what `kubectl apply` holds has become ours, and what is left to others is theirs.
    pub(crate) async fn apply(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
    ) -> Result<Reply, Error> {
        let (target, live) = (&object.target, self.observed(&object.target));
        self.take_over(session, target, writer).await?;
        writer.release(session, target, &object.body, live).await?;
        writer.apply(session, target, &writer.body(&object.body, live), live).await
    }

    /// Moves what `kubectl apply` holds to the manager who is about to apply.
    async fn take_over(&self, session: &Session, target: &ObjectRef, writer: &Writer) -> Result<(), Error> {
        let Some((live, _)) = self.client_side(target) else { return Ok(()) };
        let edit = |live: &Observed| Handover::of(live).take_over_client_side(&writer.manager).patch();
        let again = |live: Value| edit(&Observed::new(live).ok()?);
        let write = Write::by(writer.manager.as_str());
        session.edit_managed_fields(target, write, edit(live), again).await.map(drop)
    }

    /// The live object, if it exists and can be read.
    pub(crate) fn observed(&self, target: &ObjectRef) -> Option<&Observed> {
        self.live.get(target)?.as_ref().ok()
    }

    /// The live object and the managers of `kubectl apply`, if it wrote the object.
    fn client_side(&self, target: &ObjectRef) -> Option<(&Observed, Vec<FieldManager>)> {
        let live = self.observed(target)?;
        let appliers = client_side_appliers(live);
        (!appliers.is_empty()).then_some((live, appliers))
    }

    /// What the API server's response to an apply means for an object.
    pub(crate) fn compare(&self, object: &ResolvedObject, reply: Reply, writer: &Writer) -> ObjectReport {
        self.compare_with(Prior::Unrecorded, object, reply, writer)
    }

    fn compare_with(
        &self,
        prior: Prior<'_>,
        object: &ResolvedObject,
        reply: Reply,
        writer: &Writer,
    ) -> ObjectReport {
        let ResolvedObject { target, body, .. } = object;
        let mut findings = reply.diagnostics(target);
        findings.extend(being_deleted(target, &reply.object));
        let live = match self.live.get(target) {
            Some(Err(why)) => return ObjectReport::refused(target, (**why).clone()),
            Some(Ok(live)) => Some(live),
            None => None,
        };
        let answer = match Observed::new(reply.object) {
            Ok(answer) => answer,
            Err(error) => return ObjectReport::refused(target, unreadable_managers(target, &error)),
        };
        let left = writer.left(live);
        let desired = writer.desired(body, left.as_ref());
        let preview = Preview::new(&desired, prior, live, &answer, &MASK_KEY);
        let reporting = Reporting { list_items: ListItems::ByKey, ..Reporting::default() };
        let warnings = preview.warnings(&target.to_string(), &reporting, Some(OMIT_FIELDS));
        let whole = writer.keeps_whole.then(|| {
            let visible = |object: &Observed| Some(plan::visible(object.object(), &MASK_KEY));
            Whole { before: live.and_then(visible), after: visible(&answer) }
        });
        let findings = warnings.into_iter().chain(findings).collect();
        let mut report = ObjectReport::known(target, preview, findings).with_whole(whole);
        report.answer = is_platform(target).then(|| answer.object().clone());
        report
    }

    /// Whether the same files create the missing namespace.
    fn creates_missing_namespace(&self, error: &Error) -> bool {
        let ErrorKind::NamespaceMissing { namespace } = error.kind() else { return false };
        resolve::creates_namespace(&self.objects, namespace)
    }
}

fn being_deleted(target: &ObjectRef, object: &Value) -> Option<Diagnostic> {
    let since = object["metadata"]["deletionTimestamp"].as_str()?;
    let finding = Diagnostic::warning(codes::OBJECT_GOING, format!("{target} is being deleted"))
        .object(target.to_string())
        .detail(format!("Deletion was requested at {since}. What is applied now is deleted with it."))
        .hint("Wait until it is deleted, then apply again; `plimsoll why` shows what blocks the deletion.");
    Some(finding)
}

/// The finding with the place of the field that it names. Not for a Secret, whose lines contain its values.
pub(crate) fn located(finding: Diagnostic, object: &ResolvedObject) -> Diagnostic {
    let is_shown = finding.location.is_none() && !manifest::secret::is_secret(&object.body);
    let Some(field) = finding.field.clone().filter(|_| is_shown) else { return finding };
    match files::locate(&object.source, &object.target, &field) {
        Some(span) => finding.at(&object.source, span, ""),
        None => finding,
    }
}

/// Why an object was rejected, with advice for the command line.
pub(crate) fn refusal(error: &Error, operation: &str) -> Diagnostic {
    let diagnostic = error.diagnostic(operation);
    match error.kind() {
        ErrorKind::NamespaceMissing { namespace } => diagnostic.hint(format!(
            "Check its spelling, add it to the files, or create it first: kubectl create namespace {namespace}"
        )),
        _ => match error.class() {
            Class::FieldManagerConflict => diagnostic.hint(
                "Leave the fields to the other managers with --ignore PATH or --leave-to MANAGER, or take them with --take PATH, or all of them with --force-conflicts.",
            ),
            Class::Immutable => diagnostic.hint(
                "Revert the change, or replace the object: delete it with `plimsoll delete`, then apply again.",
            ),
            Class::AlreadyExists => {
                diagnostic.hint("Choose another name, or change it with `plimsoll apply`.")
            }
            _ => diagnostic,
        },
    }
}
