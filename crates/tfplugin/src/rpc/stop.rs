//! Stops the provider: calls in progress are cancelled, and no call begins until Terraform configures the provider again.

use std::sync::{Mutex, PoisonError};

use diag::Diagnostic;
use tokio_util::sync::CancellationToken;

use crate::codes;
use crate::diagnostics::Diagnostics;

/// Cancels the calls in progress, and those that come after them.
///
/// Calls may still arrive after StopProvider because they were already on their way. The user is waiting for the command
/// to end, so they do not begin. A provider in reattach mode outlives the command, and the next one begins with
/// ConfigureProvider.
#[derive(Default)]
pub(super) struct Stop(Mutex<CancellationToken>);

impl Stop {
    /// The token for a call that begins now; already cancelled if the provider was stopped.
    pub(super) fn token(&self) -> CancellationToken {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins a new Terraform command, which has not been stopped yet.
    pub(super) fn restart(&self) -> CancellationToken {
        let mut token = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_cancelled() {
            *token = CancellationToken::new();
        }
        token.clone()
    }

    /// For calls that change nothing: they are dropped as soon as Terraform stops the provider.
    pub(super) async fn cancellable<R>(
        &self,
        work: impl AsyncFnOnce(CancellationToken) -> Result<R, Diagnostics>,
    ) -> Result<R, Diagnostics> {
        let token = self.token();
        let work = work(token.clone());
        tokio::select! {
            biased;
            done = work => done,
            () = token.cancelled() => Err(interrupted().into()),
        }
    }

    /// For calls that change something: they do not begin once the provider is stopped, and those in progress end by
    /// themselves when cancelled, so that they can report what they did.
    pub(super) async fn unless_stopped<R>(
        &self,
        work: impl AsyncFnOnce(CancellationToken) -> Result<R, Diagnostics>,
    ) -> Result<R, Diagnostics> {
        let token = self.token();
        if token.is_cancelled() {
            return Err(interrupted().into());
        }
        work(token).await
    }

    pub(super) fn stop(&self) {
        self.token().cancel();
    }
}

pub(super) fn interrupted() -> Diagnostic {
    Diagnostic::error(codes::INTERRUPTED, "Interrupted")
        .detail("Terraform stopped the provider before it could finish. This call changed nothing.")
        .hint("Run the command again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_are_cancelled_unless_they_are_done() {
        let stop = Stop::default();
        let done = stop.cancellable(async |stop| {
            stop.cancel();
            Ok(7)
        });
        assert_eq!(done.await, Ok(7));
        let stop = Stop::default();
        let waiting = stop.cancellable(|_| std::future::pending::<Result<(), Diagnostics>>());
        let (interrupted, ()) = tokio::join!(waiting, async { stop.stop() });
        assert!(interrupted.unwrap_err().has_errors());
    }

    #[tokio::test]
    async fn no_call_begins_after_a_stop_until_the_next_command() {
        let stop = Stop::default();
        let (first, second) = (stop.restart(), stop.token());
        stop.stop();
        assert!(first.is_cancelled() && second.is_cancelled() && stop.token().is_cancelled());
        let refused = stop.unless_stopped(async |_| -> Result<(), Diagnostics> { panic!("it began") });
        assert!(refused.await.unwrap_err().has_errors());
        let interrupted = stop.cancellable(|_| std::future::pending::<Result<(), Diagnostics>>());
        assert!(interrupted.await.unwrap_err().has_errors());
        assert!(!stop.restart().is_cancelled());
        assert_eq!(stop.unless_stopped(async |stop| Ok(stop.is_cancelled())).await, Ok(false));
    }
}
