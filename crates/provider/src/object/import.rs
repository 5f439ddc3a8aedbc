//! Imports an existing object.

mod kubeconfig;
mod written;

use std::sync::Arc;

use cluster::{Class, Connection, Error};
use diag::Diagnostic;
use manifest::secret::{self, MaskKey};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use ownership::{Desired, Observed};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::{Identity, ImportTarget, Imported};
use tfplugin::value::{Object, Value};

use super::decide::projection_failed;
use super::import_id::{self, ImportId};
use super::{annotations, attributes, manager};
use crate::body::Body;
use crate::clusters::Cluster;
use crate::connection::Configured;
use crate::context::{Context, not_known_yet};
use crate::private::{IMPORTED, Keys as _};
use crate::projection::Maps;
use crate::{codes, identity};

pub(super) use written::yaml_of;

pub(super) async fn import(
    context: &Context,
    wanted: &ImportTarget,
) -> Result<(Imported, Diagnostics), Box<Diagnostic>> {
    let Found { cluster, stored, target } = match wanted {
        ImportTarget::Id(id) => find(context, &ImportId::parse(id)?).await?,
        ImportTarget::Identity(identity) => find_identity(context, identity).await?,
    };
    let live = match cluster.session().read(&target).await {
        Ok(Some(reply)) => reply.object,
        Ok(None) => return Err(Box::new(not_found(&target))),
        Err(error) => return Err(failed(&error, "")),
    };
    let mut diagnostics = Diagnostics::new();
    if let Some(id) = annotations::id_of(&live) {
        diagnostics.add(already_managed(&target, id));
    }
    let mut private = Private::default();
    private.set_flag(IMPORTED, true);
    if secret::is_secret(&live) {
        private.renew_mask_key();
    }
    let state = state_of(&target, live, stored, &private.mask_key())?;
    Ok((Imported { state, private, identity: Some(identity::of(&target)) }, diagnostics))
}

/// An object to import, and its connection.
struct Found {
    cluster: Arc<Cluster>,
    /// The connection as stored in the state; null for the provider's own.
    stored: Value,
    target: ObjectRef,
}

async fn find(context: &Context, id: &ImportId) -> Result<Found, Box<Diagnostic>> {
    // Only the cluster knows whether the last part before the kind is a namespace, and the context decides which
    // cluster that is: so first try all parts as the context.
    let mut refused = None;
    for name in id.contexts() {
        let (cluster, stored) = match connect(context, &name) {
            Ok(connected) => connected,
            Err(error) => {
                refused = Some(error);
                continue;
            }
        };
        let resource = cluster.session().resource(&id.gvk).await;
        let resource = resource.map_err(|error| failed(&error, ": Resource Type Discovery"))?;
        // A namespace is ignored for a cluster-scoped kind.
        if !resource.namespaced || id.context(true) == name {
            let target = id.target(&name, resource.namespaced)?;
            return Ok(Found { cluster, stored, target });
        }
        refused = id.target(&name, resource.namespaced).err().or(refused);
    }
    Err(refused.unwrap_or_else(|| Box::new(import_id::context_missing())))
}

async fn find_identity(context: &Context, identity: &Identity) -> Result<Found, Box<Diagnostic>> {
    let (cluster, stored) = connect(context, "")?;
    let (group, kind) =
        (identity.text("group").unwrap_or_default(), identity.text("kind").unwrap_or_default());
    let resources = cluster.session().resources().await;
    let resources = resources.map_err(|error| failed(&error, ": Resource Type Discovery"))?;
    let versions =
        resources.into_iter().filter(|resource| resource.gvk.group() == group && resource.gvk.kind() == kind);
    let Some(resource) = versions.max_by_key(|resource| maturity(&resource.gvk)) else {
        let title = "Import Failed: Resource Type Discovery";
        let missing = Diagnostic::error(codes::IMPORT_FAILED, title)
            .detail(format!("The cluster has no kind {kind:?} in the group {group:?}."))
            .hint("Check group and kind. Omit the group for the core group.");
        return Err(Box::new(missing));
    };
    let namespace = identity.text("namespace").or(Some("default")).filter(|_| resource.namespaced);
    let name = identity.text("name").unwrap_or_default();
    let target = ObjectRef::new(resource.gvk, namespace.and_then(Namespace::new), name);
    Ok(Found { cluster, stored, target })
}

