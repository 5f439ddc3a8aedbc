//! `plimsoll why`: one sentence on why an object is not ready, and the chain of objects from it to the cause.

use crate::args::tree::Why;
use crate::support::cause::{Cause, Step};
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::owner_tree::{self, OwnerTree};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer, object_name};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Why, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let (cluster, target) = Cluster::with_target(&args.target).await?;
        let tree = OwnerTree::list(&cluster, &target, "Why").await?;
        let root = tree.root()?;
        let cause = Cause::find(&cluster.session, &root).await;
        let chain = &cause.chain;
        let names = chain.iter().map(|step| object_name(&step.node.target));
        printer.output(&cause.to_json(), names, |printer| {
            let style = if chain.is_empty() { GOOD } else { BAD };
            printer.data(format_args!("{style}{}{style:#}", cause.sentence()))?;
            for (depth, Step { node, why }) in chain.iter().enumerate().filter(|_| chain.len() > 1) {
                let is_cause = depth + 1 == chain.len();
                let why = if is_cause { why } else { first_clause(why) };
                let why = if why.is_empty() { "it reports no status" } else { why };
                let (indent, target) = ("  ".repeat(depth + 1), &node.target);
                printer.data(format_args!("{indent}{target} {DIM}→{DIM:#} {PENDING}{why}{PENDING:#}"))?;
            }
            if let Some(parent) = owner_tree::parent(&tree.object) {
                printer.message(format_args!("{DIM}it belongs to {parent}{DIM:#}"));
            }
            Ok(())
        })?;
        Ok(if chain.is_empty() { Exit::Success } else { Exit::Failure })
    })
}

/// The first clause; the rest repeats what objects further down the chain say better.
fn first_clause(text: &str) -> &str {
    text.split_once("; ").map_or(text, |(clause, _)| clause)
}
