//! Stopping: what is in progress is cancelled, what comes later is not.

use std::sync::{Mutex, PoisonError};

use diag::Diagnostic;
use tokio_util::sync::CancellationToken;

use crate::codes;
use crate::diagnostics::Diagnostics;

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

    /// What `work` gives, unless Terraform wants the provider to stop. For calls that change nothing: whatever they wait
    /// for, they are given up at once.
    pub(super) async fn or_give_up<R, F>(
        &self,
        work: impl FnOnce(CancellationToken) -> F,
    ) -> Result<R, Diagnostics>
    where
        F: Future<Output = Result<R, Diagnostics>>,
    {
        let token = self.token();
        let work = work(token.clone());
        tokio::select! {
            biased;
            done = work => done,
            () = token.cancelled() => Err(given_up().into()),
        }
    }

    /// Cancels every call that has begun.
    pub(super) fn stop(&self) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }
}

fn given_up() -> Diagnostic {
    Diagnostic::error(codes::GIVEN_UP, "Interrupted")
        .detail("Terraform wanted the provider to stop before it had an answer. Nothing was changed by this.")
        .hint("Run the command again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_changes_nothing_is_given_up_and_what_is_done_counts() {
        let stop = Stop::default();
        let done = stop.or_give_up(async |stop| {
            stop.cancel();
            Ok(7)
        });
        assert_eq!(done.await, Ok(7));
        let waiting = stop.or_give_up(|_| std::future::pending::<Result<(), Diagnostics>>());
        let (given_up, ()) = tokio::join!(waiting, async { stop.stop() });
        assert!(given_up.unwrap_err().has_errors());
    }

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
