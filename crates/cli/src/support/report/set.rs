//! Renders what happens to a set: its parent, and the members that are deleted or kept, before everything else.

use std::io;

use plan::applyset::Fate;
use serde_json::{Value, json};

use super::text::Tense;
use crate::support::applyset::{Prune, SetPlan};
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
    for Prune { target, fate, .. } in &plan.prunes {
        match fate {
            Fate::Keep(why) => printer.data(format_args!("{DIM}= {target}   kept: {why}{DIM:#}"))?,
            Fate::Delete { .. } if !plan.is_pruned => {
                printer
                    .data(format_args!("{DIM}= {target}   not in the files; --prune deletes it{DIM:#}"))?;
            }
            Fate::Delete { finalizers } => {
                printer.data(format_args!("{BAD}- {target}{BAD:#}"))?;
                if !finalizers.is_empty() && tense == Tense::Plan {
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
    let prune = |prune: &Prune| {
        let fields = match &prune.fate {
            Fate::Keep(why) => json!({ "action": "keep", "why": why }),
            Fate::Delete { finalizers } => {
                let action = if plan.is_pruned { "delete" } else { "keep" };
                json!({ "action": action, "finalizers": finalizers })
            }
        };
        object_json(&prune.target, fields)
    };
    let fields = json!({
        "id": plan.set.id,
        "exists": plan.set.exists(),
        "adoptedFrom": plan.set.adopted_from(),
        "members": plan.prunes.iter().map(prune).collect::<Vec<_>>(),
    });
    object_json(&plan.set.parent, fields)
}
