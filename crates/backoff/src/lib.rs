//! How long to wait before a retry: longer after each failure, up to a limit, with jitter.
//!
//! [`Jitter`] is a value. Code that decides takes it as an argument; the shell around it calls [`Jitter::random`].

use std::cell::Cell;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// The share of a delay that jitter may add or remove.
const SHARE: f64 = 0.1;

/// An exponential backoff.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
}

/// A random number from 0 to 1, so that a thousand objects that failed together do not retry together. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter(f64);

impl Backoff {
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max }
    }

    pub const fn max(self) -> Duration {
        self.max
    }

    /// The wait after this many failures in a row: `first`, doubled with each further failure, at most `max`, and then
    /// up to a tenth less.
    pub fn after(self, failures: u32, jitter: Jitter) -> Duration {
        let doubled = self.first.saturating_mul(2u32.saturating_pow(failures.saturating_sub(1)));
        jitter.sooner(doubled.min(self.max))
    }
}

impl Jitter {
    /// Clamps `share` to 0..=1; not a number is no jitter.
    pub fn new(share: f64) -> Self {
        Self(if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) })
    }

    #[expect(clippy::cast_precision_loss, reason = "jitter needs no more digits than a double has")]
    pub fn random() -> Self {
        Self(random() as f64 / u64::MAX as f64)
    }

    /// Up to a tenth sooner, for delays that are an upper bound.
    pub fn sooner(self, delay: Duration) -> Duration {
        delay.saturating_sub(delay.mul_f64(SHARE * self.0))
    }

    /// A random part of a span.
    pub fn part(self, span: Duration) -> Duration {
        span.mul_f64(self.0)
    }

    /// Up to a tenth later, for delays that are a lower bound.
    pub fn later(self, delay: Duration) -> Duration {
        delay.saturating_add(delay.mul_f64(SHARE * self.0))
    }
}

thread_local! {
    static SEEDED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// An unpredictable number, unless the thread is [seeded](seed_thread). The seeds of a hash map are the randomness that
/// comes with the standard library.
pub fn random() -> u64 {
    let Some(state) = SEEDED.get() else { return RandomState::new().build_hasher().finish() };
    // SplitMix64.
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    SEEDED.set(Some(state));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Makes the numbers of [`random`] on this thread follow from `seed` from now on, for simulations that can be repeated.
pub fn seed_thread(seed: u64) {
    SEEDED.set(Some(seed));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const BACKOFF: Backoff = Backoff::new(SECOND, Duration::from_secs(30));

    #[test]
    fn waits_double_up_to_the_limit_and_jitter_takes_off_a_tenth_at_most() {
        let check = |failures, expected: u32| {
            let expected = SECOND * expected;
            assert_eq!(BACKOFF.after(failures, Jitter::default()), expected, "{failures}");
            assert_eq!(BACKOFF.after(failures, Jitter::new(1.0)), expected.mul_f64(0.9), "{failures}");
        };
        check(0, 1);
        check(1, 1);
        check(2, 2);
        check(5, 16);
        check(6, 30);
        check(u32::MAX, 30);
        assert_eq!(Backoff::new(SECOND, Duration::MAX).after(u32::MAX, Jitter::default()), SECOND * u32::MAX);
    }

    #[test]
    fn jitter_respects_lower_and_upper_bounds() {
        for share in [-1.0, 0.0, 0.5, 1.0, 7.0, f64::NAN] {
            let jitter = Jitter::new(share);
            assert!((Duration::ZERO..=SECOND).contains(&jitter.part(SECOND)), "{share}");
            assert!((SECOND..=SECOND.mul_f64(1.1)).contains(&jitter.later(SECOND)), "{share}");
            assert!((SECOND.mul_f64(0.9)..=SECOND).contains(&jitter.sooner(SECOND)), "{share}");
        }
    }

    #[test]
    fn numbers_of_a_seeded_thread_follow_from_the_seed() {
        let numbers = |seed| {
            let draw = move || {
                seed_thread(seed);
                [random(), random(), random()]
            };
            std::thread::spawn(draw).join().unwrap()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert_ne!(random(), random(), "other threads are not seeded");
    }

    #[test]
    fn a_thousand_objects_that_failed_together_do_not_retry_together() {
        let mut tenths = [0; 10];
        for _ in 0..1000 {
            let early = SECOND.saturating_sub(BACKOFF.after(1, Jitter::random())).as_secs_f64();
            let tenth = (0..9).find(|tenth| early < 0.01 * f64::from(tenth + 1)).unwrap_or(9);
            tenths[usize::try_from(tenth).unwrap()] += 1;
        }
        // A fair share is 100 of 1000; that one is below 40 by chance is less likely than one in a billion.
        assert!(tenths.iter().all(|count| *count >= 40), "{tenths:?}");
    }
}
