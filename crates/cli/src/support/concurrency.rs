//! Runs many requests at the same time, but not too many.

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};

pub(crate) const MAX_CONCURRENT: usize = 16;

/// Runs all of `work` concurrently, up to [`MAX_CONCURRENT`]; the results are in the order of the work.
pub(crate) async fn all<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    until(std::future::pending(), work).await
}

/// The same, until `stop`: running work is cancelled, and the rest never starts.
pub(crate) async fn until<T>(
    stop: impl Future<Output = ()>,
    work: impl Iterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    let numbered = work.enumerate().map(|(number, work)| work.map(move |done| (number, done)));
    let under_way = stream::iter(numbered).buffer_unordered(MAX_CONCURRENT);
    let mut done: Vec<(usize, T)> = under_way.take_until(Box::pin(stop)).collect().await;
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::{pending, ready};

    use futures::channel::oneshot;

    use super::*;

    #[tokio::test]
    async fn results_before_a_stop_are_in_the_order_of_the_work() {
        assert_eq!(all([3, 1, 2].into_iter().map(ready)).await, [3, 1, 2]);
        let (stop, stopped) = oneshot::channel::<()>();
        let stop = RefCell::new(Some(stop));
        let one = async |number: usize| {
            match number {
                2 => pending().await,
                3 => drop(stop.take()),
                _ => {}
            }
            number
        };
        assert_eq!(until(stopped.map(drop), (0..5).map(one)).await, [0, 1, 3]);
    }
}
