//! The time of day, as a value: controllers ask a clock that they are given, which in a simulation follows virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time of day: by default that of the operating system. Clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<Virtual>>);

#[derive(Debug)]
struct Virtual {
    start: Timestamp,
    began: Instant,
    /// By how many seconds it was set forward since.
    ahead: AtomicI64,
}

impl Clock {
    /// A clock that shows `start` now and advances with tokio's time, which tests can pause.
    pub fn starting_at(start: Timestamp) -> Self {
        Self(Some(Arc::new(Virtual { start, began: Instant::now(), ahead: AtomicI64::new(0) })))
    }

    /// Sets such a clock forward by so many seconds, or back.
    pub fn set_forward(&self, seconds: i64) {
        if let Some(clock) = &self.0 {
            clock.ahead.fetch_add(seconds, Ordering::Relaxed);
        }
    }

    pub fn now(&self) -> Timestamp {
        let Some(Virtual { start, began, ahead }) = self.0.as_deref() else { return Timestamp::now() };
        let passed = SignedDuration::try_from(began.elapsed()).unwrap_or(SignedDuration::MAX);
        let ahead = SignedDuration::from_secs(ahead.load(Ordering::Relaxed));
        start.saturating_add(passed.saturating_add(ahead)).unwrap_or(Timestamp::MAX)
    }
}
