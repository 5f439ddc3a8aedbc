//! Shows the progress of a starting or stopping sandbox, and its errors.

use std::time::Duration;

use indicatif::ProgressBar;
use sandbox::gobuild::BuildEvent;
use sandbox::{LifecycleEvent, StartupStep};

use super::exit::{Failure, diagnose};
use super::printer::{DIM, GOOD, Printer};
use crate::codes::ENVIRONMENT;

impl From<sandbox::Error> for Failure {
    fn from(error: sandbox::Error) -> Self {
        error.diagnostic().into()
    }
}

impl From<sandbox::NoHome> for Failure {
    fn from(error: sandbox::NoHome) -> Self {
        diagnose(ENVIRONMENT, &error).hint("Set HOME to a folder you can write to.").into()
    }
}

/// Runs `work` and shows the progress it reports.
pub(crate) fn follow<T>(printer: &mut Printer, work: impl FnOnce(&mut dyn FnMut(LifecycleEvent)) -> T) -> T {
    let mut progress = Progress { spinner: printer.spinner(), printer, percent: 0 };
    let outcome = work(&mut |event| progress.show(event));
    progress.spinner.finish_and_clear();
    outcome
}

struct Progress<'p> {
    printer: &'p mut Printer,
    spinner: ProgressBar,
    /// The last percentage printed, if there is no spinner.
    percent: usize,
}

impl Progress<'_> {
    fn show(&mut self, event: LifecycleEvent) {
        match event {
            LifecycleEvent::Waiting { name } => {
                self.line(&format!("another process is starting or stopping sandbox {name}, waiting for it"));
            }
            LifecycleEvent::Cleaning { name, state } => {
                self.line(&format!("cleaning up sandbox {name}, which is {}", state.as_str()));
            }
            LifecycleEvent::Step(step) => self.spinner.set_message(match step {
                StartupStep::Etcd => "waiting for etcd",
                StartupStep::ApiServer => "waiting for the API server",
                StartupStep::Node => "waiting for the node to be ready",
            }),
            LifecycleEvent::Build(event) => self.show_build(event),
        }
    }

    fn show_build(&mut self, event: BuildEvent) {
        match event {
            BuildEvent::Waiting { module } => {
                self.line(&format!("another process is building {module}, waiting for it"));
            }
            BuildEvent::Started { module, estimate } => {
                // The estimate is for an idle machine; half as much again is not unusual.
                let (shortest, usual) = (minutes(estimate), minutes(estimate * 3 / 2));
                self.line(&format!(
                    "building {module} with Go; the first time takes {shortest} to {usual} minutes"
                ));
            }
            BuildEvent::Downloading { dependency } => {
                self.spinner.set_message(format!("downloading {dependency}"));
            }
            BuildEvent::Compiled { done, total } => {
                let percent = done * 100 / total.max(1);
                self.spinner.set_message(format!("compiling, {done} of at most {total} packages"));
                if self.spinner.is_hidden() && percent >= self.percent + 10 {
                    self.percent = percent;
                    self.line(&format!("compiled {done} of at most {total} packages"));
                }
            }
            BuildEvent::Finished { module, elapsed } => {
                self.line(&format!("{GOOD}built{GOOD:#} {module} {DIM}in {} s{DIM:#}", elapsed.as_secs()));
            }
        }
    }

    /// Prints a permanent line above the spinner.
    fn line(&mut self, text: &str) {
        self.spinner.suspend(|| self.printer.message(text));
    }
}

fn minutes(duration: Duration) -> u64 {
    (duration.as_secs() + 30) / 60
}
