//! Connections to a function: accepted and secured, none holding up another.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tonic::transport::server::Connected;

use crate::endpoint::Endpoint;
use crate::stream::Stream;
use crate::tls::Reloading;

/// A client that connects and says nothing is dropped.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// After an error that accepting does not get over at once, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Something to accept connections from.
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

    /// A port of the system's choice.
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

/// Accepts connections as long as the answer is wanted, each with the certificates of the moment.
pub(super) fn incoming(
    listener: Listener,
    tls: Option<Arc<Reloading<ServerConfig>>>,
) -> impl futures::Stream<Item = io::Result<Connection>> {
    let (sender, mut receiver) = mpsc::channel(8);
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                () = sender.closed() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok(stream) => drop(tokio::spawn(secure(stream, tls.clone(), sender.clone()))),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    });
    futures::stream::poll_fn(move |context| receiver.poll_recv(context))
}

async fn secure(
    stream: Stream,
    tls: Option<Arc<Reloading<ServerConfig>>>,
    sender: mpsc::Sender<io::Result<Connection>>,
) {
    let stream: Stream = match tls {
        None => stream,
        Some(tls) => {
            let accepting = TlsAcceptor::from(tls.current()).accept(stream);
            match tokio::time::timeout(HANDSHAKE, accepting).await {
                Ok(Ok(stream)) => Box::new(stream),
                Ok(Err(error)) => return tracing::warn!(%error, "a connection was refused"),
                Err(_) => return tracing::warn!("a connection was dropped: no TLS handshake"),
            }
        }
    };
    // Nobody takes it once the server has shut down.
    let _ = sender.send(Ok(Connection(stream))).await;
}

/// A connection as tonic wants it.
pub(super) struct Connection(Stream);

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
