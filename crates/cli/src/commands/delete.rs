//! `plimsoll delete`: deletes objects, waits until they are gone, and reports what blocks the rest.

use std::io;
use std::time::Duration;

use cluster::{Class, Deletion, Error, Propagation, Session};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};

use crate::args::applyset::ParentName;
use crate::args::delete::Delete;
use crate::args::objects::ObjectArgs;
use crate::codes;
use crate::support::applyset::ApplySet;
use crate::support::batch::replacement::propagation;
use crate::support::batch::resolve;
use crate::support::concurrency::all;
use crate::support::connect::{Cluster, missing};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::in_flight::InFlight;
use crate::support::object_json;
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer, object_name};
use crate::support::process::until_interrupted;
use crate::support::targets::{Choice, Targets};

pub(super) fn run(args: &Delete, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let mut set = None;
        let (cluster, targets, choice) = if let Some(name) = &args.applyset {
            let cluster = Cluster::connect(&args.objects.cluster)?;
            let found = set.insert(find_set(&cluster, name, args.adopt_applyset).await?);
            let members = found.members().cloned().collect();
            (cluster, members, Choice::Selected)
        } else {
            refuse_names_everywhere(&args.objects)?;
            let Targets { cluster, objects, choice } =
                Targets::find(&args.objects, "Delete", printer).await?;
            (cluster, objects, choice)
        };
        // An object from the command line should exist; one from a file may be gone already.
        let named = matches!(choice, Choice::One | Choice::Named) && !args.ignore_not_found;
        // Namespaces and CRDs last: deleting them deletes their objects, and hides what blocks those.
        let (last, first): (Vec<_>, Vec<_>) = targets.into_iter().partition(resolve::is_needed_by_others);
        let mut results = Vec::new();
        let how = |target: &ObjectRef| how(args, target);
        for targets in [first, last] {
            results.extend(delete_all(&cluster.session, targets, &how, printer).await);
        }
        let failed = |(_, result): &(ObjectRef, DeleteResult)| result.is_failure(named);
        // The parent goes last: it is how a later delete finds what is left.
        if let Some(set) = set.filter(|_| !results.iter().any(failed)) {
            // What it owns is about the set, and of no use without it.
            let how =
                |target: &ObjectRef| cluster::Delete { propagation: Propagation::Background, ..how(target) };
            results.extend(delete_all(&cluster.session, vec![set.parent], &how, printer).await);
        }
        show(printer, &results, named)?;
        Ok(if results.iter().any(failed) { Exit::Failure } else { Exit::Success })
    })
}

/// The set, all of whose members are known.
async fn find_set(cluster: &Cluster, name: &ParentName, adopt: bool) -> Result<ApplySet, Failure> {
    let mut set = ApplySet::find(cluster, name, adopt).await?;
    if !set.exists() {
        return Err(missing_here(&set.parent).into());
    }
    match set.unlisted.pop() {
        Some(unlisted) => Err(unlisted.into()),
        None => Ok(set),
    }
}

/// Refuses to search for a name in all namespaces: the one that has it may not be the one that was meant.
fn refuse_names_everywhere(args: &ObjectArgs) -> Result<(), Failure> {
    if !args.all_namespaces || args.all || args.selector.is_some() {
        return Ok(());
    }
    Err(Diagnostic::error(codes::OBJECTS_UNCLEAR, "an object is not deleted by its name in all namespaces")
        .hint("Choose its namespace with --namespace.")
        .into())
}

/// The error for an object that does not exist; deletions are limited to one namespace.
fn missing_here(target: &ObjectRef) -> Diagnostic {
    let finding = missing(target);
    if target.namespace.is_some() {
        finding.hint("Choose another namespace with --namespace.")
    } else {
        finding
    }
}

/// The outcome for one object.
pub(super) enum DeleteResult {
    /// It did not exist.
    Absent,
    Ended(Deletion),
    Failed(Box<Diagnostic>),
}

impl DeleteResult {
    /// Whether `named` objects, which should exist, make the command fail.
    fn is_failure(&self, named: bool) -> bool {
        match self {
            Self::Absent => named,
            Self::Ended(ended) => matches!(ended, Deletion::Stuck(_)),
            Self::Failed(_) => true,
        }
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Ended(Deletion::Gone { .. }) => "gone",
            Self::Ended(Deletion::Recreated) => "replaced",
            Self::Ended(Deletion::Requested) => "asked",
            Self::Ended(Deletion::Stuck(_)) => "stuck",
            Self::Failed(_) => "failed",
        }
    }

    fn finding(&self, target: &ObjectRef, named: bool) -> Option<Diagnostic> {
        match self {
            Self::Absent if named => Some(missing_here(target)),
            Self::Failed(diagnostic) => Some((**diagnostic).clone()),
            Self::Ended(Deletion::Stuck(stuck)) => Some(stuck.diagnostic().hint(
                "Wait longer with --timeout, let the controllers behind the finalizers finish, or remove the finalizers with --force.",
            )),
            Self::Ended(ended) => ended.warning(target),
            Self::Absent => None,
        }
    }
}

