//! `plimsoll crds`: the CRDs of the kinds that the operator reconciles.

use operator::install::{definitions, install};
use serde_json::{Value, json};

use crate::args::Format;
use crate::args::crds::Crds;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::{GOOD, Printer};
use crate::support::process::until_interrupted;

/// Prints the CRDs, or installs them.
pub(super) fn run(args: &Crds, printer: &mut Printer) -> Outcome {
    if args.apply {
        return until_interrupted(apply(args, printer));
    }
    let all: Vec<Value> = args.controllers.iter().flat_map(|half| definitions(*half)).collect();
    match printer.format() {
        Format::Json => printer.structured(&json!({ "apiVersion": "v1", "kind": "List", "items": all }))?,
        Format::Text | Format::Yaml => {
            let documents: Vec<String> = all.iter().map(manifest::to_yaml).collect();
            printer.raw(documents.join("---\n").as_bytes())?;
        }
        Format::Name => {
            for definition in &all {
                let name = definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                printer.data(format_args!("customresourcedefinition.apiextensions.k8s.io/{name}"))?;
            }
        }
    }
    Ok(Exit::Success)
}

async fn apply(args: &Crds, printer: &mut Printer) -> Outcome {
    let cluster = Cluster::connect(&args.cluster)?;
    let installed = install(&cluster.session, &args.controllers).await;
    for target in installed.map_err(|error| operator::Error::from(error).diagnostic())? {
        if printer.format() == Format::Text {
            printer.data(format_args!("{GOOD}served{GOOD:#} {}", target.name))?;
        } else {
            printer.name(&target)?;
        }
    }
    Ok(Exit::Success)
}
