//! The `cluster` attribute: its schema, its validation and its parser.

mod schema;

use std::collections::BTreeMap;

use cluster::{Connection, Exec, Impersonate, Secret};
use diag::Diagnostic;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::{Object, Value};

use crate::codes;

pub(crate) use schema::{data_attribute, provider_attribute, resource_attribute};

/// A connection, or its cluster, as far as Terraform knows it.
#[derive(Clone, Debug, Default)]
pub(crate) enum Configured<T> {
    #[default]
    Absent,
    /// Configured with values that are not known yet.
    Unknown,
    Known(T),
}

/// Parses a `cluster` attribute. It is known only when all of it is: a connection with unknown parts is useless.
pub(crate) fn read(value: &Value) -> Configured<Box<Connection>> {
    match value.as_object() {
        _ if !value.is_wholly_known() => Configured::Unknown,
        None => Configured::Absent,
        Some(object) => Configured::Known(Box::new(connection(object))),
    }
}

/// Parses the provider's own `cluster`; an empty one means what kubectl would use.
pub(crate) fn read_provider(value: &Value) -> Configured<Box<Connection>> {
    match read(value) {
        Configured::Known(connection) if is_empty(&connection) => {
            Configured::Known(Box::new(Connection { from_environment: true, ..*connection }))
        }
        configured => configured,
    }
}

/// Checks that the parts of a resource's `cluster` are consistent. Unknown parts count as set, except that an unknown
/// mode decides nothing yet.
pub(crate) fn validate(value: &Value) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let Some(object) = value.as_object() else { return diagnostics };
    let connection = connection(object);
    if ["host", "cluster_ca_certificate", "kubeconfig"].iter().any(|name| object.get(name).is_unknown()) {
        return diagnostics;
    }
    if let Err(error) = connection.validate() {
        diagnostics.add_at(path_of(&error), *error);
    }
    if object.iter().all(|(_, value)| value.is_null()) {
        let empty = Diagnostic::error(codes::CLUSTER_EMPTY, "Missing Required Configuration Block")
            .detail("cluster is empty.")
            .field("cluster")
            .hint("Set host or kubeconfig, or omit cluster to use the provider's.");
        diagnostics.add_at(Path::of("cluster"), empty);
    }
    diagnostics
}

/// Like [`validate`], for the provider's own `cluster`.
pub(crate) fn validate_provider(value: &Value) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    if let Configured::Known(connection) = read_provider(value)
        && let Err(error) = connection.validate()
    {
        diagnostics.add_at(path_of(&error), *error);
    }
    diagnostics
}

fn path_of(error: &Diagnostic) -> Path {
    let cluster = Path::of("cluster");
    if error.field.as_deref() == Some("cluster.exec") { cluster.attribute("exec") } else { cluster }
}

fn is_empty(connection: &Connection) -> bool {
    connection.host.is_none()
        && connection.cluster_ca_certificate.is_none()
        && connection.kubeconfig.is_none()
        && connection.config_paths.is_empty()
        && !connection.in_cluster
}

/// The connection that the attributes describe; unknown texts count as set.
fn connection(object: &Object) -> Connection {
    let secret = |name: &str| text(object.get(name)).map(Secret::from);
    Connection {
        host: text(object.get("host")),
        cluster_ca_certificate: secret("cluster_ca_certificate"),
        kubeconfig: secret("kubeconfig"),
        config_paths: texts(object.get("config_paths")).into_iter().map(Into::into).collect(),
        in_cluster: flag(object.get("in_cluster")),
        from_environment: false,
        context: text(object.get("context")),
        token: secret("token"),
        client_certificate: secret("client_certificate"),
        client_key: secret("client_key"),
        insecure: flag(object.get("insecure")),
        proxy_url: secret("proxy_url"),
        tls_server_name: text(object.get("tls_server_name")),
        exec: exec(object.get("exec")),
        impersonate: object.get("impersonate").as_object().map(|impersonate| Impersonate {
            user: text(impersonate.get("user")),
            groups: texts(impersonate.get("groups")),
            ..Impersonate::default()
        }),
    }
}

fn exec(value: &Value) -> Option<Exec> {
    if value.is_unknown() {
        return Some(Exec { api_version: unknown(), command: unknown(), ..Exec::default() });
    }
    let exec = value.as_object()?;
    let env = exec.get("env").as_object().into_iter().flat_map(Object::iter);
    Some(Exec {
        api_version: text(exec.get("api_version")).unwrap_or_default(),
        command: text(exec.get("command")).unwrap_or_default(),
        args: texts(exec.get("args")).into_iter().map(Secret::from).collect(),
        env: env
            .filter_map(|(name, value)| Some((name.to_owned(), Secret::from(text(value)?))))
            .collect::<BTreeMap<_, _>>(),
    })
}

fn text(value: &Value) -> Option<String> {
    if value.is_unknown() { Some(unknown()) } else { value.as_str().map(str::to_owned) }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_elements().unwrap_or_default().iter().filter_map(text).collect()
}

fn flag(value: &Value) -> bool {
    value.is_unknown() || value.as_bool() == Some(true)
}

fn unknown() -> String {
    "(known after apply)".to_owned()
}

#[cfg(test)]
mod tests;
