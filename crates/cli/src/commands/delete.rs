//! `plimsoll delete`: deletes objects, waits until they are gone, and says what holds those that stay.

use cluster::{Class, Deletion, Error, Propagation, Session};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};
use std::time::Duration;

use crate::args::Format;
use crate::args::delete::{Cascade, Delete};
use crate::support::batch::resolve;
use crate::support::concurrency::all;
use crate::support::connect::{Cluster, missing};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::files::{self, Loaded};
use crate::support::in_flight::InFlight;
use crate::support::kinds;
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};
use crate::support::process::until_interrupted;

/// Deletes the objects, and reports the outcome.
pub(super) fn run(args: &Delete, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let named = !args.objects.is_empty();
        let loaded = if named { Loaded::default() } else { files::load(&args.files)? };
        let cluster = Cluster::connect(&args.cluster)?;
        let targets =
            if named { typed(&cluster, args).await? } else { written(&cluster, loaded, printer).await? };
        // Namespaces and CRDs go last: their objects would go with them, and what holds those would stay hidden.
        let (last, first): (Vec<_>, Vec<_>) = targets.into_iter().partition(resolve::is_needed_by_others);
        let mut reports = Vec::new();
        for targets in [first, last] {
            reports.extend(delete(&cluster.session, targets, args, printer).await);
        }
        show(printer, &reports, named)?;
        let failed = |(_, fate): &(ObjectRef, Fate)| fate.is_failure(named);
        Ok(if reports.iter().any(failed) { Exit::Failure } else { Exit::Success })
    })
}

/// The error for an object that does not exist; deletions are limited to one namespace.
fn missing_here(target: &ObjectRef) -> Diagnostic {
    let finding = missing(target);
    if target.namespace.is_some() {
        finding.hint("Name another namespace with --namespace.")
    } else {
        finding
    }
}

/// The outcome for one object.
enum Fate {
    /// It did not exist.
    Absent,
    Ended(Deletion),
    Failed(Box<Diagnostic>),
}

impl Fate {
    /// An object from the command line should exist; one from a file may be gone already.
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
                "Allow more time with --timeout, let the controllers behind the finalizers finish, or remove the finalizers with --force.",
            )),
            Self::Ended(ended) => ended.warning(target),
            Self::Absent => None,
        }
    }
}

async fn typed(cluster: &Cluster, args: &Delete) -> Result<Vec<ObjectRef>, Failure> {
    let mut targets = Vec::new();
    for object in &args.objects {
        let resource = kinds::resolve(&cluster.session, &object.kind).await?;
        let namespace = resource.namespaced.then(|| cluster.namespace.clone());
        targets.push(ObjectRef::new(resource.gvk, namespace, &object.name));
    }
    Ok(targets)
}

async fn written(
    cluster: &Cluster,
    loaded: Loaded,
    printer: &mut Printer,
) -> Result<Vec<ObjectRef>, Failure> {
    let (objects, problems) = resolve::resolve_all(cluster, loaded, "Delete").await?;
    let mut problems = problems.into_iter();
    let Some(first) = problems.next() else {
        // If its kind does not exist, neither does the object.
        return Ok(objects.into_iter().map(|object| object.target).collect());
    };
    problems.for_each(|problem| printer.diagnostic(&problem));
    Err(first.into())
}

async fn delete(
    session: &Session,
    targets: Vec<ObjectRef>,
    args: &Delete,
    printer: &Printer,
) -> Vec<(ObjectRef, Fate)> {
    let in_flight = InFlight::new(printer.progress(targets.len(), "deleting"));
    let deleted = targets.into_iter().map(|target| {
        in_flight.track(target.clone(), async {
            let fate = match delete_one(session, &target, args).await {
                Ok(fate) => fate,
                Err(error) => Fate::Failed(Box::new(error.diagnostic("Delete"))),
            };
            (target, fate)
        })
    });
    let fates = all(deleted).await;
    in_flight.finish();
    fates
}

async fn delete_one(session: &Session, target: &ObjectRef, args: &Delete) -> Result<Fate, Error> {
    let live = match session.read(target).await {
        Err(error) if matches!(error.class(), Class::KindMissing | Class::InvalidGroup) => {
            return Ok(Fate::Absent);
        }
        read => read?,
    };
    let Some(live) = live else { return Ok(Fate::Absent) };
    let how = cluster::Delete {
        propagation: match args.cascade {
            Cascade::Background => Propagation::Background,
            Cascade::Foreground => Propagation::Foreground,
            Cascade::Orphan => Propagation::Orphan,
        },
        // A new object of the same name is not ours to delete.
        uid: live.object["metadata"]["uid"].as_str().map(str::to_owned),
        timeout: if args.no_wait { Duration::ZERO } else { args.timeout },
        force: args.force,
        ..cluster::Delete::of(target)
    };
    session.delete(target, &how).await.map(Fate::Ended)
}

fn show(printer: &mut Printer, reports: &[(ObjectRef, Fate)], named: bool) -> Result<(), Failure> {
    match printer.format() {
        Format::Json | Format::Yaml => {
            printer.structured(
                &reports.iter().map(|(target, fate)| to_json(target, fate)).collect::<Vec<_>>(),
            )?;
        }
        Format::Name => {
            for (target, fate) in reports {
                if matches!(fate, Fate::Ended(Deletion::Gone { .. } | Deletion::Requested)) {
                    printer.name(target)?;
                }
            }
        }
        Format::Text => {
            for (target, fate) in reports {
                printer.data(line(target, fate))?;
            }
        }
    }
    for finding in reports.iter().filter_map(|(target, fate)| fate.finding(target, named)) {
        printer.diagnostic(&finding);
    }
    Ok(())
}

fn line(target: &ObjectRef, fate: &Fate) -> String {
    match fate {
        Fate::Absent => format!("{DIM}  {target} was not there{DIM:#}"),
        Fate::Failed(_) => format!("{BAD}! {target} was not deleted{BAD:#}"),
        Fate::Ended(Deletion::Requested) => format!("{PENDING}- {target} is asked to go{PENDING:#}"),
        Fate::Ended(Deletion::Stuck(_)) => format!("{BAD}! {target} is still there{BAD:#}"),
        Fate::Ended(Deletion::Recreated) => {
            format!("{PENDING}- {target} is gone, and another object has its name{PENDING:#}")
        }
        Fate::Ended(Deletion::Gone { .. }) => format!("{GOOD}- {target} is gone{GOOD:#}"),
    }
}

fn to_json(target: &ObjectRef, fate: &Fate) -> Value {
    let forced = match fate {
        Fate::Ended(Deletion::Gone { forced }) => forced.clone(),
        _ => Vec::new(),
    };
    json!({
        "apiVersion": target.api_version().to_string(), "kind": target.kind(), "name": target.name,
        "namespace": target.namespace.as_ref().map(manifest::Namespace::as_str),
        "outcome": fate.word(), "forcedFinalizers": forced,
    })
}
