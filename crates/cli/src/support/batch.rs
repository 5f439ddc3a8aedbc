//! The objects in the files of `plan`, `apply`, `drift` and `delete`, resolved against the cluster.

mod dry_runs;
mod live;
#[cfg(test)]
mod parity;
pub(crate) mod resolve;

use std::collections::HashMap;

use cluster::{Class, Dependency, Error, ErrorKind, Reply, Session, Write};
use diag::Diagnostic;
use manifest::ObjectRef;
use ownership::{Desired, FieldManager, ManagedFieldsError, Observed, Prior, Verbosity};
use plan::{LocalAnswer, Preview, Question};
use serde_json::Value;

use self::dry_runs::DryRuns;
use self::resolve::{Pending, ResolvedObject};
use super::concurrency::all;
use super::connect::{Cluster, unreadable_managers};
use super::exit::Failure;
use super::files;
use super::in_flight::InFlight;
use super::printer::Printer;
use super::report::{ObjectReport, Report};
use crate::args::cluster::ClusterArgs;
use crate::args::files::FileArgs;
use crate::args::plan::WriterArgs;
use crate::codes;

/// Replaces the advice to use `ignore_fields`, which files do not have.
const OMIT_FIELDS: &str = "Remove them from the file to leave them to the other manager.";

/// The objects in the files, resolved, and their live state.
pub(crate) struct Batch {
    pub(crate) objects: Vec<ResolvedObject>,
    live: HashMap<ObjectRef, Result<Observed, ManagedFieldsError>>,
    /// Problems in documents that are not among the objects.
    pub(crate) problems: Vec<Diagnostic>,
}

impl Batch {
    pub(crate) async fn load(files: &FileArgs, cluster: &ClusterArgs) -> Result<(Self, Cluster), Failure> {
        let loaded = files::load_bodies(files)?;
        let cluster = Cluster::connect(cluster)?;
        let (objects, problems) = resolve::resolve_all(&cluster, loaded, "Plan").await?;
        let live = live::read(&cluster.session, &objects).await.map_err(|error| error.diagnostic("Plan"))?;
        let live = live.into_iter().map(|(target, object)| (target, Observed::new(object))).collect();
        Ok((Self { objects, live, problems }, cluster))
    }

    /// Makes a dry run for every object that is not known to stay as it is.
    pub(crate) async fn preview(self, session: &Session, writer: &WriterArgs, printer: &Printer) -> Report {
        let in_flight = InFlight::new(printer.progress(self.objects.len(), "planning"));
        let dry_runs = self.dry_runs(session, writer).await;
        let asked = self.objects.iter().map(|object| {
            in_flight.track(&object.target, self.preview_one(session, object, writer, &dry_runs))
        });
        let objects = all(asked).await;
        in_flight.finish();
        Report { objects, problems: self.problems }
    }

    pub(crate) async fn dry_runs<'b>(&'b self, session: &'b Session, writer: &WriterArgs) -> DryRuns<'b> {
        let manager = FieldManager::new(writer.field_manager.as_str());
        let is_applied = |object: &&ResolvedObject| {
            let live = self.live.get(&object.target).and_then(|live| live.as_ref().ok());
            live.is_some_and(|live| plan::is_applied(&object.body, &manager, live))
        };
        let applied = self.objects.iter().filter(is_applied).map(|object| &object.target);
        DryRuns::new(session, applied.collect()).await
    }

