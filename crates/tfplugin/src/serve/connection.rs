//! Connections: accepted, secured, and counted, so that a plugin nobody talks to any more does not stay.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tonic::transport::server::Connected;

use super::listener::Socket;

/// A client that connects and says nothing is dropped.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection, counted as long as it is open.
pub(super) struct Connection {
    stream: Box<dyn Duplex>,
    clients: watch::Sender<usize>,
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// Accepts connections as long as the answer is wanted. A handshake in progress, or one that fails, holds up no other.
pub(super) fn accept(
    socket: Socket,
    tls: Option<Arc<ServerConfig>>,
    clients: watch::Sender<usize>,
) -> io::Result<impl Stream<Item = io::Result<Connection>>> {
    let (sender, mut receiver) = mpsc::channel(8);
    let acceptor = tls.map(TlsAcceptor::from);
    match socket {
        #[cfg(unix)]
        Socket::Unix(socket) => {
            let socket = tokio::net::UnixListener::from_std(socket)?;
            tokio::spawn(async move {
                while !sender.is_closed() {
                    match socket.accept().await {
                        Ok((stream, _)) => secure(stream, acceptor.clone(), clients.clone(), sender.clone()),
                        Err(error) => tracing::warn!(%error, "a connection could not be accepted"),
                    }
                }
            });
        }
        Socket::Tcp(socket) => {
            let socket = tokio::net::TcpListener::from_std(socket)?;
            tokio::spawn(async move {
                while !sender.is_closed() {
                    match socket.accept().await {
                        Ok((stream, _)) => secure(stream, acceptor.clone(), clients.clone(), sender.clone()),
                        Err(error) => tracing::warn!(%error, "a connection could not be accepted"),
                    }
                }
            });
        }
    }
    Ok(futures::stream::poll_fn(move |context| receiver.poll_recv(context)))
}

fn secure(
    stream: impl Duplex + 'static,
    acceptor: Option<TlsAcceptor>,
    clients: watch::Sender<usize>,
    sender: mpsc::Sender<io::Result<Connection>>,
) {
    tokio::spawn(async move {
        let stream: Box<dyn Duplex> = match acceptor {
            None => Box::new(stream),
            Some(acceptor) => match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => Box::new(stream),
                Ok(Err(error)) => return tracing::warn!(%error, "a connection was refused"),
                Err(_) => return tracing::warn!("a connection was dropped: no TLS handshake"),
            },
        };
        clients.send_modify(|count| *count += 1);
        // Nobody takes it once the server has shut down.
        let _ = sender.send(Ok(Connection { stream, clients })).await;
    });
}

/// Waits until nobody has been connected for `grace`; the first client gets `first` to come.
pub(super) async fn abandoned(mut clients: watch::Receiver<usize>, first: Duration, grace: Duration) {
    let mut patience = first;
    loop {
        let came = tokio::time::timeout(patience, clients.wait_for(|count| *count > 0)).await.is_ok();
        if !came {
            return;
        }
        // The sender lives as long as the server.
        let _ = clients.wait_for(|count| *count == 0).await;
        patience = grace;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.clients.send_modify(|count| *count -= 1);
    }
}

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
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_plugin_is_abandoned_when_nobody_comes_or_comes_back() {
        let (first, grace) = (Duration::from_secs(60), Duration::from_secs(5));
        let started = tokio::time::Instant::now();
        let (clients, receiver) = watch::channel(0);
        abandoned(receiver, first, grace).await;
        assert_eq!(started.elapsed(), first);

        let waiting = tokio::spawn(abandoned(clients.subscribe(), first, grace));
        for _ in 0..3 {
            clients.send_modify(|count| *count += 1);
            tokio::time::sleep(Duration::from_secs(100)).await;
            clients.send_modify(|count| *count -= 1);
            tokio::time::sleep(Duration::from_secs(4)).await;
            assert!(!waiting.is_finished());
        }
        waiting.await.unwrap();
        assert_eq!(started.elapsed(), first + Duration::from_secs(3 * 104 + 1));
    }
}
