//! A byte stream of any transport.

use tokio::io::{AsyncRead, AsyncWrite};
use tonic::transport::server::Connected;

/// TCP, a Unix socket, or TLS over either.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

pub(crate) type Stream = Box<dyn Duplex>;

/// Lets tonic serve a stream; handlers need to know nothing about the peer.
impl Connected for Stream {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
