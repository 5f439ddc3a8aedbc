//! How long to wait before a retry: longer after each failure, up to a limit, with jitter.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// An exponential backoff.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
}

impl Backoff {
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max }
    }

    pub(crate) const fn max(self) -> Duration {
        self.max
    }

    /// The wait after this many failures in a row: `first`, doubled with each further failure, at most `max`, and then
    /// [`jittered`].
    pub(crate) fn after(self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(2u32.saturating_pow(failures.saturating_sub(1)));
        jittered(doubled.min(self.max))
    }
}

/// `wait`, or up to a tenth less, so that objects that failed together do not retry together.
pub(crate) fn jittered(wait: Duration) -> Duration {
    wait.saturating_sub(wait.mul_f64(0.1 * fraction()))
}

/// A random number from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "jitter needs no more digits than a double has")]
pub(crate) fn fraction() -> f64 {
    random() as f64 / u64::MAX as f64
}

/// An unpredictable number. The seeds of a hash map are the randomness that comes with the standard library.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests;
