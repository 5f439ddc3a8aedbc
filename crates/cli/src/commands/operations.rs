//! `plimsoll operations`: the cloud operations in progress for objects of the cluster.

use std::io;

use cluster::{Resource, Selection, Session};
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::{Value, json};

use crate::args::operations::Operations;
use crate::support::cloud_operation::CloudOperation;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::informer::Informer;
use crate::support::kinds;
use crate::support::object_json;
use crate::support::owner_tree::reference_of;
use crate::support::printer::{Printer, object_name};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Operations, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.cluster)?;
        let namespace = (!args.all_namespaces).then_some(&cluster.namespace);
        let kinds = tracked(&cluster.session).await?;
        let mut informer = Informer::list(&cluster.session, kinds, namespace).await;
        if !informer.unreadable.is_empty() {
            printer.message(format_args!("cannot list: {}", informer.unreadable.join(", ")));
        }
        let mut last = None;
        loop {
            let found = found(&informer.objects());
            if last.as_ref() != Some(&found) {
                show(printer, &found, args.all_namespaces, informer.unreadable.is_empty())?;
                last = Some(found);
            }
            if !args.watch {
                return Ok(Exit::Success);
            }
            informer.changed().await;
        }
    })
}

type Found = Vec<(ObjectRef, CloudOperation)>;

fn found(objects: &[&Value]) -> Found {
    let operation = |object: &&Value| Some((reference_of(object)?, CloudOperation::of(object)?));
    let mut found: Found = objects.iter().filter_map(operation).collect();
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    found
}

/// The kinds that record operations: their CRDs have a field for it. Without permission to read CRDs, the kinds of
/// Oracle's groups.
async fn tracked(session: &Session) -> Result<Vec<Resource>, Failure> {
    let describe = |error: cluster::Error| error.diagnostic("Operations");
    let resources = session.resources().await.map_err(describe)?;
    let crds = session.list(&kinds::crd(), &Selection::default()).await;
    let records = |resource: &Resource| match &crds {
        Ok(crds) => crds.items.iter().any(|crd| records_operations(crd, resource)),
        Err(_) => resource.gvk.group().ends_with(".oracle.com"),
    };
    Ok(resources.into_iter().filter(|resource| resource.can("list") && records(resource)).collect())
}

fn records_operations(definition: &Value, resource: &Resource) -> bool {
    let spec = &definition["spec"];
    spec["group"] == resource.gvk.group()
        && spec["names"]["kind"] == resource.gvk.kind()
        && spec["versions"].as_array().into_iter().flatten().any(|version| {
            let path = "/schema/openAPIV3Schema/properties/status/properties/status/properties/async";
            version["name"] == resource.gvk.version() && version.pointer(path).is_some()
        })
}

fn show(printer: &mut Printer, found: &Found, with_namespace: bool, all_seen: bool) -> io::Result<()> {
    let data: Vec<Value> = found
        .iter()
        .map(|(target, operation)| object_json(target, json!({ "operation": operation })))
        .collect();
    printer.output(&data, found.iter().map(|(target, _)| object_name(target)), |printer| {
        if !found.is_empty() {
            return printer.table(&table(found, with_namespace, Timestamp::now()));
        }
        printer.message(if all_seen {
            "no operation is in progress"
        } else {
            "no other operation is in progress"
        });
        Ok(())
    })
}

fn table(found: &Found, with_namespace: bool, now: Timestamp) -> Vec<Vec<String>> {
    let head = ["KIND", "NAME", "PHASE", "CLASS", "PERCENT", "AGE", "WORK REQUEST", "REQUEST ID"];
    let row = |(target, operation): &(ObjectRef, CloudOperation)| {
        let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let cells = [
            target.kind().to_owned(),
            target.name.clone(),
            or_dash(&operation.phase),
            or_dash(&operation.class),
            or_dash(&operation.percentage()),
            or_dash(&operation.age(now)),
            or_dash(&operation.work_request),
            or_dash(&operation.request_id),
        ];
        let namespace = target.namespace.as_ref().map_or("-", manifest::Namespace::as_str);
        with_namespace.then(|| namespace.to_owned()).into_iter().chain(cells).collect()
    };
    let head = with_namespace.then_some("NAMESPACE").into_iter().chain(head).map(str::to_owned).collect();
    std::iter::once(head).chain(found.iter().map(row)).collect()
}
