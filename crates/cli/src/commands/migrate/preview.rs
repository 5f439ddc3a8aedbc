//! What `plimsoll migrate crossplane` would do, for people and for programs.

use std::fmt;

use composition::function::Location;
use composition::object;
use composition::package;
use composition::protocol::Object;
use manifest::ObjectRef;
use operator::Rival;
use serde_json::{Value, json};

use super::changes;
use super::crossplane::first;
use super::idle::Idle;
use super::installed::Operator;
use super::inventory::Inventory;
use super::obstacles;
use super::switch::{is_scaled_down, named};
use crate::args::Format;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};

/// What a migration does with a cluster, in lines.
#[derive(Debug, Default)]
struct Preview {
    takes: Vec<String>,
    changes: Vec<String>,
    keeps: Vec<String>,
    obstacles: Vec<String>,
}

pub(super) fn show(inventory: &Inventory, back: bool, printer: &mut Printer) -> Outcome {
    let preview = if back { to_crossplane(inventory) } else { to_plimsoll(inventory) };
    if printer.format() == Format::Text {
        let taker = if back { "Crossplane takes over" } else { "Plimsoll takes over" };
        let titles: [(&dyn fmt::Display, &[String]); 4] = [
            (&format_args!("{GOOD}{taker}{GOOD:#}"), &preview.takes),
            (&format_args!("{PENDING}will change{PENDING:#}"), &preview.changes),
            (&format_args!("{DIM}unchanged{DIM:#}"), &preview.keeps),
            (&format_args!("{BAD}blocks the migration{BAD:#}"), &preview.obstacles),
        ];
        for (title, lines) in titles.iter().filter(|(_, lines)| !lines.is_empty()) {
            printer.data(title)?;
            lines.iter().try_for_each(|line| printer.data(format_args!("  {line}")))?;
        }
        if !back && inventory.denied.is_none() {
            printer.message(
                "What the operator is allowed to do was not checked: you may not impersonate its account.",
            );
        }
        if preview.obstacles.is_empty() {
            let back = if back { " --back" } else { "" };
            printer.message(format_args!(
                "Nothing was changed. To do it: plimsoll migrate crossplane{back} --apply"
            ));
        }
    } else {
        printer.structured(&to_json(inventory, &preview))?;
    }
    Ok(if preview.obstacles.is_empty() { Exit::Success } else { Exit::Failure })
}

/// Says that there is nothing to migrate.
pub(super) fn nothing(inventory: &Inventory, printer: &mut Printer) -> Outcome {
    if printer.format() == Format::Text {
        printer.message("Crossplane is not installed in this cluster: there is nothing to migrate");
    } else {
        printer.structured(&to_json(inventory, &Preview::default()))?;
    }
    Ok(Exit::Success)
}

fn to_plimsoll(inventory: &Inventory) -> Preview {
    let mut preview = Preview { obstacles: obstacles::find(inventory), ..Preview::default() };
    for offer in &inventory.offers {
        preview.takes.push(format!(
            "CompositeResourceDefinition {}: XRs: {}, claims: {}",
            offer.name,
            offer.xrs.len(),
            offer.claims.len()
        ));
    }
    for name in inventory.functions.iter().filter_map(object::name) {
        preview.takes.push(match inventory.locate(name) {
            Ok(Location::Endpoint(endpoint)) => format!("Function {name}, called at {endpoint}"),
            Ok(Location::BuiltIn) => format!("Function {name}, which is built in"),
            Err(_) => format!("Function {name}, which the operator will run from its package"),
        });
    }
    let composed = changes::composed(inventory);
    preview.changes.push(format!(
        "status and managedFields of XRs ({}) and claims ({})",
        inventory.xrs(),
        inventory.claims()
    ));
    let names = |objects: &[ObjectRef]| first(&objects.iter().map(ToString::to_string).collect::<Vec<_>>());
    if !composed.handed_over.is_empty() {
        preview.changes.push(format!(
            "managedFields of composed resources that an earlier Crossplane wrote by updates ({}): {}",
            composed.handed_over.len(),
            names(&composed.handed_over)
        ));
    }
    if !composed.missing.is_empty() {
        preview.changes.push(format!(
            "composed resources that do not exist are created again ({}): {}",
            composed.missing.len(),
            names(&composed.missing)
        ));
    }
    for (crd, fields) in inventory.offers.iter().flat_map(changes::schemas) {
        preview.changes.push(format!("CustomResourceDefinition {crd}: the schema of {}", fields.join(", ")));
    }
    for (composition, revision) in changes::revisions(inventory) {
        preview.changes.push(format!("Composition {composition}: {revision} becomes its current revision"));
    }
    let running = inventory.crossplane_deployments.iter().filter(|it| !is_scaled_down(it));
    preview.changes.extend(running.map(|it| format!("{}: scaled to zero", named(it))));
    for webhooks in &inventory.webhooks {
        preview.changes.push(format!(
            "{}: failurePolicy Fail becomes Ignore, since Crossplane no longer answers",
            named(webhooks)
        ));
    }
    preview.keeps.push(format!("composed resources that Crossplane applied ({})", composed.untouched));
    preview.keeps.extend(
        inventory.packages.iter().map(|name| format!("{name}: not upgraded while Crossplane is stopped")),
    );
    preview.keeps.extend(inventory.idle.iter().map(Idle::to_string));
    if inventory.usages > 0 {
        preview
            .keeps
            .push(format!("Usages ({}): not enforced while Crossplane is stopped", inventory.usages));
    }
    preview
}

