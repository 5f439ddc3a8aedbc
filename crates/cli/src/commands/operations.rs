//! `plimsoll operations`: the cloud operations of the objects in a cluster, at a glance.

use cluster::{Resource, Selection, Session};
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::{Value, json};

use crate::args::Format;
use crate::args::operations::Operations;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::informer::Informer;
use crate::support::operation::Operation;
use crate::support::owner_tree::reference_of;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;

/// Shows the operations, once or whenever one of them changes.
pub(super) fn run(args: &Operations, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.cluster)?;
        let namespace = (!args.all_namespaces).then_some(&cluster.namespace);
        let kinds = tracked(&cluster.session).await?;
        let mut informer = Informer::list(&cluster.session, kinds, namespace).await;
        if !informer.unreadable.is_empty() {
            printer.message(format_args!("could not be read: {}", informer.unreadable.join(", ")));
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

type Found = Vec<(ObjectRef, Operation)>;

fn found(objects: &[&Value]) -> Found {
    let operation = |object: &&Value| Some((reference_of(object)?, Operation::of(object)?));
    let mut found: Found = objects.iter().filter_map(operation).collect();
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    found
}

/// The kinds that record operations: their CRDs have a field for it. Without permission to read CRDs, the kinds of
/// Oracle's groups.
async fn tracked(session: &Session) -> Result<Vec<Resource>, Failure> {
    let describe = |error: cluster::Error| error.diagnostic("Operations");
    let resources = session.resources().await.map_err(describe)?;
    let crd = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
    let has_place: Box<dyn Fn(&Resource) -> bool> = match session.list(&crd, &Selection::default()).await {
        Ok(definitions) => Box::new(move |resource| {
            definitions.items.iter().any(|definition| has_place_for_operations(definition, resource))
        }),
        Err(_) => Box::new(|resource| resource.gvk.group().ends_with(".oracle.com")),
    };
    Ok(resources.into_iter().filter(|resource| resource.can("list") && has_place(resource)).collect())
}

fn has_place_for_operations(definition: &Value, resource: &Resource) -> bool {
    let spec = &definition["spec"];
    spec["group"] == resource.gvk.group()
        && spec["names"]["kind"] == resource.gvk.kind()
        && spec["versions"].as_array().into_iter().flatten().any(|version| {
            let place = "/schema/openAPIV3Schema/properties/status/properties/status/properties/async";
            version["name"] == resource.gvk.version() && version.pointer(place).is_some()
        })
}

fn show(printer: &mut Printer, found: &Found, with_namespace: bool, all_seen: bool) -> Result<(), Failure> {
    let none = if all_seen { "no operation is under way" } else { "no operation is under way elsewhere" };
    match printer.format() {
        Format::Json | Format::Yaml => {
            printer.structured(&found.iter().map(|(target, it)| to_json(target, it)).collect::<Vec<_>>())?;
        }
        Format::Name => found.iter().try_for_each(|(target, _)| printer.name(target))?,
        Format::Text if found.is_empty() => printer.message(none),
        Format::Text => printer.table(&table(found, with_namespace, Timestamp::now()))?,
    }
    Ok(())
}

fn table(found: &Found, with_namespace: bool, now: Timestamp) -> Vec<Vec<String>> {
    let head = ["KIND", "NAME", "PHASE", "CLASS", "PERCENT", "AGE", "WORK REQUEST", "REQUEST ID"];
    let row = |(target, operation): &(ObjectRef, Operation)| {
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

fn to_json(target: &ObjectRef, operation: &Operation) -> Value {
    json!({
        "apiVersion": target.api_version().to_string(), "kind": target.kind(), "name": target.name,
        "namespace": target.namespace.as_ref().map(manifest::Namespace::as_str),
        "operation": operation.to_json(),
    })
}
