//! Turns command-line arguments into a cluster.

use cluster::{Connection, Environment, Impersonate, Session};
use diag::Diagnostic;
use manifest::{Namespace, ObjectRef};
use ownership::ManagedFieldsError;
use serde_json::Value;

use super::exit::Failure;
use super::informer::Informers;
use super::kinds;
use crate::args::cluster::{ClusterArgs, KubeconfigArgs, TypeName};
use crate::codes;

/// Identifies plimsoll in the API server's audit log.
pub(crate) const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

pub(crate) struct Cluster {
    pub(crate) session: Session,
    pub(crate) informers: Informers,
    /// The namespace of objects that do not name one.
    pub(crate) namespace: Namespace,
    /// Whether the namespace comes from the command line rather than the context.
    pub(crate) namespace_typed: bool,
}

impl Cluster {
    /// The cluster selected by `args`. Sends nothing yet.
    pub(crate) fn connect(args: &ClusterArgs) -> Result<Self, Failure> {
        let impersonate = args.as_user.as_ref().map(|user| Impersonate {
            user: Some(user.clone()),
            groups: args.as_group.clone(),
            ..Impersonate::default()
        });
        let connection = Connection { impersonate, ..connection(&args.kubeconfig) };
        let session = Session::connect(&connection, &Environment::of_process(), USER_AGENT)
            .map_err(|error| about_options(error.diagnostic()))?;
        let namespace =
            args.namespace.clone().unwrap_or_else(|| session.client().default_namespace().to_owned());
        let namespace = Namespace::new(namespace).or_else(|| Namespace::new("default"));
        Ok(Self {
            informers: Informers::new(session.clone()),
            session,
            namespace: namespace.expect("default is not empty"),
            namespace_typed: args.namespace.is_some(),
        })
    }

    /// The object of this name in the selected namespace.
    pub(crate) async fn target(&self, object: &TypeName) -> Result<ObjectRef, Failure> {
        let resource = kinds::resolve(&self.session, &object.kind).await?;
        let namespace = resource.namespaced.then(|| self.namespace.clone());
        Ok(ObjectRef::new(resource.gvk, namespace, &object.name))
    }

    /// Reads the object, which must exist. `operation` begins the title of an error.
    pub(crate) async fn read(&self, target: &ObjectRef, operation: &str) -> Result<Value, Failure> {
        let found = self.session.read(target).await.map_err(|error| error.diagnostic(operation))?;
        match found {
            Some(reply) => Ok(reply.object),
            None => Err(missing(target).into()),
        }
    }
}

/// The error for an object that does not exist.
pub(crate) fn missing(target: &ObjectRef) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::OBJECT_MISSING, format!("{target} does not exist"));
    match &target.namespace {
        Some(namespace) => diagnostic
            .detail(format!("Only namespace {namespace} was searched."))
            .hint("Choose another namespace with --namespace, or search all of them with --all-namespaces."),
        None => diagnostic,
    }
}

pub(crate) fn connection(args: &KubeconfigArgs) -> Connection {
    let place = match &args.kubeconfig {
        Some(path) => Connection { config_paths: vec![path.clone()], ..Connection::default() },
        None => Connection::from_environment(None),
    };
    Connection { context: args.context.clone(), ..place }
}

/// Adapts a message about the provider's `cluster` attribute: here, options select the cluster.
pub(crate) fn about_options(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.field = None;
    diagnostic.hint("Choose a kubeconfig with --kubeconfig or KUBECONFIG, and a context with --context; `plimsoll sandbox up` starts a cluster on this machine.")
}

/// The error about managedFields that do not parse.
pub(crate) fn unreadable_managers(target: &ObjectRef, error: &ManagedFieldsError) -> Diagnostic {
    Diagnostic::error(codes::OWNERSHIP_UNREADABLE, format!("cannot read the managers of {target}"))
        .detail(format!("{error}."))
        .object(target.to_string())
}
