//! Runs one request at a time: callers that need its result while it is in flight share it, including its failure.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

type Request<T, E> = BoxFuture<'static, Result<T, E>>;

/// A request that is repeated over time, its last result, and the one in flight.
///
/// Requests are numbered from 1 in the order they start. A result reflects everything that happened before its request
/// started, so "the result of a request after number n" expresses freshness without a clock.
pub(crate) struct SingleFlight<T, E> {
    state: Arc<Mutex<State<T, E>>>,
}

struct State<T, E> {
    /// The number of the last request started.
    started: u64,
    /// The last completed request, and its result.
    last: Option<(u64, T)>,
    /// The request in flight. Only its waiters keep it alive, so it is cancelled when all of them give up.
    in_flight: Option<WeakShared<Request<T, E>>>,
}

impl<T, E> SingleFlight<T, E>
where
    T: Clone + Send + Sync + 'static,
    E: Clone + Send + Sync + 'static,
{
    /// How many requests have been started.
    pub(crate) fn started(&self) -> u64 {
        self.lock().started
    }

    /// The last result, and the number of its request.
    pub(crate) fn last(&self) -> Option<(u64, T)> {
        self.lock().last.clone()
    }

    /// The result of a request after number `number`; calls `ask` if none is in flight.
    ///
    /// A failure goes to every waiter, whichever request it waits for: the next request would most likely fail too, and
    /// the waiters would pay for it one after the other.
    pub(crate) async fn after<F>(&self, number: u64, ask: impl Fn() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        loop {
            let in_flight = {
                let mut state = self.lock();
                match &state.last {
                    Some((answered, answer)) if *answered > number => return Ok(answer.clone()),
                    _ => {}
                }
                match state.in_flight.as_ref().and_then(WeakShared::upgrade) {
                    Some(in_flight) => in_flight,
                    None => self.begin(&mut state, ask()),
                }
            };
            in_flight.await?;
        }
    }

    fn begin(
        &self,
        state: &mut State<T, E>,
        request: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Shared<Request<T, E>> {
        state.started += 1;
        let number = state.started;
        let shared = Arc::clone(&self.state);
        let in_flight = async move {
            let outcome = request.await;
            let mut state = lock(&shared);
            state.in_flight = None;
            if let Ok(answer) = &outcome {
                state.last = Some((number, answer.clone()));
            }
            outcome
        }
        .boxed()
        .shared();
        state.in_flight = in_flight.downgrade();
        in_flight
    }

    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        lock(&self.state)
    }
}

fn lock<S>(state: &Mutex<S>) -> MutexGuard<'_, S> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, E> Default for SingleFlight<T, E> {
    fn default() -> Self {
        Self { state: Arc::new(Mutex::new(State { started: 0, last: None, in_flight: None })) }
    }
}

/// Omits the result, which may be a credential.
impl<T, E> fmt::Debug for SingleFlight<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFlight").field("started", &lock(&self.state).started).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;

    /// Requests that succeed or fail when the test lets them.
    struct Server {
        request: SingleFlight<usize, &'static str>,
        asked: Arc<AtomicUsize>,
        gate: Arc<Semaphore>,
    }

    impl Server {
        fn new() -> Self {
            Self {
                request: SingleFlight::default(),
                asked: Arc::default(),
                gate: Arc::new(Semaphore::new(0)),
            }
        }

        /// Requests a result after `number`; only requests after number `fails` succeed.
        async fn after(&self, number: u64, fails: usize) -> Result<usize, &'static str> {
            let ask = || {
                let (asked, gate) = (Arc::clone(&self.asked), Arc::clone(&self.gate));
                async move {
                    let request = asked.fetch_add(1, Ordering::Relaxed) + 1;
                    gate.acquire().await.map_err(|_| "closed")?.forget();
                    if request > fails { Ok(request) } else { Err("no answer") }
                }
            };
            self.request.after(number, ask).await
        }
    }

    #[tokio::test]
    async fn a_failure_fails_all_waiters_at_once() {
        let server = Server::new();
        // Waiters that need a fresher result than the one in flight fail with it, too.
        let waiting = join_all((0..20).map(|number| server.after(number % 2, 1)));
        let (outcomes, ()) = tokio::join!(waiting, async { server.gate.add_permits(1) });
        assert_eq!(outcomes, vec![Err("no answer"); 20]);
        assert_eq!(server.asked.load(Ordering::Relaxed), 1);
        // A later caller asks again.
        server.gate.add_permits(1);
        assert_eq!(server.after(0, 1).await, Ok(2));
    }

    #[tokio::test]
    async fn a_result_is_shared_if_it_is_fresh_enough() {
        let server = Server::new();
        server.gate.add_permits(2);
        let outcomes = join_all([0, 0, 1, 1].map(|number| server.after(number, 0))).await;
        assert_eq!(outcomes, [Ok(1), Ok(1), Ok(2), Ok(2)]);
        assert_eq!(server.after(0, 0).await, Ok(2));
        assert_eq!(server.asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_request_outlives_the_caller_that_started_it_but_not_the_last_one() {
        let server = Server::new();
        let mut first = Box::pin(server.after(0, 0));
        let mut second = Box::pin(server.after(0, 0));
        assert!(futures::poll!(&mut first).is_pending());
        assert!(futures::poll!(&mut second).is_pending());
        drop(first);
        server.gate.add_permits(1);
        assert_eq!(second.await, Ok(1));

        let mut alone = Box::pin(server.after(1, 0));
        assert!(futures::poll!(&mut alone).is_pending());
        drop(alone);
        server.gate.add_permits(1);
        assert_eq!(server.after(1, 0).await, Ok(3));
    }
}
