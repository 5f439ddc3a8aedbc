//! Shows the progress of a starting sandbox.

use std::time::Duration;

use indicatif::ProgressBar;
use sandbox::gobuild::BuildEvent;
use sandbox::{LifecycleEvent, StartupStep};

use crate::support::printer::{DIM, GOOD, Printer};

/// The refresh interval of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// Runs `work` and shows the progress it reports.
pub(crate) fn follow<T>(printer: &mut Printer, work: impl FnOnce(&mut dyn FnMut(LifecycleEvent)) -> T) -> T {
    let spinner = printer.spinner();
    spinner.enable_steady_tick(TICK);
    let mut build = Build::default();
    let outcome = work(&mut |event| show(printer, &spinner, &mut build, event));
    spinner.finish_and_clear();
    outcome
}

/// The progress of a build, for output without a spinner.
#[derive(Default)]
struct Build {
    told_percent: usize,
}

fn show(printer: &mut Printer, spinner: &ProgressBar, build: &mut Build, event: LifecycleEvent) {
    match event {
        LifecycleEvent::Waiting { name } => {
            say(
                printer,
                spinner,
                &format!("another process is starting or stopping sandbox {name}, waiting for it"),
            );
        }
        LifecycleEvent::Cleaning { name, state } => {
            say(printer, spinner, &format!("cleaning up sandbox {name}, which is {}", state.as_str()));
        }
        LifecycleEvent::Step(step) => spinner.set_message(match step {
            StartupStep::Etcd => "waiting for etcd",
            StartupStep::ApiServer => "waiting for the API server",
            StartupStep::Node => "waiting for the node to be ready",
        }),
        LifecycleEvent::Build(event) => show_build(printer, spinner, build, event),
    }
}

fn show_build(printer: &mut Printer, spinner: &ProgressBar, build: &mut Build, event: BuildEvent) {
    match event {
        BuildEvent::Waiting { module } => {
            say(printer, spinner, &format!("another process is building {module}, waiting for it"));
        }
        BuildEvent::Started { module, estimate } => {
            // The estimate is for an idle machine; half as much again is not unusual.
            let (at_best, usual) = (minutes(estimate), minutes(estimate * 3 / 2));
            let text =
                format!("building {module} with Go; the first time takes {at_best} to {usual} minutes");
            say(printer, spinner, &text);
        }
        BuildEvent::Downloading { dependency } => {
            spinner.set_message(format!("downloading {dependency}"));
        }
        BuildEvent::Compiled { done, total } => {
            let percent = done * 100 / total.max(1);
            spinner.set_message(format!("compiling, {done} of at most {total} packages"));
            if spinner.is_hidden() && percent >= build.told_percent + 10 {
                build.told_percent = percent;
                say(printer, spinner, &format!("compiled {done} of at most {total} packages"));
            }
        }
        BuildEvent::Finished { module, elapsed } => {
            let text = format!("{GOOD}built{GOOD:#} {module} {DIM}in {} s{DIM:#}", elapsed.as_secs());
            say(printer, spinner, &text);
        }
    }
}

fn minutes(duration: Duration) -> u64 {
    (duration.as_secs() + 30) / 60
}

/// Prints a permanent line above the spinner.
fn say(printer: &mut Printer, spinner: &ProgressBar, line: &str) {
    spinner.suspend(|| printer.message(line));
}
