//! Stopping: what is in progress is cancelled, what comes later is not.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Cancels the calls in progress, as often as it is asked to.
///
/// Terraform may still have calls to make after it has asked a provider to stop, and Go providers answer them, too.
#[derive(Default)]
pub(super) struct Stop(Mutex<CancellationToken>);

impl Stop {
    /// What cancels a call that begins now.
    pub(super) fn token(&self) -> CancellationToken {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cancels every call that has begun.
    pub(super) fn stop(&self) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_after_the_stop_is_not_cancelled() {
        let stop = Stop::default();
        let (first, second) = (stop.token(), stop.token());
        stop.stop();
        assert!(first.is_cancelled() && second.is_cancelled());
        let third = stop.token();
        assert!(!third.is_cancelled());
        stop.stop();
        assert!(third.is_cancelled());
    }
}
