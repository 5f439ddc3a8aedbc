//! The time of day, as a value: controllers ask a clock that they are given, which in a simulation follows virtual time.

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the time of day: by default that of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock(Option<(Timestamp, Instant)>);

impl Clock {
    /// A clock that shows `start` now and advances with tokio's time, which tests can pause.
    pub fn starting_at(start: Timestamp) -> Self {
        Self(Some((start, Instant::now())))
    }

    pub fn now(self) -> Timestamp {
        match self.0 {
            None => Timestamp::now(),
            Some((start, began)) => start.saturating_add(began.elapsed()).unwrap_or(Timestamp::MAX),
        }
    }
}
