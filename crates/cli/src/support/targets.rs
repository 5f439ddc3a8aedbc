//! Finds the objects that the arguments of a command name or select.

use cluster::{Error, Selection};
use diag::{Code, Diagnostic};
use futures::future::try_join_all;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::batch::resolve;
use super::connect::Cluster;
use super::exit::Failure;
use super::files;
use super::kinds;
use super::owner_tree::reference_of;
use super::printer::Printer;
use crate::args::cluster::TypeName;
use crate::args::objects::{ObjectArgs, Objects};
use crate::codes;

/// Objects of a cluster.
pub(crate) struct Targets {
    pub(crate) cluster: Cluster,
    pub(crate) objects: Vec<ObjectRef>,
    pub(crate) choice: Choice,
}

/// Why some of several objects are not shown.
#[derive(Default)]
pub(crate) struct Unshown(Vec<Diagnostic>);

impl Unshown {
    /// `answer`, or nothing if it is only about one of several objects: the others are shown nevertheless, as by kubectl.
    pub(crate) fn or_note<T>(
        &mut self,
        choice: Choice,
        answer: Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Failure::Diagnostic(why)) if choice != Choice::One && !concerns_all(why.code) => {
                self.0.push(*why);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Says why, and whether everything is shown.
    pub(crate) fn report(&self, printer: &mut Printer) -> bool {
        self.0.iter().for_each(|why| printer.diagnostic(why));
        self.0.is_empty()
    }
}

/// Whether the next object would fail in the same way.
fn concerns_all(code: Code) -> bool {
    use cluster::codes::{AUTHENTICATION_FAILED, CONNECTION_FAILED, TIMEOUT};
    [AUTHENTICATION_FAILED, CONNECTION_FAILED, TIMEOUT].contains(&code)
}

/// How objects were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// By one name. Programs get one document, not a list of them.
    One,
    /// By several names. They need not exist.
    Named,
    /// By their kinds or labels, so they existed a moment ago.
    Selected,
    /// By files. They need not exist.
    InFiles,
}

impl Choice {
    /// What programs get: one document for one object, otherwise a list.
    pub(crate) fn document(self, mut documents: Vec<Value>) -> Value {
        match documents.pop() {
            Some(only) if self == Self::One => only,
            last => documents.into_iter().chain(last).collect(),
        }
    }
}

impl Targets {
    /// `operation` begins the titles of errors.
    pub(crate) async fn find(
        args: &ObjectArgs,
        operation: &str,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let objects = args.objects().map_err(unclear)?;
        let cluster = Cluster::connect(&args.cluster)?;
        let (objects, choice) = match objects {
            Objects::Named(names) => {
                let choice = if names.len() == 1 { Choice::One } else { Choice::Named };
                (try_join_all(names.iter().map(|name| named(&cluster, name, args))).await?, choice)
            }
            Objects::OfKinds(kinds) => (selected(&cluster, &kinds, args).await?, Choice::Selected),
            Objects::InFiles => (in_files(&cluster, args, operation, printer).await?, Choice::InFiles),
        };
        Ok(Self { cluster, objects, choice })
    }

    /// The same for commands that need at least one object.
    pub(crate) async fn find_some(
        args: &ObjectArgs,
        operation: &str,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let found = Self::find(args, operation, printer).await?;
        if found.objects.is_empty() { Err(nothing_selected(args).into()) } else { Ok(found) }
    }
}

/// The error if a selection is empty.
pub(crate) fn nothing_selected(args: &ObjectArgs) -> Diagnostic {
    let selector = args.selector.as_ref().map_or_else(String::new, |labels| format!(" with labels {labels}"));
    let kinds = args.words.first().map_or("objects", String::as_str);
    let diagnostic = Diagnostic::error(codes::OBJECT_MISSING, format!("there are no {kinds}{selector}"));
    if args.all_namespaces {
        diagnostic
    } else {
        diagnostic
            .hint("Choose another namespace with --namespace, or search all of them with --all-namespaces.")
    }
}