    async fn preview_one(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &WriterArgs,
        dry_runs: &DryRuns<'_>,
    ) -> ObjectReport {
        if dry_runs.question(&object.target).await == Question::Needless {
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
            _ if self.creates_missing_namespace(&error) => {
                ObjectReport::pending(&object.target, Pending::Namespace)
            }
            _ if error.is_unauthorized() => match dry_runs.local_answer(&object.target).await {
                LocalAnswer::Unchanged => ObjectReport::unchanged(&object.target),
                LocalAnswer::NotAsked => ObjectReport::not_asked(&object.target),
                LocalAnswer::Unknown => ObjectReport::refused(&object.target, refusal(&error, "Plan")),
            },
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
    pub(crate) fn compare(&self, object: &ResolvedObject, reply: Reply, writer: &WriterArgs) -> ObjectReport {
        self.compare_with(Prior::Unrecorded, object, reply, writer)
    }

    fn compare_with(
        &self,
        prior: Prior<'_>,
        object: &ResolvedObject,
        reply: Reply,
        writer: &WriterArgs,
    ) -> ObjectReport {
        let ResolvedObject { target, body, .. } = object;
        let mut findings = reply.diagnostics(target);
        findings.extend(being_deleted(target, &reply.object));
        let observed = (self.live.get(target).map(Result::as_ref).transpose(), Observed::new(reply.object));
        let (live, answer) = match observed {
            (Ok(live), Ok(answer)) => (live, answer),
            (Err(error), _) => return ObjectReport::refused(target, unreadable_managers(target, error)),
            (_, Err(error)) => return ObjectReport::refused(target, unreadable_managers(target, &error)),
        };
        let manager = FieldManager::new(writer.field_manager.as_str());
        let preview = Preview::new(&Desired::new(&manager, body), prior, live, &answer);
        let warnings = preview.warnings(&target.to_string(), Verbosity::Full, Some(OMIT_FIELDS));
        ObjectReport::known(target, preview, warnings.into_iter().chain(findings).collect())
    }

    /// Whether the same files create the missing namespace.
    fn creates_missing_namespace(&self, error: &Error) -> bool {
        let ErrorKind::NamespaceMissing { namespace } = error.kind() else { return false };
        self.creates_namespace(namespace)
    }

    fn creates_namespace(&self, name: &str) -> bool {
        let is_it = |target: &ObjectRef| target.group().is_empty() && target.kind() == "Namespace";
        self.objects.iter().any(|object| is_it(&object.target) && object.target.name == name)
    }

    /// Whether the rest of the files may still bring what `object` lacks: a kind comes with a CRD or with an operator.
    /// A webhook may also belong to what was applied just before.
    pub(crate) fn may_bring(&self, dependency: &Dependency, object: &ResolvedObject) -> bool {
        match dependency {
            Dependency::Namespace(namespace) => self.creates_namespace(namespace),
            Dependency::Kind(_) => {
                object.pending.is_some() || self.objects.iter().any(|other| other.is_served)
            }
            Dependency::Webhook(_) => true,
        }
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

/// Why an object was rejected, with advice for the command line.
pub(crate) fn refusal(error: &Error, operation: &str) -> Diagnostic {
    let diagnostic = error.diagnostic(operation);
    match error.kind() {
        ErrorKind::NamespaceMissing { namespace } => diagnostic.hint(format!(
            "Check its spelling, add it to the files, or create it first: kubectl create namespace {namespace}"
        )),
        _ => match error.class() {
            Class::FieldManagerConflict => diagnostic.hint(
                "Remove the fields from the file, or take them from the other managers with --force-conflicts.",
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
    use super::*;

    #[test]
    fn an_apply_waits_only_for_what_the_files_may_create() {
        let object = |gvk: &str, namespace: &str, name: &str, is_served: bool| {
            let namespace = manifest::Namespace::new(namespace);
            let target = ObjectRef::new(gvk.parse().unwrap(), namespace, name);
            ResolvedObject { target, body: Value::Null, is_served, pending: None }
        };
        let check = |dependency: &Dependency, objects: Vec<ResolvedObject>, expected: bool| {
            let batch = Batch { objects, live: HashMap::new(), problems: Vec::new() };
            let first = &batch.objects[0];
            assert_eq!(batch.may_bring(dependency, first), expected, "{}", first.target);
        };
        let settings = || object("v1/ConfigMap", "shop", "a", true);
        let shop = Dependency::Namespace("shop".to_owned());
        check(&shop, vec![settings()], false);
        check(&shop, vec![settings(), object("v1/Namespace", "", "other", true)], false);
        check(&shop, vec![settings(), object("v1/Namespace", "", "shop", true)], true);
        let route = || object("gateway.networking.k8s.io/v1/HTTPRoute", "shop", "r", false);
        let routes = Dependency::Kind(route().target.gvk);
        check(&routes, vec![route()], false);
        check(&routes, vec![route(), settings()], true);
        check(&Dependency::Webhook("webhook a".to_owned()), vec![settings()], true);
    }
}
