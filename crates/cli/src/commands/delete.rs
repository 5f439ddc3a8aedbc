//! `plimsoll delete`: deletes objects, waits until they are gone, and reports what blocks the rest.

mod results;

pub(super) use results::{delete_all, finish, is_interrupted};

use std::time::Duration;

use cluster::Propagation;
use diag::Diagnostic;
use manifest::ObjectRef;

use self::results::{DeleteResult, missing_here};
use crate::args::applyset::ParentName;
use crate::args::delete::Delete;
use crate::args::objects::ObjectArgs;
use crate::args::plan::DryRun;
use crate::codes;
use crate::support::applyset::ApplySet;
use crate::support::batch::replacement::propagation;
use crate::support::batch::resolve;
use crate::support::connect::Cluster;
use crate::support::exit::{Failure, Outcome};
use crate::support::printer::Printer;
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
        if args.dry_run == DryRun::Server {
            let parent = set.map(|set| set.parent);
            let all = first.into_iter().chain(last).chain(parent).collect();
            let tried = results::try_all(&cluster.session, all, printer).await?;
            return finish(printer, &tried, named);
        }
        if args.force {
            printer.message("--force removes finalizers after the timeout, as --remove-finalizers; every deletion begins at once");
        }
        let mut results = Vec::new();
        let how = |target: &ObjectRef| how(args, target);
        for targets in [first, last] {
            if is_interrupted(&results) {
                results.extend(targets.into_iter().map(|target| (target, DeleteResult::Interrupted)));
            } else {
                results.extend(delete_all(&cluster.session, targets, &how, printer).await?);
            }
        }
        // The parent goes last: it is how a later delete finds what is left.
        if let Some(set) = set.filter(|_| !results.iter().any(|(_, result)| result.is_failure(named))) {
            // What it owns is about the set, and of no use without it.
            let how =
                |target: &ObjectRef| cluster::Delete { propagation: Propagation::Background, ..how(target) };
            results.extend(delete_all(&cluster.session, vec![set.parent], &how, printer).await?);
        }
        finish(printer, &results, named)
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
    Err(Diagnostic::error(codes::OBJECTS_UNCLEAR, "--all-namespaces cannot be used with a name")
        .hint("Choose its namespace with --namespace.")
        .into())
}

fn how(args: &Delete, target: &ObjectRef) -> cluster::Delete {
    let usual = cluster::Delete::of(target);
    cluster::Delete {
        propagation: propagation(args.cascade),
        timeout: if args.no_wait { Duration::ZERO } else { args.timeout.unwrap_or(usual.timeout) },
        force: args.remove_finalizers || args.force,
        ..usual
    }
}