/// Deletes all of them at the same time, each as `how` says.
pub(super) async fn delete_all(
    session: &Session,
    targets: Vec<ObjectRef>,
    how: &impl Fn(&ObjectRef) -> cluster::Delete,
    printer: &Printer,
) -> Vec<(ObjectRef, DeleteResult)> {
    let in_flight = InFlight::new(printer.progress(targets.len(), "deleting"));
    let deleted = targets.into_iter().map(|target| {
        in_flight.track(target.clone(), async {
            let result = match delete_one(session, &target, how(&target)).await {
                Ok(result) => result,
                Err(error) => DeleteResult::Failed(Box::new(error.diagnostic("Delete"))),
            };
            (target, result)
        })
    });
    let results = all(deleted).await;
    in_flight.finish();
    results
}

async fn delete_one(
    session: &Session,
    target: &ObjectRef,
    how: cluster::Delete,
) -> Result<DeleteResult, Error> {
    let live = match session.read(target).await {
        Err(error) if error.is_kind_absent() || error.class() == Class::InvalidGroup => {
            return Ok(DeleteResult::Absent);
        }
        read => read?,
    };
    let Some(live) = live else { return Ok(DeleteResult::Absent) };
    // A new object of the same name is not ours to delete.
    let uid = live.object["metadata"]["uid"].as_str().map(str::to_owned);
    session.delete(target, &cluster::Delete { uid, ..how }).await.map(DeleteResult::Ended)
}

fn how(args: &Delete, target: &ObjectRef) -> cluster::Delete {
    let usual = cluster::Delete::of(target);
    cluster::Delete {
        propagation: propagation(args.cascade),
        timeout: if args.no_wait { Duration::ZERO } else { args.timeout.unwrap_or(usual.timeout) },
        force: args.force,
        ..usual
    }
}

/// Shows how deletions of objects that may be gone already ended.
pub(super) fn finish(printer: &mut Printer, results: &[(ObjectRef, DeleteResult)]) -> Outcome {
    show(printer, results, false)?;
    let failed = results.iter().any(|(_, result)| result.is_failure(false));
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

fn show(printer: &mut Printer, results: &[(ObjectRef, DeleteResult)], named: bool) -> io::Result<()> {
    if results.is_empty() {
        printer.message("there is nothing to delete");
    }
    let data: Vec<Value> = results.iter().map(|(target, result)| to_json(target, result)).collect();
    let deleted = results.iter().filter(|(_, result)| {
        matches!(result, DeleteResult::Ended(Deletion::Gone { .. } | Deletion::Requested))
    });
    printer.outcome(&data, deleted.map(|(target, _)| object_name(target)), |printer| {
        results.iter().try_for_each(|(target, result)| printer.data(line(target, result)))
    })?;
    for finding in results.iter().filter_map(|(target, result)| result.finding(target, named)) {
        printer.diagnostic(&finding);
    }
    Ok(())
}

fn line(target: &ObjectRef, result: &DeleteResult) -> String {
    match result {
        DeleteResult::Absent => format!("{DIM}  {target} did not exist{DIM:#}"),
        DeleteResult::Failed(_) => format!("{BAD}! {target} was not deleted{BAD:#}"),
        DeleteResult::Ended(Deletion::Requested) => {
            format!("{PENDING}- {target} is being deleted{PENDING:#}")
        }
        DeleteResult::Ended(Deletion::Stuck(_)) => format!("{BAD}! {target} still exists{BAD:#}"),
        DeleteResult::Ended(Deletion::Recreated) => {
            format!("{PENDING}- {target} is gone, and a new object has its name{PENDING:#}")
        }
        DeleteResult::Ended(Deletion::Gone { .. }) => format!("{GOOD}- {target} is gone{GOOD:#}"),
    }
}

fn to_json(target: &ObjectRef, result: &DeleteResult) -> Value {
    let forced = match result {
        DeleteResult::Ended(Deletion::Gone { forced }) => forced.clone(),
        _ => Vec::new(),
    };
    object_json(target, json!({ "outcome": result.word(), "forcedFinalizers": forced }))
}
