//! Every delay in one place: polling, backoff, slow retries and jitter, as arithmetic on values.

use std::time::Duration;

use jiff::Timestamp;

/// The bounds on a provider's `Retry-After`.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// The first backoff after a transient error; it doubles up to [`MAX_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// Slow retries double up to this many times their first interval: 5 minutes become an hour.
const MAX_SLOW_FACTOR: u32 = 12;
/// The share of a delay that jitter may add or remove.
const JITTER_SHARE: f64 = 0.1;

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

/// A random number between 0 and 1, so that a thousand objects do not call at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter(f64);

impl Jitter {
    /// Clamps `share` to 0..=1; not a number is no jitter.
    pub fn new(share: f64) -> Self {
        Self(if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) })
    }

    /// Up to a tenth sooner, for intervals that are an upper bound.
    pub fn sooner(self, delay: Duration) -> Duration {
        delay.mul_f64(1.0 - JITTER_SHARE * self.0)
    }

    /// Up to a tenth later, for delays that are a lower bound.
    pub fn later(self, delay: Duration) -> Duration {
        delay.mul_f64(1.0 + JITTER_SHARE * self.0)
    }
}

/// The delay before a call is retried after a transient error: the provider's `Retry-After` within bounds, else doubling
/// with every consecutive failure.
pub(crate) fn backoff(failures: u32, retry_after: Option<Duration>, jitter: Jitter) -> Duration {
    let doubled = || FIRST_BACKOFF.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let delay = retry_after.map_or_else(|| doubled().min(MAX_BACKOFF), clamp_retry_after);
    jitter.later(delay)
}

/// The delay before an operation in flight is polled again.
pub(crate) fn poll(schedule: &Schedule, retry_after: Option<Duration>, jitter: Jitter) -> Duration {
    retry_after.map_or_else(|| jitter.sooner(schedule.poll_interval), clamp_retry_after)
}

/// The delay after the `tries`-th fruitless operation in a row: 5 minutes, doubling to an hour.
pub(crate) fn slow(schedule: &Schedule, tries: u32) -> Duration {
    let factor = 1_u32 << tries.saturating_sub(1).min(8);
    schedule.slow_retry.saturating_mul(factor.min(MAX_SLOW_FACTOR))
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
            assert!(jitter.later(secs(100)) <= secs(110), "{share}");
            assert!(jitter.sooner(secs(100)) >= secs(90), "{share}");
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
