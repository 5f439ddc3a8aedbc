//! One connection to one address of a function: made, secured, and known to be accepted before it is used.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tonic::body::Body;

use crate::endpoint::Address;
use crate::stream::Stream;

/// Windows that let a large message through without a round trip for each 64 KiB.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// Why there is no connection to an address.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("{host:?} cannot be the name of a server")]
    Name { host: String },
    #[error("without certificates only functions on this machine are called; give the engine some")]
    Insecure,
    #[error("no connection")]
    Connect(#[source] io::Error),
    #[error("TLS failed")]
    Tls(#[source] io::Error),
    #[error("it does not speak gRPC, or does not accept our certificate")]
    Secured(#[source] hyper::Error),
    #[error("it does not speak gRPC in the clear; it may want certificates")]
    Clear(#[source] hyper::Error),
    #[error("it closed the connection before it said anything, as a function does that wants a certificate")]
    Closed,
}

/// How a connection is secured: a configuration and the host whose certificate is expected.
pub(super) type Security = (Arc<ClientConfig>, String);

/// Connects, and returns what sends requests together with what drives the connection until it ends.
///
/// With TLS 1.3 a client learns only after its own handshake that its certificate was refused. A connection therefore
/// counts as made once the other side has said something: HTTP/2 has it begin with its settings.
pub(super) async fn connect(
    address: &Address,
    security: Option<Security>,
) -> Result<(http2::SendRequest<Body>, Driver), LinkError> {
    let broken = if security.is_some() { LinkError::Secured } else { LinkError::Clear };
    let stream = dial(address).await.map_err(LinkError::Connect)?;
    let stream = match security {
        None => stream,
        Some((config, host)) => {
            let name = ServerName::try_from(host.clone()).map_err(|_| LinkError::Name { host })?;
            Box::new(TlsConnector::from(config).connect(name, stream).await.map_err(LinkError::Tls)?)
        }
    };
    let (heard, first) = oneshot::channel();
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(TokioIo::new(Listening { stream, heard: Some(heard) }))
        .await
        .map_err(broken)?;
    let mut driver: Driver = Box::pin(connection);
    tokio::select! {
        // What was said may be what broke the connection.
        biased;
        ended = &mut driver => Err(ended.map_or_else(broken, |()| LinkError::Closed)),
        Ok(()) = first => Ok((sender, driver)),
    }
}

/// Moves the bytes of a connection until it ends.
pub(super) type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

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

/// An error with its causes on one line, each cause once.
pub(super) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}

/// A stream that tells when the other side has said something.
struct Listening {
    stream: Stream,
    heard: Option<oneshot::Sender<()>>,
}

impl AsyncRead for Listening {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before
            && let Some(heard) = self.heard.take()
        {
            // Nobody listens any more if connecting was given up.
            let _ = heard.send(());
        }
        polled
    }
}

impl AsyncWrite for Listening {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