fn unclear(why: &str) -> Diagnostic {
    Diagnostic::error(codes::OBJECTS_UNCLEAR, why).hint(
        "Name objects, as in `deploy/web` or `deploy web`, select them, as in `pods -l app=web` or `pods --all`, or pass files with -f.",
    )
}

async fn named(cluster: &Cluster, name: &TypeName, args: &ObjectArgs) -> Result<ObjectRef, Failure> {
    let mut target = cluster.target(name).await?;
    if args.all_namespaces && target.namespace.is_some() {
        target.namespace = Some(namespace_of(cluster, &target.gvk, &target.name).await?);
    }
    Ok(target)
}

/// The namespace that has an object of this name, if only one has.
async fn namespace_of(cluster: &Cluster, gvk: &GroupVersionKind, name: &str) -> Result<Namespace, Failure> {
    let selection = Selection { fields: Some(format!("metadata.name={name}")), ..Selection::default() };
    let found =
        cluster.session.list(gvk, &selection).await.map_err(|error: Error| error.diagnostic("Find"))?;
    let mut namespaces: Vec<&str> =
        found.items.iter().filter_map(|item| item["metadata"]["namespace"].as_str()).collect();
    namespaces.sort_unstable();
    match namespaces[..] {
        [] => Err(Diagnostic::error(
            codes::OBJECT_MISSING,
            format!("no namespace has a {} named {name}", gvk.kind()),
        )
        .into()),
        [only] => Ok(Namespace::new(only).unwrap_or_else(|| cluster.namespace.clone())),
        _ => Err(Diagnostic::error(
            codes::OBJECT_AMBIGUOUS,
            format!("{} namespaces have a {} named {name}", namespaces.len(), gvk.kind()),
        )
        .detail(format!("It exists in {}.", namespaces.join(", ")))
        .hint("Choose one with --namespace.")
        .into()),
    }
}

async fn selected(cluster: &Cluster, kinds: &[String], args: &ObjectArgs) -> Result<Vec<ObjectRef>, Failure> {
    let lists = kinds.iter().map(async |kind| {
        let resource = kinds::resolve(&cluster.session, kind).await?;
        let is_limited = resource.namespaced && !args.all_namespaces;
        let selection = Selection {
            namespace: is_limited.then(|| cluster.namespace.clone()),
            labels: args.selector.clone(),
            ..Selection::default()
        };
        let listing = cluster.session.list(&resource.gvk, &selection).await;
        let listing = listing.map_err(|error| Failure::from(error.diagnostic("Find")))?;
        Ok::<_, Failure>(listing.items.iter().filter_map(reference_of).collect::<Vec<_>>())
    });
    Ok(try_join_all(lists).await?.into_iter().flatten().collect())
}

/// The objects in the files. If a kind does not exist, neither do its objects.
async fn in_files(
    cluster: &Cluster,
    args: &ObjectArgs,
    operation: &str,
    printer: &mut Printer,
) -> Result<Vec<ObjectRef>, Failure> {
    let loaded = files::load(&args.files).await?;
    let (objects, problems) = resolve::resolve_all(cluster, loaded, operation).await?;
    let mut problems = problems.into_iter();
    let Some(first) = problems.next() else {
        return Ok(objects.into_iter().map(|object| object.target).collect());
    };
    problems.for_each(|problem| printer.diagnostic(&problem));
    Err(first.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_concerns_one_of_several_objects_is_noted() {
        let check = |choice: Choice, code: Code, expected: bool| {
            let mut unshown = Unshown::default();
            let failure = Failure::from(Diagnostic::error(code, "no"));
            let noted = unshown.or_note::<()>(choice, Err(failure));
            assert_eq!(noted.is_ok(), expected, "{choice:?} {}", code.name());
            assert_eq!(unshown.0.len(), usize::from(expected));
        };
        check(Choice::Named, codes::OBJECT_MISSING, true);
        check(Choice::Selected, cluster::codes::PERMISSION_DENIED, true);
        check(Choice::One, codes::OBJECT_MISSING, false);
        check(Choice::Selected, cluster::codes::CONNECTION_FAILED, false);
        check(Choice::InFiles, cluster::codes::AUTHENTICATION_FAILED, false);
    }
}
