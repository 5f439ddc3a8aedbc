//! `plimsoll uninstall`: removes what `plimsoll install` applied, and keeps what belongs to users.

use cluster::{Delete, Propagation, Selection, Session};
use diag::Diagnostic;
use futures::future::try_join_all;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::delete;
use super::install::installed::{Installed, label_selector};
use super::install::namespace;
use crate::args::install::Uninstall;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::{Failure, Outcome};
use crate::support::kinds;
use crate::support::printer::{DIM, Printer};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Uninstall, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.cluster)?;
        let session = &cluster.session;
        let installed = Installed::find(session, namespace(&args.cluster)).await?;
        installed.refuse_helm("uninstall")?;
        let definitions = definitions(session).await?;
        let left = objects_of(session, &definitions).await?;
        if args.purge && !left.is_empty() {
            return Err(still_in_use(&left).into());
        }
        // The operator first, until its pods are gone: without its roles it could not release what it holds.
        let (operators, rest): (Vec<_>, Vec<_>) =
            installed.objects.into_iter().partition(|object| object.kind() == "Deployment");
        let crds = definitions.iter().map(|it| ObjectRef::new(kinds::crd(), None, &it.name));
        let last: Vec<ObjectRef> = crds.chain([namespace_object(&installed.namespace)]).collect();
        let mut results = Vec::new();
        for (targets, propagation) in [
            (operators, Propagation::Foreground),
            (rest, Propagation::Background),
            (if args.purge { last } else { Vec::new() }, Propagation::Background),
        ] {
            let how =
                |target: &ObjectRef| Delete { propagation, timeout: args.timeout, ..Delete::of(target) };
            results.extend(delete::delete_all(session, targets, &how, printer).await);
        }
        let exit = delete::finish(printer, &results)?;
        if results.is_empty() {
            printer.message(format_args!("nothing is installed in namespace {}", installed.namespace));
        }
        if !args.purge && !definitions.is_empty() {
            printer.message(format_args!(
                "{DIM}{}{DIM:#}",
                kept(&installed.namespace, definitions.len(), &left)
            ));
        }
        Ok(exit)
    })
}

fn namespace_object(namespace: &Namespace) -> ObjectRef {
    ObjectRef::new("v1/Namespace".parse().expect("a fixed kind"), None, namespace.as_str())
}

/// A CRD that belongs to the installation.
struct Definition {
    name: String,
    kind: GroupVersionKind,
}

/// The CRDs of the installation, whichever kinds were chosen for it.
async fn definitions(session: &Session) -> Result<Vec<Definition>, Failure> {
    let selection = Selection { labels: Some(label_selector()), ..Selection::default() };
    let found = session.list(&kinds::crd(), &selection).await.map_err(|error| error.diagnostic("Find"))?;
    let definition = |crd: &Value| {
        let (name, group) = (crd["metadata"]["name"].as_str()?, crd["spec"]["group"].as_str()?);
        let kind = crd["spec"]["names"]["kind"].as_str()?;
        let stored = crd["spec"]["versions"].as_array()?.iter().find(|version| version["storage"] == true)?;
        let kind = format!("{group}/{}/{kind}", stored["name"].as_str()?).parse().ok()?;
        Some(Definition { name: name.to_owned(), kind })
    };
    Ok(found.items.iter().filter_map(definition).collect())
}

/// How many objects of each kind there are, where there are any.
async fn objects_of(session: &Session, definitions: &[Definition]) -> Result<Vec<(String, usize)>, Failure> {
    let counts = definitions.iter().map(async |definition| {
        let listing = session.list(&definition.kind, &Selection::default()).await?;
        Ok((definition.kind.kind().to_owned(), listing.items.len()))
    });
    let counts: Vec<(String, usize)> =
        try_join_all(counts).await.map_err(|error: cluster::Error| error.diagnostic("Find"))?;
    Ok(counts.into_iter().filter(|(_, count)| *count > 0).collect())
}

/// `2 XApp, 1 Queue`
fn listed(left: &[(String, usize)]) -> String {
    left.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

fn kept(namespace: &Namespace, definitions: usize, left: &[(String, usize)]) -> String {
    let objects = match left {
        [] => "which have no objects".to_owned(),
        _ => format!("and their objects ({}); the operator has to run again to delete those", listed(left)),
    };
    format!("kept: namespace {namespace}, {definitions} CRDs, {objects}")
}

fn still_in_use(left: &[(String, usize)]) -> Diagnostic {
    Diagnostic::error(codes::DEFINITIONS_IN_USE, "the cluster still has objects of the operator's kinds")
        .detail(format!(
            "It has {}. Deleting the CRDs would delete them without the operator, which cleans up what they stand for.",
            listed(left)
        ))
        .hint("Delete these objects while the operator runs, or omit --purge to keep them.")
}
