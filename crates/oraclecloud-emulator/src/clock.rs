//! The server's time, which tests move.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The server's two clocks. Clones are the same clocks.
///
/// Timelines and retry tokens follow one, signatures are held against the other, so that a day can pass without a
/// client's signatures going stale.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Offsets>>);

#[derive(Debug, Default)]
struct Offsets {
    cloud: SignedDuration,
    signatures: SignedDuration,
}

impl Clock {
    /// Lets time pass for timelines and retry tokens.
    pub fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        self.with(|offsets| offsets.cloud = offsets.cloud.saturating_add(by));
    }

    /// Sets how far the server's clock is ahead of this machine's when it looks at signatures.
    pub fn skew(&self, ahead: SignedDuration) {
        self.with(|offsets| offsets.signatures = ahead);
    }

    /// The time that timelines follow.
    pub fn now(&self) -> Timestamp {
        Timestamp::now() + self.with(|offsets| offsets.cloud)
    }

    pub(crate) fn signature_time(&self) -> Timestamp {
        Timestamp::now() + self.with(|offsets| offsets.signatures)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Offsets) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
