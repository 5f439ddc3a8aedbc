//! The objects in the files of `plan`, `apply`, `drift` and `delete`, resolved against the cluster.

mod creation;
mod dry_runs;
mod live;
mod memory;
mod other_sets;
#[cfg(test)]
mod parity;
pub(crate) mod replacement;
mod requests;
pub(crate) mod resolve;
pub(crate) mod writer;

use std::cell::RefCell;
use std::collections::HashMap;

use cluster::{Class, Error, ErrorKind, Reply, Session};
use composition::platform::is_platform;
use diag::Diagnostic;
use indicatif::ProgressBar;
use manifest::ObjectRef;
use ownership::{ListItems, Observed, Prior, Reporting};
use plan::{FieldChange, LocalAnswer, Preview, Question, SetRecord};
use serde_json::Value;

use self::dry_runs::{DryRuns, Known};
use self::live::Found;
use self::replacement::Replacing;
use self::resolve::{Pending, ResolvedObject};
use self::writer::Writer;
use super::applyset::SetPlan;
use super::concurrency::all;
use super::connect::{Cluster, unreadable_managers};
use super::exit::Failure;
use super::files::{self, Loaded};
use super::in_flight::InFlight;
use super::mask_key::MASK_KEY;
use super::refusal;
use super::report::{ObjectReport, Report, Whole};
use crate::args::applyset::SetArgs;
use crate::args::cluster::ClusterArgs;
use crate::args::plan::BodyArgs;
use crate::codes;

/// Replaces the advice to use `ignore_fields`, which files do not have.
const OMIT_FIELDS: &str =
    "To leave them to the other manager, remove them from the file, or pass --ignore or --leave-to.";

/// Which live objects are kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    All,
    /// Those that an apply may change.
    Unsettled,
}

