//! A rate limit per region, shared by all clients, so that one busy kind cannot use up the quota of the others.
//!
//! Requests have their turn in the order in which they came, except that those of users who wait go first.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Requests per second for each region. Clones share the lines.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    interval: Duration,
    burst: u32,
    lines: Arc<Mutex<HashMap<String, Arc<Line>>>>,
}

impl RateLimiter {
    /// At most `per_second` on average, with a burst of one second's worth.
    pub fn new(per_second: f64) -> Self {
        // A limit of zero would stop everything; the annotation `paused` is for that.
        let per_second = if per_second.is_finite() { per_second.clamp(0.01, 10_000.0) } else { 10_000.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 1..=10,000 above"
        )]
        let burst = per_second.ceil() as u32;
        Self { interval: Duration::from_secs_f64(1.0 / per_second), burst, lines: Arc::default() }
    }

    /// Waits until a request may be sent; at once `false`, if that would probably take longer than `max_wait`. A request
    /// that goes first waits behind others that do, and at most one that does not.
    pub(crate) async fn turn(&self, region: &str, goes_first: bool, max_wait: Duration) -> bool {
        let line = self.line(region);
        if goes_first {
            tokio::time::sleep(line.take(self.interval, self.burst)).await;
            return true;
        }
        let waiting = Waiting::new(&line);
        if line.backlog(self.interval, self.burst) + self.interval * waiting.before > max_wait {
            return false;
        }
        let _gate = line.gate.lock().await;
        tokio::time::sleep(line.take(self.interval, self.burst)).await;
        true
    }

    fn line(&self, region: &str) -> Arc<Line> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.get(region) {
            Some(line) => Arc::clone(line),
            None => Arc::clone(lines.entry(region.to_owned()).or_default()),
        }
    }
}

/// The requests to one region.
#[derive(Debug)]
struct Line {
    /// A token bucket, stored as the time at which it will be full again.
    full_at: Mutex<Instant>,
    /// Held by the one request that waits for a token without going first; the others wait for this.
    gate: tokio::sync::Mutex<()>,
    /// How many requests wait that do not go first.
    waiting: AtomicU32,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            full_at: Mutex::new(Instant::now()),
            gate: tokio::sync::Mutex::default(),
            waiting: AtomicU32::new(0),
        }
    }
}

impl Line {
    /// Takes a token; how long to wait until it is there.
    fn take(&self, interval: Duration, burst: u32) -> Duration {
        let wait = self.backlog(interval, burst);
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        *full_at = (*full_at).max(Instant::now()) + interval;
        wait
    }

    /// How long to wait for the next token.
    fn backlog(&self, interval: Duration, burst: u32) -> Duration {
        let now = Instant::now();
        let full_at = *self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = full_at.max(now) + interval;
        next.saturating_duration_since(now).saturating_sub(interval * burst)
    }
}

/// Counts a request among those that wait, until it is dropped.
struct Waiting<'a> {
    line: &'a Line,
    /// How many waited already.
    before: u32,
}

impl<'a> Waiting<'a> {
    fn new(line: &'a Line) -> Self {
        Self { line, before: line.waiting.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.line.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    const MAX_WAIT: Duration = Duration::from_secs(60);

    /// When requests have their turn, in milliseconds; `first` says which go first.
    async fn turns(limiter: &RateLimiter, region: &str, first: &[bool]) -> Vec<Option<u128>> {
        let began = Instant::now();
        let turns = first.iter().map(|goes_first| async move {
            let has_turn = limiter.turn(region, *goes_first, MAX_WAIT).await;
            has_turn.then(|| began.elapsed().as_millis())
        });
        join_all(turns).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_immediate_and_the_rest_is_spread() {
        let limiter = RateLimiter::new(4.0);
        assert_eq!(turns(&limiter, "phx", &[false; 7]).await, [0, 0, 0, 0, 250, 500, 750].map(Some));
        assert_eq!(turns(&limiter, "iad", &[false]).await, [Some(0)], "another region has its own");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(turns(&limiter, "phx", &[false]).await, [Some(0)], "full again after a while");
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_first_does_not_wait_behind_the_others() {
        let limiter = RateLimiter::new(4.0);
        turns(&limiter, "phx", &[false; 4]).await;
        let waits = turns(&limiter, "phx", &[false, false, false, true, true]).await;
        assert_eq!(waits, [250, 1000, 1250, 500, 750].map(Some));
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_is_too_long_is_not_joined() {
        let limiter = RateLimiter::new(1.0);
        turns(&limiter, "phx", &[false]).await;
        assert!(!limiter.turn("phx", false, Duration::from_millis(10)).await);
        let (first, second, third) = tokio::join!(
            limiter.turn("phx", false, MAX_WAIT),
            limiter.turn("phx", false, MAX_WAIT),
            limiter.turn("phx", false, Duration::from_secs(2)),
        );
        assert_eq!((first, second, third), (true, true, false));
    }

    #[tokio::test(start_paused = true)]
    async fn an_invalid_limit_is_clamped() {
        for per_second in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e12] {
            assert_eq!(turns(&RateLimiter::new(per_second), "phx", &[false]).await, [Some(0)]);
        }
    }
}
