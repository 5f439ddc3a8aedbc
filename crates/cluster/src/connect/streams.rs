//! Watches of single objects and of metadata share connections, each of which carries as many as the server allows.
//!
//! Everything else has a connection of its own (HTTP/1.1): no write waits behind a watch, and no long list stalls others.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap};
use http::{Request, Version};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::{Mutex, MutexGuard};

use super::connector::Protocol;
use crate::metadata::WATCH;

/// A kube-apiserver allows 100 streams on a connection. One more would not be refused, but hang until another ends.
const MAX_STREAMS: usize = 90;

/// Whether a request is a watch that is seldom heard from: of a single object, or of the metadata of a kind.
pub(super) fn is_quiet_watch<B>(request: &Request<B>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let is_of_one = query.contains("fieldSelector=metadata.name%3D");
    query.contains("watch=true") && (is_of_one || is_of_metadata(request.headers()))
}

fn is_of_metadata(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|accept| accept == WATCH)
}

/// Pools of one HTTP/2 connection each. For a server that does not speak HTTP/2, a pool has a connection per watch.
pub(super) struct StreamPools<S>(Vec<StreamPool<S>>);

struct StreamPool<S> {
    protocol: Protocol,
    service: S,
    /// Shared with every stream.
    streams: Arc<()>,
}

impl<S> Default for StreamPools<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S: Clone> StreamPools<S> {
    /// A pool that speaks `protocol` and has room for one more stream; `open` makes one if there is none. Those without
    /// streams are closed.
    pub(super) fn acquire<E>(
        &mut self,
        protocol: Protocol,
        open: impl FnOnce() -> Result<S, E>,
    ) -> Result<(S, Stream), E> {
        let streams = |pool: &StreamPool<S>| Arc::strong_count(&pool.streams) - 1;
        let fits = |pool: &StreamPool<S>| pool.protocol == protocol && streams(pool) < MAX_STREAMS;
        let pool = if let Some(found) = self.0.iter().position(fits) {
            &self.0[found]
        } else {
            self.0.push(StreamPool { protocol, service: open()?, streams: Arc::default() });
            &self.0[self.0.len() - 1]
        };
        let acquired = (pool.service.clone(), Stream(Arc::clone(&pool.streams)));
        self.0.retain(|pool| streams(pool) > 0);
        Ok(acquired)
    }
}

/// Whether the server speaks HTTP/2, as its last response tells. A pool that knows it opens one connection, however many
/// requests come before that is there; one that does not would open a connection for each of them.
#[derive(Default)]
pub(super) struct Http2 {
    is_spoken: AtomicU8,
    asking: Mutex<()>,
}

const UNKNOWN: u8 = 0;
const SPOKEN: u8 = 1;
const NOT_SPOKEN: u8 = 2;

impl Http2 {
    pub(super) fn is_spoken(&self) -> Option<bool> {
        match self.is_spoken.load(Ordering::Acquire) {
            SPOKEN => Some(true),
            NOT_SPOKEN => Some(false),
            _ => None,
        }
    }

    /// The turn to ask, which comes when the answer is known or no other request asks; none if it is known already.
    pub(super) async fn ask(&self) -> Option<MutexGuard<'_, ()>> {
        if self.is_spoken().is_some() {
            return None;
        }
        let turn = self.asking.lock().await;
        self.is_spoken().is_none().then_some(turn)
    }

    /// A response came in this version, or none came: another server may answer next.
    pub(super) fn learn(&self, version: Option<Version>) {
        let known = match version {
            None => UNKNOWN,
            Some(Version::HTTP_2) => SPOKEN,
            Some(_) => NOT_SPOKEN,
        };
        self.is_spoken.store(known, Ordering::Release);
    }
}

/// A place on a connection, until it is dropped.
pub(super) struct Stream(#[expect(dead_code, reason = "it is counted")] Arc<()>);

/// The body of a response. A watch keeps its place on the connection until the body is dropped.
pub(crate) struct ResponseBody {
    body: Incoming,
    _stream: Option<Stream>,
}

impl ResponseBody {
    pub(super) fn new(body: Incoming, stream: Option<Stream>) -> Self {
        Self { body, _stream: stream }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_takes_no_more_streams_than_a_server_allows() {
        let mut pools = StreamPools::default();
        let mut opened = 0;
        let mut acquire = |pools: &mut StreamPools<usize>| {
            let open = || {
                opened += 1;
                Ok::<_, ()>(opened)
            };
            pools.acquire(Protocol::Http2, open).unwrap()
        };
        let mut streams: Vec<_> = (0..=(2 * MAX_STREAMS)).map(|_| acquire(&mut pools)).collect();
        let on = |streams: &[(usize, Stream)], pool| streams.iter().filter(|(on, _)| *on == pool).count();
        assert_eq!([1, 2, 3].map(|pool| on(&streams, pool)), [MAX_STREAMS, MAX_STREAMS, 1]);
        // Places that were given back are taken again, and pools without streams are closed.
        streams.truncate(MAX_STREAMS + 1);
        streams.remove(0);
        streams.push(acquire(&mut pools));
        assert_eq!([1, 2, 3].map(|pool| on(&streams, pool)), [MAX_STREAMS, 1, 0]);
        assert_eq!(pools.0.len(), 2);
    }

    #[test]
    fn only_quiet_watches_share_connections() {
        let check = |path: &str, accept: &str, expected: bool| {
            let request = Request::get(path).header(ACCEPT, accept).body(()).unwrap();
            assert_eq!(is_quiet_watch(&request), expected, "{path} as {accept}");
        };
        let json = "application/json";
        check("/api/v1/configmaps?watch=true&fieldSelector=metadata.name%3Dweb", json, true);
        check("/api/v1/configmaps?watch=true", WATCH, true);
        check("/api/v1/configmaps?watch=true", json, false);
        check("/api/v1/configmaps?limit=1", WATCH, false);
        check("/api/v1/configmaps?fieldSelector=metadata.name%3Dweb", json, false);
        check("/api/v1/configmaps?watch=true&fieldSelector=spec.nodeName%3Dweb", json, false);
        check("/api/v1/namespaces/shop/configmaps/web", json, false);
    }
}
