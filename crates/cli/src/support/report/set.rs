//! Renders what happens to a set, before everything else: its parent, and the members that are deleted or kept.

use std::io;

use serde_json::{Value, json};

use super::text::Tense;
use crate::support::applyset::SetPlan;
use crate::support::applyset::prune::{End, Prune};
use crate::support::object_json;
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};

pub(super) fn show(printer: &mut Printer, plan: &SetPlan, tense: Tense) -> io::Result<()> {
    let parent = &plan.set.parent;
    if !plan.set.exists() {
        printer.data(format_args!("{GOOD}+ {parent}{GOOD:#}   {DIM}parent of the set{DIM:#}"))?;
    }
    if let Some(tool) = plan.set.adopted_from() {
        printer
            .data(format_args!("{PENDING}~ {parent}{PENDING:#}   {DIM}set taken over from {tool}{DIM:#}"))?;
    }
    for (Prune { target, .. }, end) in plan.ends() {
        match end {
            End::Kept(why) => printer.data(format_args!("{DIM}= {target}   kept: {why}{DIM:#}"))?,
            End::NotAsked => {
                printer
                    .data(format_args!("{DIM}= {target}   not in the files; --prune deletes it{DIM:#}"))?;
            }
            End::NotDeleted(why) => {
                printer.data(format_args!("{BAD}! {target}{BAD:#}   not deleted: {why}"))?;
            }
            End::Deleted { finalizers } => {
                printer.data(format_args!("{BAD}- {target}{BAD:#}"))?;
                if !finalizers.is_empty() && tense != Tense::Drift {
                    printer.data(format_args!(
                        "    {DIM}held by finalizers: {}{DIM:#}",
                        finalizers.join(", ")
                    ))?;
                }
            }
        }
    }
    Ok(())
}

pub(super) fn to_json(plan: &SetPlan) -> Value {
    let member = |(prune, end): (&Prune, End<'_>)| {
        let fields = match end {
            End::Kept(why) => json!({ "action": "keep", "why": why }),
            End::NotDeleted(why) => json!({ "action": "keep", "why": format!("not deleted: {why}") }),
            End::NotAsked => json!({ "action": "keep" }),
            End::Deleted { finalizers } => json!({ "action": "delete", "finalizers": finalizers }),
        };
        object_json(&prune.target, fields)
    };
    let fields = json!({
        "id": plan.set.id,
        "exists": plan.set.exists(),
        "adoptedFrom": plan.set.adopted_from(),
        "members": plan.ends().map(member).collect::<Vec<_>>(),
    });
    object_json(&plan.set.parent, fields)
}

#[cfg(test)]
mod tests;
