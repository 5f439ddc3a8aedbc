//! Accepts connections to a function and does their TLS handshakes side by side, so that none delays another.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::endpoint::Endpoint;
use crate::stream::Stream;
use crate::tls::Reloading;

/// A client that connects and sends nothing is dropped.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after an accept error that does not clear at once, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub(super) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

impl Listener {
    pub(super) async fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp { host, port } => Ok(Self::Tcp(TcpListener::bind((host.as_str(), *port)).await?)),
            #[cfg(unix)]
            Endpoint::Unix(path) => Ok(Self::Unix(tokio::net::UnixListener::bind(path)?)),
            #[cfg(not(unix))]
            Endpoint::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Listens on a port that the system chooses.
    pub(super) async fn any_port(host: &str) -> io::Result<Self> {
        Ok(Self::Tcp(TcpListener::bind(format!("{host}:0")).await?))
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }

    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            #[cfg(unix)]
            Self::Unix(listener) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

/// The connections as they come in, each with the certificates current at the time.
pub(super) fn incoming(
    listener: Listener,
    tls: Option<Arc<Reloading<ServerConfig>>>,
) -> impl futures::Stream<Item = io::Result<Stream>> {
    let accepted = futures::stream::unfold(listener, async |listener| {
        loop {
            match listener.accept().await {
                Ok(stream) => return Some((stream, listener)),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    });
    let secured = accepted.map(move |stream| secure(stream, tls.clone())).buffer_unordered(usize::MAX);
    secured.filter_map(async |stream| stream.map(Ok))
}

async fn secure(stream: Stream, tls: Option<Arc<Reloading<ServerConfig>>>) -> Option<Stream> {
    let Some(tls) = tls else { return Some(stream) };
    let handshake = TlsAcceptor::from(tls.current()).accept(stream);
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await {
        Ok(Ok(stream)) => return Some(Box::new(stream)),
        Ok(Err(error)) => tracing::warn!(%error, "refused a connection"),
        Err(_) => tracing::warn!("dropped a connection: no TLS handshake"),
    }
    None
}