/// The cluster of a context, and the connection to store in the state. Without a context it is the provider's own.
fn connect(context: &Context, name: &str) -> Result<(Arc<Cluster>, Value), Box<Diagnostic>> {
    let unusable = |error: cluster::ConnectError| {
        Box::new(crate::report::titled(error.diagnostic(), "Import Failed: Client Creation Error"))
    };
    if name.is_empty() {
        return match context.cluster(&Value::Null).map_err(unusable)? {
            Configured::Known(cluster) => Ok((cluster, Value::Null)),
            Configured::Absent => Err(Box::new(import_id::context_missing())),
            Configured::Unknown => Err(Box::new(not_known_yet())),
        };
    }
    let kubeconfig = kubeconfig::with_context(context.environment(), name)?;
    let connection = Connection::from_kubeconfig(kubeconfig.as_str(), Some(name.to_owned()));
    let cluster = context.connect(&connection).map_err(unusable)?;
    let stored = Object::new().with("kubeconfig", kubeconfig).with("context", name);
    Ok((cluster, stored.into()))
}

pub(super) fn state_of(
    target: &ObjectRef,
    live: Json,
    cluster: Value,
    key: &MaskKey,
) -> Result<Object, Box<Diagnostic>> {
    let yaml = yaml_of(&live);
    let body = Body::parse(&yaml).map_err(|_| {
        let title = "Import Failed: YAML conversion error";
        Box::new(
            Diagnostic::error(codes::IMPORT_FAILED, title)
                .detail(format!("{target} cannot be written as YAML.")),
        )
    })?;
    let (live, manager) = (Observed::new(live), manager());
    let live = live.map_err(|error| Box::new(projection_failed(target, &error)))?;
    let maps = Maps::of(&live, &Desired::new(&manager, &body.value), key);
    let mut state = Object::new()
        .with("id", annotations::id_of(live.object()).map_or_else(annotations::new_id, str::to_owned))
        .with("yaml_body", yaml)
        .with("cluster", cluster)
        .with("delete_protection", false)
        .with("object_ref", attributes::object_ref(target));
    maps.set_on(&mut state);
    Ok(state)
}

/// Orders versions by maturity: stable before beta before alpha, later before earlier.
fn maturity(gvk: &GroupVersionKind) -> (u8, u32, u32) {
    let version = gvk.version().trim_start_matches('v');
    let number = |text: &str| text.parse().unwrap_or(0);
    let (stage, major, minor) = match (version.split_once("beta"), version.split_once("alpha")) {
        (Some((major, minor)), _) => (1, major, minor),
        (_, Some((major, minor))) => (0, major, minor),
        _ => (2, version, ""),
    };
    (stage, number(major), number(minor))
}

fn not_found(target: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::IMPORT_FAILED, "Import Failed: Resource not found")
        .detail(format!("{target} does not exist."))
        .object(target.to_string())
        .hint("Check context, namespace, kind and name.")
}

fn already_managed(target: &ObjectRef, id: &str) -> Diagnostic {
    Diagnostic::warning(codes::IMPORT_MANAGED, "Importing Already-Managed Resource")
        .detail(format!(
            "{target} belongs to a k8sconnect_object with the id {id}, which is taken over. If another state still has it, \
             both will change it."
        ))
        .object(target.to_string())
        .hint("Remove it from the other state with `terraform state rm`.")
}

fn failed(error: &Error, step: &str) -> Box<Diagnostic> {
    let step = if error.class() == Class::ConnectionFailed { ": Connection Error" } else { step };
    let mut diagnostic = error.diagnostic("Import");
    diagnostic.summary = format!("Import Failed{step}");
    Box::new(diagnostic)
}

fn refusal(title: &str, detail: String) -> Box<Diagnostic> {
    let hint = "Set KUBECONFIG to the files that kubectl uses, and check the context with `kubectl config get-contexts`.";
    Box::new(
        Diagnostic::error(codes::IMPORT_FAILED, format!("Import Failed: {title}")).detail(detail).hint(hint),
    )
}

#[cfg(test)]
mod tests;
