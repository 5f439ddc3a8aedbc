//! Every delay in one place: polling, backoff, slow retries and jitter, as arithmetic on values.

use std::time::Duration;

use backoff::{Backoff, Jitter};
use jiff::Timestamp;

/// The bounds on a provider's `Retry-After`.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// After a transient error.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300));
/// Slow retries double up to this many times their first interval: 5 minutes become an hour.
const MAX_SLOW_FACTOR: u32 = 12;

/// The intervals that an operator runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Between two polls of an operation in flight.
    pub poll_interval: Duration,
    /// How long an operation may take before it counts as stalled.
    pub operation_deadline: Duration,
    /// How long a created resource may be missing from listings, including clock skew.
    pub create_grace: Duration,
    /// The first interval of slow retries.
    pub slow_retry: Duration,
    /// Between two reads of a resource that matches its spec.
    pub drift_interval: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            poll_interval: Duration::from_secs(15),
            operation_deadline: Duration::from_secs(3600),
            create_grace: Duration::from_secs(120),
            slow_retry: Duration::from_secs(300),
            drift_interval: Duration::from_secs(600),
        }
    }
}

/// The delay before a call is retried after a transient error: the provider's `Retry-After` within bounds, else doubling
/// with every consecutive failure.
pub(crate) fn backoff(failures: u32, retry_after: Option<Duration>, jitter: Jitter) -> Duration {
    let asked = retry_after.map(|asked| jitter.later(clamp_retry_after(asked)));
    asked.unwrap_or_else(|| BACKOFF.after(failures, jitter))
}

/// The delay before an operation in flight is polled again.
pub(crate) fn poll(schedule: &Schedule, retry_after: Option<Duration>, jitter: Jitter) -> Duration {
    retry_after.map_or_else(|| jitter.sooner(schedule.poll_interval), clamp_retry_after)
}

/// The delay after the `tries`-th fruitless operation in a row: 5 minutes, doubling to an hour.
pub(crate) fn slow(schedule: &Schedule, tries: u32) -> Duration {
    let max = schedule.slow_retry.saturating_mul(MAX_SLOW_FACTOR);
    Backoff::new(schedule.slow_retry, max).after(tries, Jitter::default())
}

/// The delay before the next retry of an object that has been stalled for `elapsed`: as long again, so that delays
/// double without a stored counter.
pub(crate) fn slow_since(schedule: &Schedule, elapsed: Duration) -> Duration {
    elapsed.clamp(schedule.slow_retry, schedule.slow_retry.saturating_mul(MAX_SLOW_FACTOR))
}

/// The time from `since` to `now`; zero when the clock was set back.
pub(crate) fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(since)).unwrap_or_default()
}

/// `delay` after `time`, saturating.
pub(crate) fn after(time: Timestamp, delay: Duration) -> Timestamp {
    time.checked_add(delay).unwrap_or(Timestamp::MAX)
}

/// Kubernetes stores whole seconds; times compare equal to what is read back only if they are whole, too.
pub(crate) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn clamp_retry_after(delay: Duration) -> Duration {
    delay.clamp(RETRY_AFTER.0, RETRY_AFTER.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn backoff_doubles_to_five_minutes_and_honours_retry_after_within_bounds() {
        let none = Jitter::default();
        let delays = [0, 1, 2, 3, 8, 9, 10, 99].map(|failures| backoff(failures, None, none).as_secs());
        assert_eq!(delays, [1, 1, 2, 4, 128, 256, 300, 300]);
        let asked = [0, 1, 7, 300, 9000].map(|asked| backoff(5, Some(secs(asked)), none).as_secs());
        assert_eq!(asked, [1, 1, 7, 300, 300]);
    }

    #[test]
    fn slow_retries_double_from_five_minutes_to_an_hour() {
        let schedule = Schedule::default();
        let by_tries = [0, 1, 2, 3, 4, 5, 99].map(|tries| slow(&schedule, tries).as_secs() / 60);
        assert_eq!(by_tries, [5, 5, 10, 20, 40, 60, 60]);
        let mut stalled_for = secs(0);
        let delays = [(); 7].map(|()| {
            let delay = slow_since(&schedule, stalled_for);
            stalled_for += delay;
            delay.as_secs() / 60
        });
        assert_eq!(delays, [5, 5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn jitter_respects_lower_and_upper_bounds() {
        for share in [-1.0, 0.0, 0.5, 1.0, 7.0, f64::NAN] {
            let jitter = Jitter::new(share);
            assert!(backoff(1, Some(secs(10)), jitter) >= secs(10), "{share}");
            assert!(poll(&Schedule::default(), None, jitter) <= Schedule::default().poll_interval, "{share}");
        }
        assert_eq!(poll(&Schedule::default(), Some(secs(40)), Jitter::new(1.0)), secs(40));
    }

    #[test]
    fn a_clock_that_was_set_back_yields_zero() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(elapsed(at(100), at(130)), secs(30));
        assert_eq!(elapsed(at(130), at(100)), secs(0));
        assert_eq!(after(Timestamp::MAX, secs(1)), Timestamp::MAX);
    }
}
