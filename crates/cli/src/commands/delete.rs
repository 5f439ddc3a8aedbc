//! `plimsoll delete`: deletes objects, waits until they are gone, and reports what blocks the rest.

mod results;

pub(super) use results::{delete_all, finish, is_interrupted};

use std::collections::HashMap;
use std::time::Duration;

use cluster::{Deletion, Propagation};
use diag::Diagnostic;
use manifest::ObjectRef;
use plan::applyset::Fate;

use self::results::{DeleteResult, missing_here};
use crate::args::applyset::ParentName;
use crate::args::delete::Delete;
use crate::args::objects::ObjectArgs;
use crate::args::plan::DryRun;
use crate::codes;
use crate::support::applyset::ApplySet;
use crate::support::applyset::prune::Prune;
use crate::support::batch::replacement::propagation;
use crate::support::batch::resolve;
use crate::support::connect::Cluster;
use crate::support::exit::{Failure, Outcome};
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;
use crate::support::targets::{Choice, Targets};

pub(super) fn run(args: &Delete, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let (mut set, mut kept, mut uids) = (None, Vec::new(), HashMap::new());
        let (cluster, targets, choice) = if let Some(name) = &args.applyset {
            let cluster = Cluster::connect(&args.objects.cluster)?;
            let found = set.insert(find_set(&cluster, name, args.adopt_applyset).await?);
            let mut members = Vec::new();
            for Prune { target, uid, fate, .. } in found.deletions(&cluster.session).await {
                match fate {
                    Fate::Keep(why) => kept.push((target, DeleteResult::Kept(why))),
                    Fate::Delete { .. } => {
                        uids.extend(uid.map(|uid| (target.clone(), uid)));
                        members.push(target);
                    }
                }
            }
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
            results::show(printer, &kept)?;
            // A parent stays with what is kept.
            let parent = set.map(|set| set.parent).filter(|_| kept.is_empty());
            let all = first.into_iter().chain(last).chain(parent).collect();
            kept.extend(results::try_all(&cluster.session, all, printer).await?);
            return finish(printer, &kept, named);
        }
        if args.force {
            printer.message("--force removes finalizers after the timeout, as --remove-finalizers; every deletion begins at once");
        }
        results::show(printer, &kept)?;
        let mut results = kept;
        let how =
            |target: &ObjectRef| cluster::Delete { uid: uids.get(target).cloned(), ..how(args, target) };
        for targets in [first, last] {
            if is_interrupted(&results) {
                results.extend(targets.into_iter().map(|target| (target, DeleteResult::Interrupted)));
            } else {
                results.extend(delete_all(&cluster.session, targets, &how, printer).await?);
            }
        }
        // The parent goes last: it is how a later delete finds what is left.
        let remains = |(_, result): &(ObjectRef, DeleteResult)| {
            result.is_failure(named) || matches!(result, DeleteResult::Ended(Deletion::Recreated))
        };
        let is_left = set.is_some() && results.iter().any(remains);
        if let Some(set) = set.as_ref().filter(|_| is_left) {
            let why = "members of its set remain".to_owned();
            let parent = (set.parent.clone(), DeleteResult::Kept(why));
            results::show(printer, std::slice::from_ref(&parent))?;
            results.push(parent);
        } else if let Some(set) = set {
            // What it owns is about the set, and of no use without it.
            let how =
                |target: &ObjectRef| cluster::Delete { propagation: Propagation::Background, ..how(target) };
            results.extend(delete_all(&cluster.session, vec![set.parent], &how, printer).await?);
        }
        let outcome = finish(printer, &results, named);
        if let Some((parent, _)) = results.last().filter(|_| is_left) {
            printer.diagnostic(&set_kept(parent));
        }
        outcome
    })
}

fn set_kept(parent: &ObjectRef) -> Diagnostic {
    Diagnostic::warning(codes::APPLYSET_KEPT, format!("{parent} was not deleted: members of its set remain"))
        .detail("Without this parent of the set, they could not be found again.")
        .hint("Delete the set again once nothing keeps them.")
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
