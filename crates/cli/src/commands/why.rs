//! `plimsoll why`: one sentence on why an object is not ready, and the chain of objects from it to the cause.

use std::io;

use crate::args::tree::Why;
use crate::support::cause::{Cause, Step, related};
use crate::support::exit::{Exit, Outcome};
use crate::support::owner_tree::{self, Detail, OwnerTree};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer, object_name};
use crate::support::process::until_interrupted;
use crate::support::targets::{Targets, Unshown};

pub(super) fn run(args: &Why, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let targets = Targets::find_some(&args.objects, "Why", printer).await?;
        let (mut found, mut unshown) = (Vec::new(), Unshown::default());
        // The trees share what they have listed while they exist.
        let mut trees = Vec::new();
        for target in &targets.objects {
            let tree = OwnerTree::list(&targets.cluster, target, "Why", Detail::State).await;
            let Some(tree) = unshown.or_note(targets.choice, tree)? else { continue };
            let root = related(&targets.cluster.session, tree.root.clone()).await;
            found.push((root, owner_tree::parent(&tree.object)));
            trees.push(tree);
        }
        let mut causes = Vec::new();
        for (root, parent) in &found {
            causes.push((Cause::find(Some(&targets.cluster.session), root).await, parent));
        }
        let chains = causes.iter().flat_map(|(cause, _)| &cause.chain);
        let names: Vec<String> = chains.map(|step| object_name(&step.node.target)).collect();
        let data = targets.choice.document(causes.iter().map(|(cause, _)| cause.to_json()).collect());
        printer.output(&data, names, |printer| {
            causes.iter().try_for_each(|(cause, parent)| show(printer, cause, parent.as_deref()))
        })?;
        let is_ready = unshown.report(printer) && causes.iter().all(|(cause, _)| cause.chain.is_empty());
        Ok(if is_ready { Exit::Success } else { Exit::Failure })
    })
}

fn show(printer: &mut Printer, cause: &Cause<'_>, parent: Option<&str>) -> io::Result<()> {
    let chain = &cause.chain;
    let style = if chain.is_empty() { GOOD } else { BAD };
    printer.data(format_args!("{style}{}{style:#}", cause.sentence()))?;
    for (depth, Step { node, why }) in chain.iter().enumerate().filter(|_| chain.len() > 1) {
        let is_cause = depth + 1 == chain.len();
        let why = if is_cause { why } else { first_clause(why) };
        let why = if why.is_empty() { "it reports no status" } else { why };
        let (indent, target) = ("  ".repeat(depth + 1), &node.target);
        printer.data(format_args!("{indent}{target} {DIM}→{DIM:#} {PENDING}{why}{PENDING:#}"))?;
    }
    if let Some(parent) = parent {
        printer.message(format_args!("{DIM}it belongs to {parent}{DIM:#}"));
    }
    Ok(())
}

/// The first clause; the rest repeats what objects further down the chain say better.
fn first_clause(text: &str) -> &str {
    text.split_once("; ").map_or(text, |(clause, _)| clause)
}