fn to_crossplane(inventory: &Inventory) -> Preview {
    let mut preview = Preview { obstacles: obstacles::find_back(inventory), ..Preview::default() };
    for offer in &inventory.offers {
        preview.takes.push(format!("CompositeResourceDefinition {}", offer.name));
    }
    for (name, revision) in inventory.functions.iter().filter_map(|function| own_runtime(inventory, function))
    {
        preview.takes.push(format!(
            "Function {name}, which Crossplane installs again from its package: {revision} runs in a namespace of Plimsoll's"
        ));
    }
    let (run_on, stop): (Vec<&Operator>, Vec<&Operator>) =
        inventory.operators.iter().partition(|operator| operator.runs_on());
    let running = stop.iter().filter(|it| !is_scaled_down(&it.0));
    preview.changes.extend(running.map(|it| format!("{}: scaled to zero", named(&it.0))));
    preview.keeps.extend(run_on.iter().map(|it| {
        format!("{}: runs on for Oracle Cloud, and leaves compositions to Crossplane", named(&it.0))
    }));
    preview.changes.push(format!(
        "the condition Healthy is removed from XRs ({}) and claims ({})",
        inventory.xrs(),
        inventory.claims()
    ));
    let stopped = inventory.crossplane_deployments.iter().filter(|it| is_scaled_down(it));
    preview.changes.extend(stopped.map(|it| format!("{}: scaled up again", named(it))));
    preview
}

/// A Function whose active revision Plimsoll runs, and the revision.
fn own_runtime<'i>(inventory: &'i Inventory, function: &'i Object) -> Option<(&'i str, &'i str)> {
    let name = object::name(function)?;
    let is_active = |revision: &&Object| package::is_of(revision, name) && package::is_active(revision);
    let revision = inventory.function_revisions.iter().find(is_active)?;
    package::runtime_namespace(revision)?;
    Some((name, object::name(revision)?))
}

fn to_json(inventory: &Inventory, preview: &Preview) -> Value {
    let names = |objects: &mut dyn Iterator<Item = &Object>| objects.map(named).collect::<Vec<_>>();
    let holder = |engine: &Rival| engine.holder.clone();
    json!({
        "crossplane": {
            "holder": inventory.crossplane.as_ref().map(holder),
            "deployments": names(&mut inventory.crossplane_deployments.iter()),
        },
        "plimsoll": {
            "holders": inventory.running.iter().map(holder).collect::<Vec<_>>(),
            "deployments": names(&mut inventory.operators.iter().map(|operator| &operator.0)),
        },
        "definitions": inventory.offers.iter().map(|offer| {
            json!({"name": offer.name, "composites": offer.xrs.len(), "claims": offer.claims.len()})
        }).collect::<Vec<_>>(),
        "webhooks": names(&mut inventory.webhooks.iter()),
        "usages": inventory.usages,
        "packages": inventory.packages,
        "idle": inventory.idle.iter().map(|it| json!({"kind": it.kind, "count": it.count})).collect::<Vec<_>>(),
        "takes": preview.takes,
        "changes": preview.changes,
        "unchanged": preview.keeps,
        "obstacles": preview.obstacles,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_says_which_operators_stop() {
        let operator = |arguments: &[&str]| {
            let pod = json!({"containers": [{"args": arguments}]});
            Operator(object::from_value(json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "op", "namespace": "n"},
                "spec": {"replicas": 2, "template": {"spec": pod}},
            })))
        };
        let check = |arguments: &[&str], changes: usize, keeps: &[&str]| {
            let operators = vec![operator(arguments)];
            let preview = to_crossplane(&Inventory { operators, ..Inventory::default() });
            let stops = preview.changes.iter().filter(|it| *it == "Deployment n/op: scaled to zero");
            assert_eq!(stops.count(), changes, "{preview:#?}");
            assert_eq!(preview.keeps, keeps);
            assert_eq!(preview.obstacles.len(), 1, "there is no Crossplane: {preview:#?}");
        };
        let kept = "Deployment n/op: runs on for Oracle Cloud, and leaves compositions to Crossplane";
        check(&["operator"], 0, &[kept]);
        check(&["operator", "--controllers=composition"], 1, &[]);
    }
}
