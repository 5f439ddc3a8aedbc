//! `plimsoll plan`: what an apply would change; and what `apply` and `drift` share with it.

mod findings;
mod live;
mod local_answers;
#[cfg(test)]
mod parity;
pub(super) mod placed;
pub(super) mod report;
pub(super) mod view;

use std::collections::HashMap;

use cluster::{Class, Error, ErrorKind, Reply, Session, Write};
use diag::Diagnostic;
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use manifest::ObjectRef;
use ownership::{Desired, FieldManager, ManagedFieldsError, Observed, Prior, Verbosity};
use plan::{Preview, Question};
use serde_json::Value;

use self::local_answers::LocalAnswers;
use self::placed::{Pending, Placed};
use self::report::{ObjectReport, Report};
use super::connect::Cluster;
use super::files::{self, Loaded};
use super::owners;
use crate::args::plan::{Plan, WriterArgs};
use crate::codes;
use crate::exit::{Exit, Failure, Outcome};
use crate::outstanding::Outstanding;
use crate::printer::Printer;
use crate::process::until_interrupted;

/// The most concurrent requests.
pub(super) const AT_ONCE: usize = 16;

/// Files have no `ignore_fields`: to leave a field to others, do not write it.
const LEAVE_TO_OTHERS: &str = "Take them out of the file to leave them to the other manager.";

/// Runs all of `work` concurrently, up to [`AT_ONCE`]; the results are in the order of the work.
pub(super) async fn all<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    until(std::future::pending(), work).await
}

/// The same, until `stop`: running work is cancelled, and the rest never starts.
pub(super) async fn until<T>(
    stop: impl Future<Output = ()>,
    work: impl Iterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    let numbered = work.enumerate().map(|(number, work)| work.map(move |done| (number, done)));
    let under_way = stream::iter(numbered).buffer_unordered(AT_ONCE);
    let mut done: Vec<(usize, T)> = under_way.take_until(Box::pin(stop)).collect().await;
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, done)| done).collect()
}

pub(super) fn run(args: &Plan, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let loaded = files::load_bodies(&args.files)?;
        let cluster = Cluster::connect(&args.cluster)?;
        let work = Work::prepare(&cluster, loaded).await?;
        let report = work.preview(&cluster.session, &args.writer, printer).await;
        view::report(printer, &report, view::Tense::Plan)?;
        Ok(match (report.has_errors(), report.has_changes()) {
            (true, _) => Exit::Failure,
            (false, true) => Exit::Changes,
            (false, false) => Exit::Success,
        })
    })
}

/// The objects in the files, their places, and their live state.
pub(super) struct Work {
    pub(super) objects: Vec<Placed>,
    live: HashMap<ObjectRef, Result<Observed, ManagedFieldsError>>,
    /// Problems in documents that are not among the objects.
    pub(super) problems: Vec<Diagnostic>,
}

impl Work {
    pub(super) async fn prepare(cluster: &Cluster, loaded: Loaded) -> Result<Self, Failure> {
        let (objects, problems) = placed::place_all(cluster, loaded, "Plan").await?;
        let live = live::read(&cluster.session, &objects).await.map_err(|error| error.diagnostic("Plan"))?;
        let live = live.into_iter().map(|(target, object)| (target, Observed::new(object))).collect();
        Ok(Self { objects, live, problems })
    }

    /// Makes a dry run for every object that is not known to stay as it is.
    pub(super) async fn preview(self, session: &Session, writer: &WriterArgs, printer: &Printer) -> Report {
        let outstanding = Outstanding::new(printer.progress(self.objects.len(), "planning"));
        let local = self.local_answers(session, writer).await;
        let asked = self.objects.iter().map(|object| {
            outstanding.during(&object.target, self.preview_one(session, object, writer, &local))
        });
        let objects = all(asked).await;
        outstanding.finish();
        Report { objects, problems: self.problems }
    }

