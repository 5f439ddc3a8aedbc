//! Stopping: what is in progress is cancelled, and nothing else is begun until Terraform configures the provider anew.

use std::sync::{Mutex, PoisonError};

use diag::Diagnostic;
use tokio_util::sync::CancellationToken;

use crate::codes;
use crate::diagnostics::Diagnostics;

/// Cancels the calls in progress, and those that come after them.
///
/// Terraform may still make calls after it has asked a provider to stop: they were on their way. Somebody waits for the
/// end of the command, so they are not begun. A provider in reattach mode outlives the command, and the next one begins
/// with a configuration.
#[derive(Default)]
pub(super) struct Stop(Mutex<CancellationToken>);

impl Stop {
    /// What cancels a call that begins now; cancelled already if the provider was stopped.
    pub(super) fn token(&self) -> CancellationToken {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins a new command of Terraform's, which nobody has stopped yet.
    pub(super) fn begin(&self) -> CancellationToken {
        let mut token = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_cancelled() {
            *token = CancellationToken::new();
        }
        token.clone()
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

    /// What `work` gives, unless the provider was stopped before it begins. For calls that change something: they end by
    /// themselves when they are cancelled, and say what they have done.
    pub(super) async fn or_refuse<R, F>(
        &self,
        work: impl FnOnce(CancellationToken) -> F,
    ) -> Result<R, Diagnostics>
    where
        F: Future<Output = Result<R, Diagnostics>>,
    {
        let token = self.token();
        if token.is_cancelled() {
            return Err(given_up().into());
        }
        work(token).await
    }

    /// Cancels every call that has begun, and those to come.
    pub(super) fn stop(&self) {
        self.token().cancel();
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
        let stop = Stop::default();
        let waiting = stop.or_give_up(|_| std::future::pending::<Result<(), Diagnostics>>());
        let (given_up, ()) = tokio::join!(waiting, async { stop.stop() });
        assert!(given_up.unwrap_err().has_errors());
    }

    #[tokio::test]
    async fn after_the_stop_nothing_is_begun_until_the_next_command() {
        let stop = Stop::default();
        let (first, second) = (stop.begin(), stop.token());
        stop.stop();
        assert!(first.is_cancelled() && second.is_cancelled() && stop.token().is_cancelled());
        let refused = stop.or_refuse(async |_| -> Result<(), Diagnostics> { panic!("it was begun") });
        assert!(refused.await.unwrap_err().has_errors());
        let given_up = stop.or_give_up(|_| std::future::pending::<Result<(), Diagnostics>>());
        assert!(given_up.await.unwrap_err().has_errors());
        assert!(!stop.begin().is_cancelled());
        assert_eq!(stop.or_refuse(async |stop| Ok(stop.is_cancelled())).await, Ok(false));
    }
}
