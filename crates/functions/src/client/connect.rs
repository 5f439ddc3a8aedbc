//! Opens one connection to one address of a function and makes sure the server accepted it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tokio_util::io::InspectReader;
use tonic::body::Body;

use crate::endpoint::Address;
use crate::stream::Stream;

/// HTTP/2 windows large enough that a big message does not need a round trip per 64 KiB.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("{host:?} is not a valid TLS server name")]
    ServerName { host: String },
    #[error(
        "without certificates the engine calls only functions on this machine; configure its certificates"
    )]
    Insecure,
    #[error("cannot connect")]
    Dial(#[source] io::Error),
    #[error("TLS failed")]
    Tls(#[source] io::Error),
    #[error("the server does not speak gRPC or rejected the engine's certificate")]
    TlsHandshake(#[source] hyper::Error),
    #[error("the server does not speak gRPC in plaintext; it may require certificates")]
    PlaintextHandshake(#[source] hyper::Error),
    #[error("the server closed the connection without sending anything; it may require a certificate")]
    Closed,
    #[error("no connection within {seconds} s")]
    TimedOut { seconds: u64 },
}

/// Polls a connection until it ends.
pub(super) type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// Connects, over TLS if a configuration and the server's name are given.
///
/// In TLS 1.3 a client finishes its handshake before it learns that its certificate was rejected. A connection therefore
/// counts only once the server has sent something: HTTP/2 requires it to begin with its settings.
pub(super) async fn connect(
    address: &Address,
    tls: Option<(Arc<ClientConfig>, &str)>,
) -> Result<(http2::SendRequest<Body>, Driver), ConnectError> {
    let failed = if tls.is_some() { ConnectError::TlsHandshake } else { ConnectError::PlaintextHandshake };
    let stream = dial(address).await.map_err(ConnectError::Dial)?;
    let stream = match tls {
        None => stream,
        Some((config, host)) => {
            let name = ServerName::try_from(host.to_owned())
                .map_err(|_| ConnectError::ServerName { host: host.to_owned() })?;
            Box::new(TlsConnector::from(config).connect(name, stream).await.map_err(ConnectError::Tls)?)
        }
    };
    let (received, first_bytes) = oneshot::channel();
    let mut received = Some(received);
    let stream = InspectReader::new(stream, move |bytes: &[u8]| {
        if let Some(received) = received.take_if(|_| !bytes.is_empty()) {
            // The receiver is gone if connecting was abandoned.
            let _ = received.send(());
        }
    });
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    let mut driver: Driver = Box::pin(connection);
    tokio::select! {
        // The first bytes may be the very ones that broke the connection.
        biased;
        ended = &mut driver => Err(ended.map_or_else(failed, |()| ConnectError::Closed)),
        Ok(()) = first_bytes => Ok((sender, driver)),
    }
}

async fn dial(address: &Address) -> io::Result<Stream> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        #[cfg(unix)]
        Address::Unix(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
        #[cfg(not(unix))]
        Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}
