//! `plimsoll applysets`: the sets of objects in the cluster, and the tool that manages each.

use cluster::{Class, Error, Selection, Session};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use plan::applyset::{self, Parent};
use serde_json::{Value, json};

use crate::args::applyset::ApplySets;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::owner_tree::reference_of;
use crate::support::printer::{DIM, Printer, object_name};
use crate::support::process::until_interrupted;
use crate::support::{kinds, object_json};

pub(super) fn run(args: &ApplySets, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.cluster)?;
        let namespace = (!args.all_namespaces).then_some(&cluster.namespace);
        let mut sets: Vec<(ObjectRef, Parent)> = Vec::new();
        let Parents { kinds, are_all } =
            parent_kinds(&cluster.session).await.map_err(|error| failed(&error))?;
        let mut unlisted = Vec::new();
        for kind in kinds {
            let selection = Selection {
                namespace: namespace.cloned(),
                labels: Some(applyset::ID.to_owned()),
                ..Selection::default()
            };
            match cluster.session.list(&kind, &selection).await {
                Ok(listing) => sets.extend(listing.items.iter().filter_map(set_of)),
                Err(error) if error.class() == Class::InsufficientPermissions => {
                    unlisted.push(kind.kind().to_owned());
                }
                // It was served a moment ago.
                Err(error) if error.is_kind_absent() => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        if !unlisted.is_empty() {
            printer.message(format_args!("cannot list: {}", unlisted.join(", ")));
        }
        if !are_all {
            let note = "sets of custom kinds are not shown: you may not list CustomResourceDefinitions";
            printer.message(format_args!("{DIM}{note}{DIM:#}"));
        }
        sets.sort_by(|(left, _), (right, _)| left.cmp(right));
        let data: Vec<Value> = sets.iter().map(|(parent, set)| to_json(parent, set)).collect();
        printer.output(&data, sets.iter().map(|(parent, _)| object_name(parent)), |printer| {
            let header = ["NAMESPACE", "SET", "TOOLING", "KINDS", "NAMESPACES"].map(str::to_owned).to_vec();
            let rows = sets.iter().map(|(parent, set)| row(parent, set));
            printer.table(&std::iter::once(header).chain(rows).collect::<Vec<_>>())
        })?;
        Ok(if unlisted.is_empty() { Exit::Success } else { Exit::Failure })
    })
}

fn failed(error: &Error) -> Failure {
    error.diagnostic("List").into()
}

/// The kinds that parents of sets may have.
struct Parents {
    kinds: Vec<GroupVersionKind>,
    /// Whether those of CRDs are among them.
    are_all: bool,
}

/// Secrets, ConfigMaps, and the kinds whose CRDs allow it, if the user may list these.
async fn parent_kinds(session: &Session) -> Result<Parents, Error> {
    let mut kinds: Vec<GroupVersionKind> =
        ["v1/Secret", "v1/ConfigMap"].map(|kind| kind.parse().expect("a fixed kind")).into();
    let selection = Selection { labels: Some(applyset::PARENT_TYPE.to_owned()), ..Selection::default() };
    let crds = match session.list(&kinds::crd(), &selection).await {
        Err(error) if error.class() == Class::InsufficientPermissions => {
            return Ok(Parents { kinds, are_all: false });
        }
        crds => crds?,
    };
    let resources = session.resources().await?;
    for crd in &crds.items {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let served = resources.iter().filter(|it| it.crd_name() == name);
        kinds.extend(served.max_by_key(|it| it.version_priority()).map(|it| it.gvk.clone()));
    }
    Ok(Parents { kinds, are_all: true })
}

fn set_of(object: &Value) -> Option<(ObjectRef, Parent)> {
    let parent = reference_of(object)?;
    let set = Parent::read(object, &applyset::set_id(&parent)).ok()?;
    Some((parent, set))
}

fn row(parent: &ObjectRef, set: &Parent) -> Vec<String> {
    let join = |items: &std::collections::BTreeSet<String>| {
        items.iter().map(String::as_str).collect::<Vec<_>>().join(",")
    };
    let namespace = parent.namespace.as_ref().map_or("", Namespace::as_str).to_owned();
    let (kinds, namespaces) = (join(&set.contents.kinds), join(&set.contents.namespaces));
    vec![namespace, object_name(parent), set.tooling.clone(), kinds, namespaces]
}

fn to_json(parent: &ObjectRef, set: &Parent) -> Value {
    let fields = json!({
        "id": applyset::set_id(parent), "tooling": set.tooling, "kinds": set.contents.kinds,
        "namespaces": set.contents.namespaces,
    });
    object_json(parent, fields)
}
