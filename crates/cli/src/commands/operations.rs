//! `plimsoll operations`: the cloud operations in progress for objects of the cluster.

use std::io;

use jiff::Timestamp;
use manifest::ObjectRef;

use crate::args::operations::Operations;
use crate::support::cloud_operation::CloudOperation;
use crate::support::cloud_operation::in_cluster::{self, Found};
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::{Printer, object_name};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Operations, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.cluster)?;
        let namespace = (!args.all_namespaces).then_some(&cluster.namespace);
        let mut informer = in_cluster::list(&cluster, namespace).await?;
        let unreadable = informer.unreadable();
        if !unreadable.is_empty() {
            printer.message(format_args!("cannot list: {}", unreadable.join(", ")));
        }
        let mut last = None;
        loop {
            let found = in_cluster::found(&informer.summaries());
            if last.as_ref() != Some(&found) {
                show(printer, &found, args.all_namespaces, unreadable.is_empty())?;
                last = Some(found);
            }
            if !args.watch {
                return Ok(Exit::Success);
            }
            informer.changed().await;
        }
    })
}

fn show(printer: &mut Printer, found: &Found, with_namespace: bool, all_seen: bool) -> io::Result<()> {
    printer.output(
        &in_cluster::to_json(found),
        found.iter().map(|(target, _)| object_name(target)),
        |printer| {
            if !found.is_empty() {
                return printer.table(&table(found, with_namespace, Timestamp::now()));
            }
            printer.message(if all_seen {
                "no operation is in progress"
            } else {
                "no other operation is in progress"
            });
            Ok(())
        },
    )
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
