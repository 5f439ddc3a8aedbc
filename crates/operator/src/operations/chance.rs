//! The time, and a bit of chance, as deciding wants them.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use jiff::Timestamp;
use operations::{Jitter, Now};

/// Now, with chance from the seeds of a hash map, which is the randomness that comes with the standard library.
pub(super) fn moment() -> Now {
    let chance = u32::try_from(RandomState::new().build_hasher().finish() % 1000).unwrap_or_default();
    Now { time: Timestamp::now(), jitter: Jitter::new(f64::from(chance) / 1000.0) }
}
