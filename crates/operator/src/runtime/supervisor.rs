//! Restarts what panicked, a controller or a store, so that one bad object does not stop all others, and counts the panics.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use backoff::{Backoff, Jitter};
use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300));

/// Runs what `start` makes until it ends by itself, and starts it again after each panic until `stop`.
pub(crate) async fn supervise<F: Future<Output = ()>>(
    controller: &'static str,
    metrics: &Metrics,
    stop: &CancellationToken,
    start: impl Fn() -> F,
) {
    supervise_reporting(controller, metrics, stop, |_| {}, start).await;
}

/// The same; `report` is given the message of each panic before the restart.
pub(crate) async fn supervise_reporting<F: Future<Output = ()>>(
    controller: &'static str,
    metrics: &Metrics,
    stop: &CancellationToken,
    report: impl Fn(&str),
    start: impl Fn() -> F,
) {
    let mut panics = 0;
    while let Err(panic) = AssertUnwindSafe(async { start().await }).catch_unwind().await {
        panics += 1;
        metrics.controller_panicked(controller);
        let (wait, why) = (BACKOFF.after(panics, Jitter::random()), message(panic.as_ref()));
        tracing::error!(controller, panic = why, ?wait, "controller panicked; restarting it");
        report(why);
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use jiff::Timestamp;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_controller_that_panics_is_started_again_and_counted() {
        let (metrics, starts) = (Metrics::new(), Cell::new(0));
        let start = || {
            starts.set(starts.get() + 1);
            let number = starts.get();
            async move { assert!(number > 2, "this is start {number}") }
        };
        supervise("composite", &metrics, &CancellationToken::new(), start).await;
        assert_eq!(starts.get(), 3);
        let text = metrics.text(Timestamp::UNIX_EPOCH);
        assert!(text.contains("plimsoll_controller_panics_total{controller=\"composite\"} 2"), "{text}");
    }
}
