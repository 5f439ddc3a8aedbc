//! Reads kubeconfigs, merges them and picks one context, by kubectl's rules.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError};

use super::{ConnectError, Environment};
use crate::Connection;

/// One context with everything it refers to.
pub(super) struct SelectedContext {
    pub(super) cluster: Cluster,
    pub(super) user: AuthInfo,
    pub(super) namespace: Option<String>,
}

/// The kubeconfig of a connection; none if it names none, or if there is no file where one is looked for.
pub(super) fn of(
    connection: &Connection,
    environment: &Environment,
) -> Result<Option<Kubeconfig>, ConnectError> {
    if let Some(content) = &connection.kubeconfig {
        return parse(content.expose()).map(Some);
    }
    if !connection.config_paths.is_empty() {
        let paths: Vec<PathBuf> =
            connection.config_paths.iter().map(|path| environment.expand(path)).collect();
        return read(&paths, false);
    }
    if connection.from_environment { read(&environment.kubeconfig_paths(), true) } else { Ok(None) }
}

/// Parses a kubeconfig's content, as in the `kubeconfig` attribute.
fn parse(content: &str) -> Result<Kubeconfig, ConnectError> {
    let content = content.trim_start_matches('\u{feff}');
    if content.trim().is_empty() {
        return Err(ConnectError::KubeconfigEmpty);
    }
    if looks_like_path(content) {
        return Err(ConnectError::KubeconfigIsPath);
    }
    let parsed =
        Kubeconfig::from_yaml(content).map_err(|error| unreadable(error, Path::new("kubeconfig")))?;
    if parsed.api_version.is_none() && parsed.clusters.is_empty() {
        return Err(ConnectError::NotAKubeconfig);
    }
    Ok(parsed)
}

/// Reads and merges several files. With `may_be_missing`, files that do not exist are skipped, as kubectl does for
/// `KUBECONFIG`; `None` means that none existed.
fn read(paths: &[PathBuf], may_be_missing: bool) -> Result<Option<Kubeconfig>, ConnectError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in paths {
        let next = match Kubeconfig::read_from(path) {
            Err(KubeconfigError::ReadConfig(error, _))
                if may_be_missing && error.kind() == ErrorKind::NotFound =>
            {
                continue;
            }
            Err(error) => return Err(unreadable(error, path)),
            Ok(next) => next,
        };
        merged = Some(match merged {
            None => next,
            Some(first) => first.merge(next).map_err(|error| unreadable(error, path))?,
        });
    }
    Ok(merged)
}

/// The context to use: `wanted`, or the only one, or the current one.
pub(super) fn select_context(
    config: Kubeconfig,
    wanted: Option<&str>,
) -> Result<SelectedContext, ConnectError> {
    let available: Vec<String> = config.contexts.iter().map(|context| context.name.clone()).collect();
    let current = config.current_context.as_deref().filter(|name| !name.is_empty());
    let name = match (wanted.or(current), available.as_slice()) {
        (_, []) => return Err(ConnectError::NoContexts),
        (_, [only]) if wanted.is_none() => only.clone(),
        (Some(name), _) => name.to_owned(),
        (None, _) => return Err(ConnectError::ContextNotChosen { available }),
    };
    let Some(context) =
        config.contexts.into_iter().find(|context| context.name == name).and_then(|named| named.context)
    else {
        return Err(ConnectError::ContextNotFound { name, available });
    };
    let Context { cluster: cluster_name, user: user_name, namespace, .. } = context;
    let cluster = config
        .clusters
        .into_iter()
        .find(|cluster| cluster.name == cluster_name)
        .and_then(|named| named.cluster)
        .ok_or_else(|| ConnectError::DanglingContext {
            what: "cluster",
            name: cluster_name.clone(),
            context: name.clone(),
        })?;
    if cluster.server.as_deref().unwrap_or_default().is_empty() {
        return Err(ConnectError::NoServer(cluster_name));
    }
    let user = match user_name.filter(|name| !name.is_empty()) {
        // A context without a user is anonymous.
        None => AuthInfo::default(),
        Some(user_name) => {
            let user = config.auth_infos.into_iter().find(|user| user.name == user_name);
            let user =
                user.ok_or(ConnectError::DanglingContext { what: "user", name: user_name, context: name })?;
            user.auth_info.unwrap_or_default()
        }
    };
    Ok(SelectedContext { cluster, user, namespace: namespace.filter(|namespace| !namespace.is_empty()) })
}

/// kube's errors may quote the kubeconfig; only the position is passed on.
fn unreadable(error: KubeconfigError, path: &Path) -> ConnectError {
    match error {
        KubeconfigError::Parse(error) => ConnectError::KubeconfigSyntax {
            from: path.display().to_string(),
            place: error.location().map(|place| (place.line(), place.column())),
        },
        KubeconfigError::ReadConfig(source, path) => {
            ConnectError::ReadFile { what: "the kubeconfig", path, source }
        }
        _ => ConnectError::Unmergeable,
    }
}

fn looks_like_path(content: &str) -> bool {
    let content = content.trim();
    let has_drive = matches!(content.as_bytes(), [b'a'..=b'z' | b'A'..=b'Z', b':', b'\\', ..]);
    has_drive || ["/", "~/", "./"].iter().any(|start| content.starts_with(start))
}

#[cfg(test)]
mod tests;
