//! Work that is cancelled when Terraform stops the provider.

use std::time::Duration;

use tfplugin::CancellationToken;

/// The result of `work`, unless Terraform stops the provider; `work` may then take `grace` longer, so that a response
/// already on its way is not lost.
pub(crate) async fn run_unless_stopped<T>(
    stop: &CancellationToken,
    grace: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let stopped = async {
        stop.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        done = work => Some(done),
        () = stopped => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_is_done_counts_even_if_stopped() {
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(run_unless_stopped(&stop, Duration::ZERO, async { 7 }).await, Some(7));
        assert_eq!(run_unless_stopped(&stop, Duration::ZERO, std::future::pending::<()>()).await, None);
    }
}