/// The objects in the files, resolved, and their live state.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) objects: Vec<ResolvedObject>,
    /// The objects that exist, or why they cannot be read.
    live: HashMap<ObjectRef, Result<Observed, Box<Diagnostic>>>,
    /// Whether each object is known to stay as it is. Those are not kept in memory.
    settled: Vec<bool>,
    dry_runs: DryRuns,
    /// Problems in documents that are not among the objects.
    pub(crate) problems: Vec<Diagnostic>,
    /// The set that the objects belong to, and its members that are not among them.
    pub(crate) set: Option<SetPlan>,
    pub(crate) replacing: Replacing,
    /// Whether an object is only written while it is as it was planned.
    pub(crate) is_guarded: bool,
    /// What the next apply of the set will know of this one.
    record: RefCell<Option<SetRecord>>,
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
        Ok((Self::default(), Cluster::connect(cluster)?))
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
        Ok(Self { objects, problems, set, ..Self::default() })
    }

    /// Reads the live objects. `operation` begins the titles of errors.
    pub(crate) async fn read(
        mut self,
        session: &Session,
        writer: &Writer,
        operation: &str,
        keep: Keep,
    ) -> Self {
        let live = RefCell::new(HashMap::new());
        let settled = RefCell::new(vec![false; self.objects.len()]);
        let see = async |found: Vec<Found>| {
            for (place, found) in found {
                let object = &self.objects[place];
                match self.see(session, object, found, writer, operation, keep).await {
                    Some(seen) => {
                        drop(live.borrow_mut().insert(object.target.clone(), seen.map_err(Box::new)));
                    }
                    None => settled.borrow_mut()[place] = true,
                }
            }
        };
        live::read(session, &self.objects, &see).await;
        (self.live, self.settled) = (live.into_inner(), settled.into_inner());
        self
    }

    /// Looks at an object; none is left if it is settled.
    async fn see(
        &self,
        session: &Session,
        object: &ResolvedObject,
        found: Result<Value, Error>,
        writer: &Writer,
        operation: &str,
        keep: Keep,
    ) -> Option<Result<Observed, Diagnostic>> {
        let target = &object.target;
        let live = match found.map(Observed::new) {
            Ok(Ok(live)) => live,
            Ok(Err(error)) => return Some(Err(unreadable_managers(target, &error))),
            Err(error) => {
                return Some(Err(refusal::refusal(&error, operation).object(target.to_string())));
            }
        };
        let is_applied = plan::is_applied(&writer.body(&object.body, Some(&live)), &writer.manager, &live);
        let is_answered = self.is_answered(object, writer, &live);
        let known = Known { is_applied, is_answered };
        let question = self.dry_runs.note(session, target, known).await;
        if question == Question::Needed || keep == Keep::All {
            self.dry_runs.remember(target, known);
            return Some(Ok(live));
        }
        self.remember(object, writer, &live);
        None
    }

    /// The same, with what becomes of objects whose fields cannot be changed.
    pub(crate) fn replacing(self, replacing: Replacing) -> Self {
        Self { replacing, ..self }
    }

    /// Makes a dry run for every object that is not known to stay as it is.
    pub(crate) async fn preview(self, session: &Session, writer: &Writer, bar: ProgressBar) -> Report {
        let in_flight = InFlight::new(bar);
        let asked = (0..self.objects.len()).map(|place| {
            in_flight.track(&self.objects[place].target, self.preview_one(session, place, writer))
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

    async fn preview_one(&self, session: &Session, place: usize, writer: &Writer) -> ObjectReport {
        if let Some(report) = self.settled(session, place).await {
            return report;
        }
        let object = &self.objects[place];
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
        let why = |error: &Error| self.refusal(error, "Plan", object, writer);
        match error.class() {
            _ if self.creates_missing_namespace(&error) => pending(Pending::Namespace),
            _ if error.is_unauthorized() => match self.local_answer(session, object).await {
                LocalAnswer::Unchanged => ObjectReport::unchanged(&object.target),
                LocalAnswer::NotAsked => ObjectReport::not_asked(&object.target),
                LocalAnswer::Unknown => ObjectReport::refused(&object.target, why(&error)),
            },
            Class::FieldManagerConflict => {
                // The changes help to decide which manager should have the fields.
                let conflict = why(&error);
                match self.dry_run(session, object, writer, write.force()).await {
                    Ok(reply) => compare(reply).but(conflict),
                    Err(_) => ObjectReport::refused(&object.target, conflict),
                }
            }
            _ => match self.preview_replacement(session, object, writer, &error).await {
                Some(replaced) => replaced,
                None => ObjectReport::refused(&object.target, why(&error)),
            },
        }
    }

    /// Why the API server rejects an object.
    pub(crate) fn refusal(
        &self,
        error: &Error,
        operation: &str,
        object: &ResolvedObject,
        writer: &Writer,
    ) -> Diagnostic {
        let live = self.observed(&object.target);
        refusal::of_object(error, operation, object, live.map(|live| (writer, live)))
    }

    /// What is known about an object without a request: it stays as it is, or it cannot be read.
    pub(crate) async fn settled(&self, session: &Session, place: usize) -> Option<ObjectReport> {
        let target = &self.objects[place].target;
        if let Some(Err(why)) = self.live.get(target) {
            return Some(ObjectReport::refused(target, (**why).clone()));
        }
        let is_settled = self.settled.get(place) == Some(&true)
            || self.dry_runs.question(session, target).await == Question::Needless;
        is_settled.then(|| ObjectReport::unchanged(target))
    }

    /// What is known of an object that may neither be dry-run nor written.
    pub(crate) async fn local_answer(&self, session: &Session, object: &ResolvedObject) -> LocalAnswer {
        self.dry_runs.local_answer(session, &object.target).await
    }

    /// The live object, if it exists and can be read.
    pub(crate) fn observed(&self, target: &ObjectRef) -> Option<&Observed> {
        self.live.get(target)?.as_ref().ok()
    }

    /// What the API server's response to an apply means for an object.
    pub(crate) fn compare(&self, object: &ResolvedObject, reply: Reply, writer: &Writer) -> ObjectReport {
        self.compare_with(self.prior(&object.target, writer), object, reply, writer)
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
        self.missing_namespace(error).is_some()
    }

    /// The namespace that an object lacks, if the same files create it.
    pub(crate) fn missing_namespace(&self, error: &Error) -> Option<&ResolvedObject> {
        let ErrorKind::NamespaceMissing { namespace } = error.kind() else { return None };
        resolve::namespace_in(&self.objects, namespace)
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
