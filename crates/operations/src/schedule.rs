//! When to look again: every delay in one place, as plain arithmetic on values that are passed in.

use std::time::Duration;

use jiff::Timestamp;

/// The least and the most that a provider's `Retry-After` can make us wait.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// The first pause after trouble that passes; it doubles up to [`BACKOFF_MOST`].
const BACKOFF_FIRST: Duration = Duration::from_secs(1);
/// The longest pause after trouble that passes.
const BACKOFF_MOST: Duration = Duration::from_secs(300);
/// The slow look doubles up to this many times its first interval: 5 minutes become an hour.
const SLOW_MOST: u32 = 12;
/// The share of a delay that chance may add or take.
const JITTER_SHARE: f64 = 0.1;

/// The intervals an operator is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Between two looks at an operation in flight.
    pub poll_interval: Duration,
    /// How long an operation may take before it is called stalled.
    pub operation_deadline: Duration,
    /// How long a create may stay invisible in listings, clocks that disagree included.
    pub create_grace: Duration,
    /// The first interval of the slow look.
    pub slow_retry: Duration,
    /// Between two looks at a resource that is as asked.
    pub drift_interval: Duration,
}

impl Default for Settings {
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

/// A number between 0 and 1 that chance chose, so that a thousand objects do not knock at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter(f64);

impl Jitter {
    /// A share of the jitter; outside 0..=1 it is clamped, and not a number is no jitter.
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

/// The pause before a call is tried again after trouble that passes: what the provider asks for within bounds, else
/// doubling with every failure in a row.
pub(crate) fn backoff(failures_in_a_row: u32, retry_after: Option<Duration>, jitter: Jitter) -> Duration {
    let doubled = || BACKOFF_FIRST.saturating_mul(1 << failures_in_a_row.saturating_sub(1).min(16));
    let delay = retry_after.map_or_else(|| doubled().min(BACKOFF_MOST), clamp_retry_after);
    jitter.later(delay)
}

/// The pause before an operation in flight is looked at again.
pub(crate) fn poll(settings: &Settings, retry_after: Option<Duration>, jitter: Jitter) -> Duration {
    retry_after.map_or_else(|| jitter.sooner(settings.poll_interval), clamp_retry_after)
}

/// The pause after the `tries`-th fruitless operation in a row: 5 minutes, doubling to an hour.
pub(crate) fn slow(settings: &Settings, tries: u32) -> Duration {
    let factor = 1_u32 << tries.saturating_sub(1).min(8);
    settings.slow_retry.saturating_mul(factor.min(SLOW_MOST))
}

/// The pause before the next slow look at something that has been wrong for `elapsed`: as long as that again, so
/// the looks double without a counter that somebody would have to store.
pub(crate) fn slow_since(settings: &Settings, elapsed: Duration) -> Duration {
    elapsed.clamp(settings.slow_retry, settings.slow_retry.saturating_mul(SLOW_MOST))
}

/// The time from `since` to `now`; nothing when the clock was set back.
pub(crate) fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(since)).unwrap_or_default()
}

/// `delay` after `time`, or the end of time.
pub(crate) fn after(time: Timestamp, delay: Duration) -> Timestamp {
    time.checked_add(delay).unwrap_or(Timestamp::MAX)
}

/// Whole seconds, as Kubernetes stores times; what we compare is then what we read back.
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
    fn the_slow_look_doubles_from_five_minutes_to_an_hour() {
        let settings = Settings::default();
        let by_tries = [0, 1, 2, 3, 4, 5, 99].map(|tries| slow(&settings, tries).as_secs() / 60);
        assert_eq!(by_tries, [5, 5, 10, 20, 40, 60, 60]);
        let mut wrong_for = secs(0);
        let looks = [(); 7].map(|()| {
            let pause = slow_since(&settings, wrong_for);
            wrong_for += pause;
            pause.as_secs() / 60
        });
        assert_eq!(looks, [5, 5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn jitter_never_shortens_what_must_pass_nor_lengthens_what_is_promised() {
        for share in [-1.0, 0.0, 0.5, 1.0, 7.0, f64::NAN] {
            let jitter = Jitter::new(share);
            assert!(backoff(1, Some(secs(10)), jitter) >= secs(10), "{share}");
            assert!(poll(&Settings::default(), None, jitter) <= Settings::default().poll_interval, "{share}");
            assert!(jitter.later(secs(100)) <= secs(110), "{share}");
            assert!(jitter.sooner(secs(100)) >= secs(90), "{share}");
        }
        assert_eq!(poll(&Settings::default(), Some(secs(40)), Jitter::new(1.0)), secs(40));
    }

    #[test]
    fn time_that_ran_backwards_is_no_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(elapsed(at(100), at(130)), secs(30));
        assert_eq!(elapsed(at(130), at(100)), secs(0));
        assert_eq!(after(Timestamp::MAX, secs(1)), Timestamp::MAX);
    }
}
