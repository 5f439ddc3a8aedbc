//! How long to wait before something is tried again: ever longer, up to a limit, and never quite as long as others do.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// The wait after `failures` failures in a row: `first`, doubled with each further one, `longest` at most, and up to a
/// tenth shorter, so that many who failed together do not come back together.
pub(crate) fn pause(failures: u32, first: Duration, longest: Duration) -> Duration {
    let doubled = first.saturating_mul(2u32.saturating_pow(failures.saturating_sub(1)));
    jittered(doubled.min(longest))
}

/// `time`, or up to a tenth less.
pub(crate) fn jittered(time: Duration) -> Duration {
    // The seeds of a hash map are the randomness that comes with the standard library.
    let chance = u32::try_from(RandomState::new().build_hasher().finish() % 1000).unwrap_or_default();
    time.saturating_sub(time / 10 * chance / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_less_a_tenth_at_most() {
        let check = |failures, expected: u64| {
            let expected = Duration::from_secs(expected);
            for _ in 0..100 {
                let pause = pause(failures, Duration::from_secs(1), Duration::from_secs(30));
                assert!(pause <= expected && pause >= expected / 10 * 9, "{failures}: {pause:?}");
            }
        };
        check(0, 1);
        check(1, 1);
        check(2, 2);
        check(5, 16);
        check(6, 30);
        check(u32::MAX, 30);
    }
}
