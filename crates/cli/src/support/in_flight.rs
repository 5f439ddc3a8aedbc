//! A progress line for concurrent work: how much is done, and what is still running.

use std::cell::RefCell;
use std::fmt::Display;

use indicatif::ProgressBar;

/// Counts finished work, and names what has been running longest.
pub(crate) struct InFlight {
    bar: ProgressBar,
    /// In the order of their start.
    running: RefCell<Vec<Work>>,
}

struct Work {
    what: String,
    /// What the line shows while this has been running longest.
    shown: String,
}

impl InFlight {
    pub(crate) fn new(bar: ProgressBar) -> Self {
        Self { bar, running: RefCell::default() }
    }

    /// Runs `work`, which `what` names.
    pub(crate) async fn track<T>(&self, what: impl Display, work: impl Future<Output = T>) -> T {
        let what = what.to_string();
        self.running.borrow_mut().push(Work { what: what.clone(), shown: what.clone() });
        self.show();
        let done = work.await;
        {
            let mut running = self.running.borrow_mut();
            if let Some(place) = running.iter().position(|it| it.what == what) {
                running.remove(place);
            }
        }
        self.bar.inc(1);
        self.show();
        done
    }

    /// Shows `note` instead of the name of the work `what`.
    pub(crate) fn note(&self, what: impl Display, note: impl Display) {
        let what = what.to_string();
        if let Some(work) = self.running.borrow_mut().iter_mut().find(|it| it.what == what) {
            work.shown = note.to_string();
        }
        self.show();
    }

    /// Prints without disturbing the line.
    pub(crate) fn beside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the line when all work is done.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self) {
        let oldest = self.running.borrow().first().map(|work| work.shown.clone()).unwrap_or_default();
        self.bar.set_message(oldest);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::channel::oneshot;

    use super::*;

    #[test]
    fn the_work_running_longest_is_named() {
        let bar = ProgressBar::hidden();
        let in_flight = InFlight::new(bar.clone());
        let (end_first, first) = oneshot::channel::<()>();
        let (end_second, second) = oneshot::channel::<()>();
        let mut both = std::pin::pin!(futures::future::join(
            in_flight.track("first", first),
            in_flight.track("second", second)
        ));
        assert!(both.as_mut().now_or_never().is_none());
        assert_eq!((bar.message().as_str(), bar.position()), ("first", 0));
        in_flight.note("second", "second, waiting");
        assert_eq!(bar.message(), "first");
        end_first.send(()).unwrap();
        assert!(both.as_mut().now_or_never().is_none());
        assert_eq!((bar.message().as_str(), bar.position()), ("second, waiting", 1));
        end_second.send(()).unwrap();
        assert!(both.now_or_never().is_some());
        assert_eq!((bar.message().as_str(), bar.position()), ("", 2));
    }
}
