//! `plimsoll plan`: what an apply would change, told before it happens, and what `apply` and `drift` share with it.

mod admission;
mod findings;
mod forecast;
mod live;
pub(super) mod placed;
pub(super) mod report;
mod unchanged;
pub(super) mod view;

use std::collections::{HashMap, HashSet};

use cluster::{Class, Error, ErrorKind, Reply, Session, Write};
use diag::Diagnostic;
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use manifest::ObjectRef;
use ownership::FieldManager;
use serde_json::Value;

use self::admission::Admission;
use self::forecast::Forecast;
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

/// How many requests are under way at the same time.
pub(super) const AT_ONCE: usize = 16;

/// From how many objects on it takes fewer requests to learn who intervenes than to ask about each.
const WORTH_LEARNING: usize = 5;

/// Does all of `work`, much of it at the same time; what comes of it, in the order of the work.
pub(super) async fn all<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    until(std::future::pending(), work).await
}

/// The same, until `stop`: what is under way then is given up, and what is not begun is left.
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

/// Shows what would change.
pub(super) fn run(args: &Plan, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let loaded = files::load(&args.files)?;
        let cluster = Cluster::connect(&args.cluster)?;
        let work = Work::prepare(&cluster, loaded).await?;
        let report = work.foresee(&cluster.session, &args.writer, printer).await;
        view::report(printer, &report, view::Tense::Plan)?;
        Ok(match (report.has_errors(), report.has_changes()) {
            (true, _) => Exit::Failure,
            (false, true) => Exit::Changes,
            (false, false) => Exit::Success,
        })
    })
}

/// What was written, where it goes, and what is there.
pub(super) struct Work {
    pub(super) objects: Vec<Placed>,
    live: HashMap<ObjectRef, Value>,
    /// What is wrong with documents that are not among the objects.
    pub(super) problems: Vec<Diagnostic>,
}

impl Work {
    pub(super) async fn prepare(cluster: &Cluster, loaded: Loaded) -> Result<Self, Failure> {
        let (objects, problems) = placed::place_all(cluster, loaded, "Plan").await?;
        let live = live::read(&cluster.session, &objects).await.map_err(|error| error.diagnostic("Plan"))?;
        Ok(Self { objects, live, problems })
    }

    /// Asks the API server what would become of every object that is not known to stay as it is.
    pub(super) async fn foresee(self, session: &Session, writer: &WriterArgs, printer: &Printer) -> Report {
        let outstanding = Outstanding::new(printer.progress(self.objects.len(), "planning"));
        let settled = self.settled(session, writer).await;
        let asked = self.objects.iter().map(|object| {
            outstanding.during(&object.target, async {
                if settled.contains(&object.target) {
                    ObjectReport::unchanged(&object.target)
                } else {
                    self.foresee_one(session, object, writer).await
                }
            })
        });
        let objects = all(asked).await;
        outstanding.finish();
        Report { objects, problems: self.problems }
    }

    /// The objects that an apply leaves as they are, whatever the API server might be asked.
    pub(super) async fn settled(&self, session: &Session, writer: &WriterArgs) -> HashSet<&ObjectRef> {
        let manager = FieldManager::new(writer.field_manager.as_str());
        let is_unchanged = |object: &&Placed| {
            let live = self.live.get(&object.target);
            live.is_some_and(|live| unchanged::is_unchanged(&object.body, live, &manager))
        };
        let unchanged: Vec<&Placed> = self.objects.iter().filter(is_unchanged).collect();
        if unchanged.len() < WORTH_LEARNING {
            return HashSet::new();
        }
        let Ok(resources) = session.resources().await else { return HashSet::new() };
        let Some(admission) = Admission::read(session, &resources).await else { return HashSet::new() };
        let free: HashSet<_> =
            resources.iter().filter(|it| !admission.concerns(it)).map(|resource| &resource.gvk).collect();
        let targets = unchanged.into_iter().map(|object| &object.target);
        targets.filter(|target| free.contains(&target.gvk)).collect()
    }

