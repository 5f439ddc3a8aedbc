//! `plimsoll uninstall`: removes what `plimsoll install` applied, and keeps what belongs to users.

use cluster::{Delete, Propagation, Selection, Session};
use diag::Diagnostic;
use futures::future::try_join_all;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::delete;
use super::install::installed::{Installed, label_selector, namespace_object};
use super::install::namespace;
use super::install::objects::LABELS;
use crate::args::install::Uninstall;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::content;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::kinds;
use crate::support::printer::{DIM, Printer};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Uninstall, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.cluster)?;
        let session = &cluster.session;
        let installed = Installed::find(session, namespace(&args.cluster)).await?;
        installed.refuse_helm("uninstall")?;
        installed.refuse_elsewhere()?;
        let definitions = definitions(session).await?;
        let left = objects_of(session, &definitions).await?;
        if args.purge && !left.is_empty() {
            return Err(still_in_use(&left).into());
        }
        // The operator first, until its pods are gone: without its roles it could not release what it holds.
        let (operators, rest): (Vec<_>, Vec<_>) =
            installed.objects.into_iter().partition(|object| object.kind() == "Deployment");
        let crds = definitions.iter().map(|it| ObjectRef::new(kinds::crd(), None, &it.name));
        let crds: Vec<ObjectRef> = if args.purge { crds.collect() } else { Vec::new() };
        let mut results = Vec::new();
        for (targets, propagation) in [
            (operators, Propagation::Foreground),
            (rest, Propagation::Background),
            (crds, Propagation::Background),
        ] {
            let how =
                |target: &ObjectRef| Delete { propagation, timeout: args.timeout, ..Delete::of(target) };
            if !delete::is_interrupted(&results) {
                results.extend(delete::delete_all(session, targets, &how, printer).await?);
            }
        }
        if delete::is_interrupted(&results) {
            return delete::finish(printer, &results, false);
        }
        let namespace = namespace_object(&installed.namespace);
        let mut foreign = None;
        if args.purge && installed.owns_namespace {
            foreign = foreign_content(session, &namespace).await?;
            if foreign.is_none() {
                let how = |target: &ObjectRef| Delete { timeout: args.timeout, ..Delete::of(target) };
                results.extend(delete::delete_all(session, vec![namespace], &how, printer).await?);
            }
        }
        if results.is_empty() {
            let nothing: [&str; 0] = [];
            printer.output(&nothing, nothing, |printer| {
                printer.message(format_args!("nothing is installed in namespace {}", installed.namespace));
                Ok(())
            })?;
            return Ok(Exit::Success);
        }
        let exit = delete::finish(printer, &results, false)?;
        if let Some(foreign) = foreign {
            printer.message(format_args!(
                "{DIM}kept: namespace {}, which still contains {foreign}{DIM:#}",
                installed.namespace
            ));
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

/// Secrets that exist only for the operator.
const OWN_SECRETS: [&str; 2] = ["plimsoll-root-ca", "plimsoll-tls-client"];

/// Something in the operator's namespace that is not of the installation.
async fn foreign_content(session: &Session, namespace: &ObjectRef) -> Result<Option<ObjectRef>, Failure> {
    let is_own = |item: &Value| {
        let name = item["metadata"]["name"].as_str().unwrap_or_default();
        item["kind"] == "Secret" && OWN_SECRETS.contains(&name)
    };
    let others = LABELS.map(|(name, value)| format!("{name}!={value}")).join(",");
    let found = content::foreign(session, namespace, others, is_own).await;
    found.map_err(|error| error.diagnostic("Find").into())
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
