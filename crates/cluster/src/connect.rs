//! Turns a [`Connection`](crate::Connection) into a client: reads files and variables, checks certificates, and builds
//! an HTTP stack that adds credentials to every request.
//!
//! ```text
//! Connection ──resolve──▶ Endpoint ──▶ Transport (proxy, TLS, credentials, one repeat after a 401) ──▶ kube::Client
//! ```

mod connector;
mod credentials;
mod download;
mod endpoint;
mod environment;
mod error;
mod exec;
mod kubeconfig;
mod oidc;
mod pem;
mod proxy;
mod streams;
mod transport;

pub use download::{DownloadError, download};
pub use environment::Environment;
pub use error::ConnectError;
pub use exec::ExecError;

pub(crate) use credentials::CredentialError;
pub(crate) use transport::{TransportError, caused_by};

use std::sync::Arc;

use crate::Connection;

/// The names of the contexts that a connection can choose from; none if there is no kubeconfig that can be read.
pub fn contexts(connection: &Connection, environment: &Environment) -> Vec<String> {
    let config = kubeconfig::of(connection, environment).ok().flatten();
    config.into_iter().flat_map(|config| config.contexts).map(|context| context.name).collect()
}

/// A client for `connection`, and a description of the server for messages. Sends nothing yet, so an unreachable server
/// only shows at the first request.
///
/// Must be called inside a tokio runtime, on which the client then depends.
pub(crate) fn client(
    connection: &Connection,
    environment: &Environment,
    user_agent: &str,
) -> Result<(kube::Client, Arc<str>), ConnectError> {
    let endpoint = endpoint::resolve(connection, environment)?;
    let (namespace, way) = (endpoint.config.default_namespace.clone(), endpoint.to_string());
    Ok((kube::Client::new(transport::Transport::new(endpoint, user_agent)?, namespace), way.into()))
}