    pub(super) async fn local_answers(&self, session: &Session, writer: &WriterArgs) -> LocalAnswers<'_> {
        let manager = FieldManager::new(writer.field_manager.as_str());
        let is_applied = |object: &&Placed| {
            let live = self.live.get(&object.target).and_then(|live| live.as_ref().ok());
            live.is_some_and(|live| plan::is_applied(&object.body, &manager, live))
        };
        let applied = self.objects.iter().filter(is_applied).map(|object| &object.target);
        LocalAnswers::new(session, applied.collect()).await
    }

    async fn preview_one(
        &self,
        session: &Session,
        object: &Placed,
        writer: &WriterArgs,
        local: &LocalAnswers<'_>,
    ) -> ObjectReport {
        if local.question(&object.target) == Question::Needless {
            return ObjectReport::unchanged(&object.target);
        }
        if let Some(pending) = object.pending {
            return ObjectReport::pending(&object.target, pending);
        }
        let write = Write::by(&writer.field_manager).dry_run();
        let write = if writer.force_conflicts { write.force() } else { write };
        let error = match session.apply(&object.target, &object.body, write).await {
            Ok(reply) => return self.compare(object, reply, writer),
            Err(error) => error,
        };
        match error.class() {
            _ if self.brings(&error) => ObjectReport::pending(&object.target, Pending::Namespace),
            _ if error.is_unauthorized() && local.is_unchanged_unasked(&object.target) => {
                ObjectReport::not_asked(&object.target)
            }
            Class::FieldManagerConflict => {
                // The changes help to decide which manager should have the fields.
                let conflict = refusal(&error, "Plan");
                match session.apply(&object.target, &object.body, write.force()).await {
                    Ok(reply) => self.compare(object, reply, writer).but(conflict),
                    Err(_) => ObjectReport::refused(&object.target, conflict),
                }
            }
            _ => ObjectReport::refused(&object.target, refusal(&error, "Plan")),
        }
    }

    /// What the API server's response to an apply means for an object.
    pub(super) fn compare(&self, object: &Placed, reply: Reply, writer: &WriterArgs) -> ObjectReport {
        let Placed { target, body, .. } = object;
        let mut findings = reply.diagnostics(target);
        findings.extend(being_deleted(target, &reply.object));
        let observed = (self.live.get(target).map(Result::as_ref).transpose(), Observed::new(reply.object));
        let (live, answer) = match observed {
            (Ok(live), Ok(answer)) => (live, answer),
            (Err(error), _) => return ObjectReport::refused(target, owners::unreadable(target, error)),
            (_, Err(error)) => return ObjectReport::refused(target, owners::unreadable(target, &error)),
        };
        let manager = FieldManager::new(writer.field_manager.as_str());
        let preview = Preview::new(&Desired::new(&manager, body), Prior::Unrecorded, live, &answer);
        let warnings = preview.warnings(&target.to_string(), Verbosity::Full, Some(LEAVE_TO_OTHERS));
        ObjectReport::known(target, preview, warnings.into_iter().chain(findings).collect())
    }

    /// Whether the same files create the missing namespace.
    fn brings(&self, error: &Error) -> bool {
        let ErrorKind::NamespaceMissing { namespace, .. } = error.kind() else { return false };
        self.brings_namespace(namespace)
    }

    fn brings_namespace(&self, name: &str) -> bool {
        let is_it = |target: &ObjectRef| target.group().is_empty() && target.kind() == "Namespace";
        self.objects.iter().any(|object| is_it(&object.target) && object.target.name == name)
    }

    /// Whether an object of the files may create what `object` lacks: its namespace, or its kind, which an operator or
    /// a CRD may bring. Otherwise there is nothing to wait for.
    pub(super) fn may_bring_what_lacks(&self, object: &Placed) -> bool {
        if object.is_served {
            return object.target.namespace.as_ref().is_some_and(|it| self.brings_namespace(it.as_str()));
        }
        let is_open = plan::may_still_come(&object.target.gvk);
        object.pending.is_some() || (is_open && self.objects.iter().any(|other| other.is_served))
    }
}

fn being_deleted(target: &ObjectRef, object: &Value) -> Option<Diagnostic> {
    let since = object["metadata"]["deletionTimestamp"].as_str()?;
    let finding = Diagnostic::warning(codes::OBJECT_GOING, format!("{target} is being deleted"))
        .object(target.to_string())
        .detail(format!("Deletion was requested at {since}. What is applied now is deleted with it."))
        .hint("Wait until it is deleted, then apply again; `plimsoll why` shows what holds it up.");
    Some(finding)
}

/// Why an object was rejected, with advice for the command line.
pub(super) fn refusal(error: &Error, operation: &str) -> Diagnostic {
    let diagnostic = error.diagnostic(operation);
    match error.kind() {
        ErrorKind::NamespaceMissing { namespace, .. } => diagnostic.hint(format!(
            "Check its spelling, add it to the files, or create it first: kubectl create namespace {namespace}"
        )),
        _ => match error.class() {
            Class::FieldManagerConflict => diagnostic.hint(
                "Take the fields out of the file, or take them from the other managers with --force-conflicts.",
            ),
            Class::Immutable => diagnostic.hint(
                "Revert the change, or replace the object: delete it with `plimsoll delete`, then apply again.",
            ),
            _ => diagnostic,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::{pending, ready};

    use futures::channel::oneshot;

    use super::*;

    #[test]
    fn only_what_the_files_may_create_is_waited_for() {
        let object = |gvk: &str, namespace: &str, name: &str, is_served: bool| {
            let namespace = manifest::Namespace::new(namespace);
            let target = ObjectRef::new(gvk.parse().unwrap(), namespace, name);
            Placed { target, body: Value::Null, is_served, pending: None }
        };
        let check = |objects: Vec<Placed>, expected: bool| {
            let work = Work { objects, live: HashMap::new(), problems: Vec::new() };
            assert_eq!(work.may_bring_what_lacks(&work.objects[0]), expected, "{}", work.objects[0].target);
        };
        let settings = || object("v1/ConfigMap", "shop", "a", true);
        check(vec![settings()], false);
        check(vec![settings(), object("v1/Namespace", "", "other", true)], false);
        check(vec![settings(), object("v1/Namespace", "", "shop", true)], true);
        let route = || object("gateway.networking.k8s.io/v1/HTTPRoute", "shop", "r", false);
        check(vec![route()], false);
        check(vec![route(), settings()], true);
        check(vec![object("apps/v1/Deploymnet", "shop", "w", false), settings()], false);
        check(vec![object("rbac.authorization.k8s.io/v1/ClusterRol", "", "r", false), settings()], false);
    }

    #[tokio::test]
    async fn results_before_a_stop_are_in_the_order_of_the_work() {
        assert_eq!(all([3, 1, 2].into_iter().map(ready)).await, [3, 1, 2]);
        let (stop, stopped) = oneshot::channel::<()>();
        let stop = RefCell::new(Some(stop));
        let one = async |number: usize| {
            match number {
                2 => pending().await,
                3 => drop(stop.take()),
                _ => {}
            }
            number
        };
        assert_eq!(until(stopped.map(drop), (0..5).map(one)).await, [0, 1, 3]);
    }
}