    async fn foresee_one(&self, session: &Session, object: &Placed, writer: &WriterArgs) -> ObjectReport {
        if let Some(pending) = object.pending {
            return ObjectReport::pending(&object.target, pending);
        }
        let write = Write::by(&writer.field_manager).dry_run();
        let write = if writer.force_conflicts { write.force() } else { write };
        match session.apply(&object.target, &object.body, write).await {
            Ok(reply) => self.compare(object, &reply, writer),
            Err(error) if self.brings(&error) => ObjectReport::pending(&object.target, Pending::Namespace),
            Err(error) if error.class() == Class::FieldManagerConflict => {
                // What would change is worth knowing all the same, to decide who is to have the fields.
                let conflict = refusal(&error, "Plan");
                match session.apply(&object.target, &object.body, write.force()).await {
                    Ok(reply) => self.compare(object, &reply, writer).but(conflict),
                    Err(_) => ObjectReport::refused(&object.target, conflict),
                }
            }
            Err(error) => ObjectReport::refused(&object.target, refusal(&error, "Plan")),
        }
    }

    /// What the API server's answer to an apply means for an object.
    pub(super) fn compare(&self, object: &Placed, reply: &Reply, writer: &WriterArgs) -> ObjectReport {
        let live = self.live.get(&object.target);
        let manager = FieldManager::new(writer.field_manager.as_str());
        match Forecast::of(&object.target, &object.body, live, &reply.object, &manager) {
            Ok(forecast) => {
                let server = reply.diagnostics(&object.target).into_iter();
                let said = server.chain(going(&object.target, &reply.object)).collect();
                ObjectReport::known(&object.target, forecast, said)
            }
            Err(error) => ObjectReport::refused(&object.target, owners::unreadable(&object.target, &error)),
        }
    }

    /// Whether the namespace that is missing comes with the same files.
    fn brings(&self, error: &Error) -> bool {
        let ErrorKind::NamespaceMissing { namespace, .. } = error.kind() else { return false };
        self.brings_namespace(namespace)
    }

    fn brings_namespace(&self, name: &str) -> bool {
        let is_it = |target: &ObjectRef| target.group().is_empty() && target.kind() == "Namespace";
        self.objects.iter().any(|object| is_it(&object.target) && object.target.name == name)
    }

    /// Whether something in the files may bring what `object` lacks, if it lacks something: its namespace, or its kind,
    /// which may also come from an operator or a definition among them. What nothing brings is not worth a wait.
    pub(super) fn may_bring_what_lacks(&self, object: &Placed) -> bool {
        if object.is_served {
            return object.target.namespace.as_ref().is_some_and(|it| self.brings_namespace(it.as_str()));
        }
        let is_open = plan::may_still_come(&object.target.gvk);
        object.pending.is_some() || (is_open && self.objects.iter().any(|other| other.is_served))
    }
}

/// That an object is on its way out, if it is.
fn going(target: &ObjectRef, object: &Value) -> Option<Diagnostic> {
    let since = object["metadata"]["deletionTimestamp"].as_str()?;
    let finding = Diagnostic::warning(codes::OBJECT_GOING, format!("{target} is being deleted"))
        .object(target.to_string())
        .detail(format!("It is since {since}. What is applied to it now goes with it."))
        .hint("Wait until it is gone, and apply again; `plimsoll why` says what holds it.");
    Some(finding)
}

/// Why an object was not taken, with advice for somebody at a command line.
pub(super) fn refusal(error: &Error, operation: &str) -> Diagnostic {
    let diagnostic = error.diagnostic(operation);
    match error.kind() {
        ErrorKind::NamespaceMissing { namespace, .. } => diagnostic.hint(format!(
            "Check its spelling, put it into the files as well, or create it first: kubectl create namespace {namespace}"
        )),
        _ => match error.class() {
            Class::FieldManagerConflict => diagnostic.hint(
                "Take the fields out of the file, or take them from the other managers with --force-conflicts.",
            ),
            Class::Immutable => diagnostic.hint(
                "Revert the change, or replace the object: delete it with `plimsoll delete`, and apply again.",
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
    fn only_what_the_files_may_bring_is_waited_for() {
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
    async fn what_is_done_before_a_stop_is_told_in_the_order_of_the_work() {
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
