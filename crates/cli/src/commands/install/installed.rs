//! What an earlier installation left in the cluster, found by its labels.

use std::collections::BTreeSet;

use cluster::{Selection, Session};
use diag::Diagnostic;
use futures::future::try_join_all;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::base::{PARTS, Part};
use super::objects::LABELS;
use crate::codes;
use crate::support::exit::Failure;
use crate::support::owner_tree::reference_of;

/// The annotation by which Helm recognises its objects.
const HELM_RELEASE: &str = "meta.helm.sh/release-name";

/// Everything that an installation put into the cluster, but the CRDs and the namespace.
pub(in crate::commands) struct Installed {
    pub(in crate::commands) namespace: Namespace,
    pub(in crate::commands) objects: Vec<ObjectRef>,
    /// Whether the namespace was applied with them.
    pub(in crate::commands) owns_namespace: bool,
    /// The Helm release that they belong to.
    release: Option<String>,
    /// Another namespace with an operator.
    elsewhere: Option<String>,
}

impl Installed {
    /// The installation in `namespace`.
    pub(in crate::commands) async fn find(session: &Session, namespace: &str) -> Result<Self, Failure> {
        let namespace = Namespace::new(namespace).ok_or_else(|| {
            Diagnostic::error(codes::OPTION_UNUSABLE, "the namespace is empty").hint("Omit --namespace.")
        })?;
        let failed = |error: cluster::Error| error.diagnostic("Find");
        let served = session.resources().await.map_err(failed)?;
        let kinds = installed_kinds();
        let resources = served.iter().filter(|resource| kinds.contains(&resource.gvk));
        let labels = label_selector();
        let lists = resources.map(async |resource| {
            let namespace = resource.namespaced.then(|| namespace.clone());
            let selection = Selection { namespace, labels: Some(labels.clone()), ..Selection::default() };
            session.list(&resource.gvk, &selection).await
        });
        let lists = try_join_all(lists).await.map_err(failed)?;
        let deployments = "apps/v1/Deployment".parse().expect("a fixed kind");
        let anywhere = Selection { labels: Some(labels.clone()), ..Selection::default() };
        let operators = session.list(&deployments, &anywhere).await.map_err(failed)?;
        let places = operators.items.iter().filter_map(|it| it["metadata"]["namespace"].as_str());
        let elsewhere = places.map(str::to_owned).find(|place| place != namespace.as_str());
        let found = session.read(&namespace_object(&namespace)).await.map_err(failed)?;
        let owns_namespace = found.is_some_and(|found| {
            LABELS.iter().all(|(name, value)| found.object["metadata"]["labels"][*name] == *value)
        });
        let items = || lists.iter().flat_map(|list| &list.items);
        let release_of =
            |item: &Value| item["metadata"]["annotations"][HELM_RELEASE].as_str().map(str::to_owned);
        let release = items().filter(|item| item["kind"] == "Deployment").find_map(release_of);
        // What the operator creates belongs to an object; what other charts have, such as Crossplane's roles, to a release.
        let is_own =
            |item: &&Value| item["metadata"]["ownerReferences"].is_null() && release_of(item).is_none();
        let own = items().filter(is_own);
        Ok(Self {
            objects: own.filter_map(reference_of).collect(),
            namespace,
            owns_namespace,
            release,
            elsewhere,
        })
    }

    /// There is one operator for a cluster, and its roles are cluster-wide: another namespace is most likely a mistake.
    pub(in crate::commands) fn refuse_elsewhere(&self) -> Result<(), Failure> {
        let Some(elsewhere) = &self.elsewhere else { return Ok(()) };
        let title = format!("the operator is installed in namespace {elsewhere}");
        Err(Diagnostic::error(codes::INSTALLED_ELSEWHERE, title)
            .detail(format!(
                "A cluster has one operator; this command is about namespace {}.",
                self.namespace
            ))
            .hint(format!("Pass --namespace {elsewhere}, or uninstall it there first."))
            .into())
    }

    /// Leaves an installation of Helm to Helm, which would not see what changes here.
    pub(in crate::commands) fn refuse_helm(&self, command: &str) -> Result<(), Failure> {
        let Some(release) = &self.release else { return Ok(()) };
        let namespace = &self.namespace;
        Err(Diagnostic::error(
            codes::INSTALLED_BY_HELM,
            format!("Helm manages the installation in {namespace}"),
        )
        .detail(format!("Its objects belong to the release {release}."))
        .hint(format!("Use Helm for it: helm {command} {release} --namespace {namespace}"))
        .into())
    }
}

pub(in crate::commands) fn namespace_object(namespace: &Namespace) -> ObjectRef {
    ObjectRef::new("v1/Namespace".parse().expect("a fixed kind"), None, namespace.as_str())
}

/// Selects everything that is installed.
pub(in crate::commands) fn label_selector() -> String {
    LABELS.map(|(name, value)| format!("{name}={value}")).join(",")
}

/// The kinds of everything that may be installed, but CRDs and namespaces.
fn installed_kinds() -> BTreeSet<GroupVersionKind> {
    let objects = PARTS.iter().flat_map(Part::objects);
    let kinds = objects.filter_map(|object| reference_of(&object)).map(|object| object.gvk);
    kinds.filter(|kind| kind.kind() != "Namespace").collect()
}
