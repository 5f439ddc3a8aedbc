//! `plimsoll crds`: the CRDs of the kinds that the operator reconciles.

use manifest::ObjectRef;
use operator::api::rights;
use operator::install::{definitions, grant, install};
use oraclecloud::Catalogue;
use serde_json::{Value, json};

use crate::args::Format;
use crate::args::crds::Crds;
use crate::support::catalogue::catalogue;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::object_json;
use crate::support::owner_tree::reference_of;
use crate::support::printer::{GOOD, Printer, object_name};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Crds, printer: &mut Printer) -> Outcome {
    if args.apply {
        return until_interrupted(apply(args, printer));
    }
    let kinds = catalogue(&args.kinds)?;
    let mut all: Vec<Value> = args.controllers.iter().flat_map(|half| definitions(*half, &kinds)).collect();
    all.extend(rights_of(args, &kinds));
    match printer.format() {
        Format::Json => printer.structured(&json!({ "apiVersion": "v1", "kind": "List", "items": all }))?,
        Format::Text | Format::Yaml | Format::Diff | Format::Markdown => {
            let documents: Vec<String> = all.iter().map(manifest::to_yaml).collect();
            printer.raw(documents.join("---\n").as_bytes())?;
        }
        Format::Name => {
            let targets = all.iter().filter_map(reference_of);
            targets.map(|target| object_name(&target)).try_for_each(|name| printer.data(name))?;
        }
    }
    Ok(Exit::Success)
}

async fn apply(args: &Crds, printer: &mut Printer) -> Outcome {
    let cluster = Cluster::connect(&args.cluster)?;
    let kinds = catalogue(&args.kinds)?;
    if !args.kinds.is_empty() {
        grant(&cluster.session, &kinds).await.map_err(|error| operator::Error::from(error).diagnostic())?;
    }
    let installed = install(&cluster.session, &args.controllers, &kinds).await;
    let installed = installed.map_err(|error| operator::Error::from(error).diagnostic())?;
    let data: Vec<Value> = installed.iter().map(|target| object_json(target, json!({}))).collect();
    printer.output(&data, installed.iter().map(object_name), |printer| {
        let served = |target: &ObjectRef| printer.data(format_args!("{GOOD}served{GOOD:#} {}", target.name));
        installed.iter().try_for_each(served)
    })?;
    Ok(Exit::Success)
}

/// What the operator may do with kinds that are named; those that are installed by default are in `deploy/`.
fn rights_of(args: &Crds, kinds: &Catalogue) -> Vec<Value> {
    if args.kinds.is_empty() {
        Vec::new()
    } else {
        kinds.kinds().iter().flat_map(|kind| rights(*kind)).collect()
    }
}
