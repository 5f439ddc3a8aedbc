//! Accepts connections, does their TLS handshakes side by side, and counts them, so that the process can end when its
//! client is gone.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::io::InspectReader;
use tonic::transport::server::Connected;

use super::listener::Socket;

/// A client that connects and sends nothing is dropped.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A byte stream of any transport.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

pub(super) type Connection = Box<dyn Duplex>;

/// Lets tonic serve a connection; handlers need to know nothing about the peer.
impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

pub(super) fn incoming(
    socket: Socket,
    tls: Option<Arc<ServerConfig>>,
    clients: watch::Sender<usize>,
) -> impl Stream<Item = io::Result<Connection>> {
    let acceptor = tls.map(TlsAcceptor::from);
    let accepted = futures::stream::unfold(socket, async |socket| Some((socket.accept().await, socket)));
    accepted
        .map(move |accepted| secure(accepted, acceptor.clone(), clients.clone()))
        .buffer_unordered(usize::MAX)
        .filter_map(async |connection| connection.map(Ok))
}

async fn secure(
    accepted: io::Result<Connection>,
    acceptor: Option<TlsAcceptor>,
    clients: watch::Sender<usize>,
) -> Option<Connection> {
    let connection = match accepted {
        Ok(connection) => connection,
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            return None;
        }
    };
    let connection: Connection = match acceptor {
        None => connection,
        Some(acceptor) => match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(connection)).await {
            Ok(Ok(connection)) => Box::new(connection),
            Ok(Err(error)) => {
                tracing::warn!(%error, "refused a connection");
                return None;
            }
            Err(_) => {
                tracing::warn!("dropped a connection: no TLS handshake");
                return None;
            }
        },
    };
    // The closure inspects nothing; it owns the count, which therefore ends with the connection.
    let count = Count::new(clients);
    Some(Box::new(InspectReader::new(connection, move |_: &[u8]| _ = &count)))
}

/// Counts a client for as long as it is connected.
struct Count(watch::Sender<usize>);

impl Count {
    fn new(clients: watch::Sender<usize>) -> Self {
        clients.send_modify(|count| *count += 1);
        Self(clients)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Returns once no client has been connected for `grace`; the first client has `first` to connect.
pub(super) async fn no_client(mut clients: watch::Receiver<usize>, first: Duration, grace: Duration) {
    let mut patience = first;
    loop {
        let connected = tokio::time::timeout(patience, clients.wait_for(|count| *count > 0)).await.is_ok();
        if !connected {
            return;
        }
        // The sender lives as long as the server.
        let _ = clients.wait_for(|count| *count == 0).await;
        patience = grace;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_when_no_client_connects_or_reconnects() {
        let (first, grace) = (Duration::from_secs(60), Duration::from_secs(5));
        let started = tokio::time::Instant::now();
        let (clients, receiver) = watch::channel(0);
        no_client(receiver, first, grace).await;
        assert_eq!(started.elapsed(), first);

        let waiting = tokio::spawn(no_client(clients.subscribe(), first, grace));
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
