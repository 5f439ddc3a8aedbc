//! Turns command-line arguments into a cluster, and into one object of it.

use cluster::{Connection, Environment, Error, Impersonate, Selection, Session};
use diag::Diagnostic;
use manifest::{Namespace, ObjectRef};
use ownership::ManagedFieldsError;
use serde_json::Value;

use super::kinds;
use crate::args::cluster::{ClusterArgs, ObjectArgs};
use crate::codes;
use crate::support::exit::Failure;

/// Identifies us in the server's audit log.
const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

pub(crate) struct Cluster {
    pub(crate) session: Session,
    /// The namespace of objects that do not name one.
    pub(crate) namespace: Namespace,
    /// Whether the namespace comes from the command line rather than the context.
    pub(crate) namespace_typed: bool,
}

impl Cluster {
    /// The cluster selected by `args`. Sends nothing yet.
    pub(crate) fn connect(args: &ClusterArgs) -> Result<Self, Failure> {
        let session = Session::connect(&connection(args), &Environment::of_process(), USER_AGENT)
            .map_err(|error| about_options(error.diagnostic()))?;
        let namespace =
            args.namespace.clone().unwrap_or_else(|| session.client().default_namespace().to_owned());
        let namespace = Namespace::new(namespace).or_else(|| Namespace::new("default"));
        Ok(Self {
            session,
            namespace: namespace.expect("default is not empty"),
            namespace_typed: args.namespace.is_some(),
        })
    }

    /// The object selected by `args`. Its existence is not checked, unless it is searched for in all namespaces.
    pub(crate) async fn target(&self, args: &ObjectArgs) -> Result<ObjectRef, Failure> {
        let resource = kinds::resolve(&self.session, &args.object.kind).await?;
        let name = &args.object.name;
        let namespace = match (resource.namespaced, args.all_namespaces) {
            (false, _) => None,
            (true, false) => Some(self.namespace.clone()),
            (true, true) => Some(self.namespace_of(&resource.gvk, name).await?),
        };
        Ok(ObjectRef::new(resource.gvk, namespace, name))
    }

    /// Reads the object, which must exist. `operation` begins the title of an error.
    pub(crate) async fn read(&self, target: &ObjectRef, operation: &str) -> Result<Value, Failure> {
        let found = self.session.read(target).await.map_err(|error| error.diagnostic(operation))?;
        match found {
            Some(reply) => Ok(reply.object),
            None => Err(missing(target).into()),
        }
    }

    async fn namespace_of(&self, gvk: &manifest::GroupVersionKind, name: &str) -> Result<Namespace, Failure> {
        let selection = Selection { fields: Some(format!("metadata.name={name}")), ..Selection::default() };
        let found =
            self.session.list(gvk, &selection).await.map_err(|error: Error| error.diagnostic("Find"))?;
        let mut namespaces: Vec<&str> =
            found.items.iter().filter_map(|item| item["metadata"]["namespace"].as_str()).collect();
        namespaces.sort_unstable();
        match namespaces[..] {
            [] => Err(Diagnostic::error(
                codes::OBJECT_MISSING,
                format!("no namespace has a {} called {name}", gvk.kind()),
            )
            .into()),
            [only] => Ok(Namespace::new(only).unwrap_or_else(|| self.namespace.clone())),
            _ => Err(Diagnostic::error(
                codes::OBJECT_AMBIGUOUS,
                format!("{} namespaces have a {} called {name}", namespaces.len(), gvk.kind()),
            )
            .detail(format!("It is in {}.", namespaces.join(", ")))
            .hint("Say which one is meant with --namespace.")
            .into()),
        }
    }
}

/// The error for an object that does not exist.
pub(crate) fn missing(target: &ObjectRef) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::OBJECT_MISSING, format!("there is no {target}"));
    match &target.namespace {
        Some(namespace) => diagnostic
            .detail(format!("It was looked for in the namespace {namespace}."))
            .hint("Name another namespace with --namespace, or look in all with --all-namespaces."),
        None => diagnostic,
    }
}

pub(crate) fn connection(args: &ClusterArgs) -> Connection {
    let impersonate = args.as_user.as_ref().map(|user| Impersonate {
        user: Some(user.clone()),
        groups: args.as_group.clone(),
        ..Impersonate::default()
    });
    let place = match &args.kubeconfig {
        Some(path) => Connection { config_paths: vec![path.clone()], ..Connection::default() },
        None => Connection::from_environment(None),
    };
    Connection { context: args.context.clone(), impersonate, ..place }
}

/// Adapts the message: the connection comes from options, not from an attribute named `cluster`.
pub(crate) fn about_options(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.field = None;
    diagnostic.hint("Name a kubeconfig with --kubeconfig or KUBECONFIG, and a context of it with --context; `plimsoll sandbox up` starts a cluster of your own.")
}

/// The error about managedFields that do not parse.
pub(crate) fn unreadable_managers(target: &ObjectRef, error: &ManagedFieldsError) -> Diagnostic {
    Diagnostic::error(codes::OWNERSHIP_UNREADABLE, format!("the managers of {target} cannot be read"))
        .detail(format!("{error}."))
        .object(target.to_string())
}
