//! A rate limit per region, shared by all clients, so that one busy kind cannot use up the quota of the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Requests per second for each region. Clones share the buckets.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    interval: Duration,
    burst: u32,
    buckets: Arc<Mutex<HashMap<String, Bucket>>>,
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
        Self { interval: Duration::from_secs_f64(1.0 / per_second), burst, buckets: Arc::default() }
    }

    /// How long to wait before a request may be sent; none, and nothing reserved, if that is longer than `max_wait`.
    pub(crate) fn reserve(&self, region: &str, now: Instant, max_wait: Duration) -> Option<Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = match buckets.get_mut(region) {
            Some(bucket) => bucket,
            None => buckets.entry(region.to_owned()).or_insert(Bucket { next: now }),
        };
        bucket.take(now, self.interval, self.burst, max_wait)
    }
}

/// A token bucket, stored as the time at which it will be full again.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    next: Instant,
}

impl Bucket {
    fn take(&mut self, now: Instant, interval: Duration, burst: u32, max_wait: Duration) -> Option<Duration> {
        let next = self.next.max(now) + interval;
        let wait = next.saturating_duration_since(now).saturating_sub(interval * burst);
        if wait > max_wait {
            return None;
        }
        self.next = next;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_WAIT: Duration = Duration::from_secs(60);

    fn millis(wait: Option<Duration>) -> Option<u128> {
        wait.map(|wait| wait.as_millis())
    }

    #[test]
    fn a_burst_is_immediate_and_the_rest_is_spread() {
        let limiter = RateLimiter::new(4.0);
        let now = Instant::now();
        let waits: Vec<_> = (0..7).map(|_| millis(limiter.reserve("phx", now, MAX_WAIT))).collect();
        assert_eq!(waits, [0, 0, 0, 0, 250, 500, 750].map(Some));
        assert_eq!(millis(limiter.reserve("iad", now, MAX_WAIT)), Some(0), "another region has its own");
        let later = now + Duration::from_millis(1750);
        assert_eq!(millis(limiter.reserve("phx", later, MAX_WAIT)), Some(0), "full again after a while");
    }

    #[test]
    fn a_refused_reservation_takes_no_place() {
        let limiter = RateLimiter::new(1.0);
        let now = Instant::now();
        assert_eq!(millis(limiter.reserve("phx", now, MAX_WAIT)), Some(0));
        for _ in 0..3 {
            assert_eq!(limiter.reserve("phx", now, Duration::from_millis(10)), None);
        }
        assert_eq!(millis(limiter.reserve("phx", now, MAX_WAIT)), Some(1000));
    }

    #[test]
    fn an_invalid_limit_is_clamped() {
        for per_second in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e12] {
            assert_eq!(
                millis(RateLimiter::new(per_second).reserve("phx", Instant::now(), MAX_WAIT)),
                Some(0)
            );
        }
    }
}
