//! A proxy for connections instead of requests: it counts them, closes them, or lets nothing pass over them any more, as a
//! route does that was lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What happens to the connections that are open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    Passes,
    Lost,
    Closed,
}

/// It ends, with its connections, when it is dropped.
pub struct TcpProxy {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    route: watch::Sender<Route>,
    serving: AbortHandle,
}

impl TcpProxy {
    /// # Panics
    ///
    /// If it cannot listen.
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("it listens");
        let (accepted, route) = (Arc::new(AtomicUsize::new(0)), watch::Sender::new(Route::Passes));
        let (count, routes) = (Arc::clone(&accepted), route.clone());
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(forward(client, upstream, routes.subscribe()));
            }
        });
        Self { address, accepted, route, serving: serving.abort_handle() }
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections there have been.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Closes the connections that are open.
    pub fn close(&self) {
        self.route.send_replace(Route::Closed);
    }

    /// Lets nothing pass over the connections that are open, without closing them.
    pub fn lose(&self) {
        self.route.send_replace(Route::Lost);
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.close();
        self.serving.abort();
    }
}

async fn forward(mut client: TcpStream, upstream: SocketAddr, mut route: watch::Receiver<Route>) {
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
        _ = route.changed() => {}
    }
    // An error means that the proxy is gone.
    let _closed = route.wait_for(|route| *route == Route::Closed).await;
}
