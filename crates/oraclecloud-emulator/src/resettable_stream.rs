//! A connection that can be reset on demand, which neither hyper nor an orderly close can do.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Makes a [`ResettableStream`] end with a reset.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResetSwitch(Arc<AtomicBool>);

impl ResetSwitch {
    pub(crate) fn trigger(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct ResettableStream {
    stream: TcpStream,
    switch: ResetSwitch,
}

impl ResettableStream {
    pub(crate) fn new(stream: TcpStream, switch: ResetSwitch) -> Self {
        Self { stream, switch }
    }
}

impl Drop for ResettableStream {
    fn drop(&mut self) {
        if self.switch.0.load(Ordering::Relaxed) {
            // Without lingering, the kernel sends RST instead of FIN. If this fails, the client sees an orderly close,
            // which also loses the response.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for ResettableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for ResettableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly close would precede the reset.
        if self.switch.0.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
