//! A connection in bytes, whatever it runs over.

use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes both ways: TCP, a socket of this machine, or TLS over either.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// A connection of either kind.
pub(crate) type Stream = Box<dyn Duplex>;
