//! A limit on requests per region, shared by everyone who asks, so that one busy kind cannot use up the quota of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Requests per second for each region. Clones share the count.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    interval: Duration,
    burst: u32,
    buckets: Arc<Mutex<HashMap<String, Bucket>>>,
}

impl RateLimiter {
    /// At most `per_second` on average, and a second's worth at once.
    pub fn new(per_second: f64) -> Self {
        // A limit of nothing would be a way to stop; that is what `paused` is for.
        let per_second = if per_second.is_finite() { per_second.clamp(0.01, 10_000.0) } else { 10_000.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 1..=10,000 above"
        )]
        let burst = per_second.ceil() as u32;
        Self { interval: Duration::from_secs_f64(1.0 / per_second), burst, buckets: Arc::default() }
    }

    /// How long to wait before a request may be sent; nothing, and no place taken, when it is longer than `patience`.
    pub(crate) fn reserve(&self, region: &str, now: Instant, patience: Duration) -> Option<Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = match buckets.get_mut(region) {
            Some(bucket) => bucket,
            None => buckets.entry(region.to_owned()).or_insert(Bucket { next: now }),
        };
        bucket.take(now, self.interval, self.burst, patience)
    }
}

/// A token bucket, kept as the time at which it would be full again: one number instead of a count and a time.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    next: Instant,
}

impl Bucket {
    fn take(&mut self, now: Instant, interval: Duration, burst: u32, patience: Duration) -> Option<Duration> {
        let next = self.next.max(now) + interval;
        let wait = next.saturating_duration_since(now).saturating_sub(interval * burst);
        if wait > patience {
            return None;
        }
        self.next = next;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn millis(wait: Option<Duration>) -> Option<u128> {
        wait.map(|wait| wait.as_millis())
    }

    #[test]
    fn a_burst_is_free_and_the_rest_is_spread() {
        let limiter = RateLimiter::new(4.0);
        let now = Instant::now();
        let waits: Vec<_> = (0..7).map(|_| millis(limiter.reserve("phx", now, PATIENCE))).collect();
        assert_eq!(waits, [0, 0, 0, 0, 250, 500, 750].map(Some));
        assert_eq!(millis(limiter.reserve("iad", now, PATIENCE)), Some(0), "another region has its own");
        let later = now + Duration::from_millis(1750);
        assert_eq!(millis(limiter.reserve("phx", later, PATIENCE)), Some(0), "full again after a while");
    }

    #[test]
    fn whoever_cannot_wait_takes_no_place() {
        let limiter = RateLimiter::new(1.0);
        let now = Instant::now();
        assert_eq!(millis(limiter.reserve("phx", now, PATIENCE)), Some(0));
        for _ in 0..3 {
            assert_eq!(limiter.reserve("phx", now, Duration::from_millis(10)), None);
        }
        assert_eq!(millis(limiter.reserve("phx", now, PATIENCE)), Some(1000));
    }

    #[test]
    fn a_senseless_limit_is_a_limit_all_the_same() {
        for per_second in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e12] {
            assert_eq!(
                millis(RateLimiter::new(per_second).reserve("phx", Instant::now(), PATIENCE)),
                Some(0)
            );
        }
    }
}
