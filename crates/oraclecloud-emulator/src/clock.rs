//! The emulator's time, which tests can move.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::lock;

/// The emulator's two clocks. Clones share them.
///
/// Timelines and retry tokens follow one, signatures are checked against the other, so that a test can advance a day
/// without invalidating the client's signatures.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Offsets>>);

#[derive(Debug, Default)]
struct Offsets {
    cloud: SignedDuration,
    signatures: SignedDuration,
}

impl Clock {
    /// Advances the time of timelines and retry tokens.
    pub fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        let mut offsets = lock(&self.0);
        offsets.cloud = offsets.cloud.saturating_add(by);
    }

    /// Sets how far the clock for signatures is ahead of this machine's.
    pub fn skew(&self, ahead: SignedDuration) {
        lock(&self.0).signatures = ahead;
    }

    /// The time of timelines and retry tokens.
    pub fn now(&self) -> Timestamp {
        Timestamp::now() + lock(&self.0).cloud
    }

    pub(crate) fn signature_time(&self) -> Timestamp {
        Timestamp::now() + lock(&self.0).signatures
    }
}
