//! `plimsoll doctor`: what is reachable, in which versions, what is missing, and which other engines are at work.

mod cluster;
mod machine;

use serde_json::json;

use crate::args::Format;
use crate::args::doctor::Doctor;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};
use crate::support::process::until_interrupted;

/// Runs the checks, and reports the findings.
pub(super) fn run(args: &Doctor, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let mut findings = machine::look();
        findings.extend(cluster::look(&args.cluster).await);
        match printer.format() {
            Format::Json | Format::Yaml => {
                printer.structured(&findings.iter().map(Finding::to_json).collect::<Vec<_>>())?;
            }
            Format::Name => findings.iter().try_for_each(|finding| printer.data(finding.subject))?,
            Format::Text => {
                for finding in &findings {
                    finding.show(printer)?;
                }
            }
        }
        let in_the_way = findings.iter().any(|finding| finding.state == State::Broken);
        Ok(if in_the_way { Exit::Failure } else { Exit::Success })
    })
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Present.
    Good,
    /// Missing, and only some commands need it.
    Absent,
    /// It works, but may surprise.
    Odd,
    /// It should work, but does not.
    Broken,
}

struct Finding {
    subject: &'static str,
    state: State,
    /// A version, a path, or what went wrong.
    found: String,
    /// What to do, if anything.
    advice: Option<String>,
}

impl Finding {
    fn new(subject: &'static str, state: State, found: impl Into<String>) -> Self {
        Self { subject, state, found: found.into(), advice: None }
    }

    fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    const fn word(&self) -> &'static str {
        match self.state {
            State::Good => "ok",
            State::Absent => "absent",
            State::Odd => "odd",
            State::Broken => "broken",
        }
    }

    fn show(&self, printer: &mut Printer) -> std::io::Result<()> {
        let style = match self.state {
            State::Good => GOOD,
            State::Absent => DIM,
            State::Odd => PENDING,
            State::Broken => BAD,
        };
        printer.data(format_args!(
            "{style}{:<6}{style:#} {:<13} {}",
            self.word(),
            self.subject,
            self.found
        ))?;
        match &self.advice {
            Some(advice) => printer.data(format_args!("{:21}{DIM}{advice}{DIM:#}", "")),
            None => Ok(()),
        }
    }

    fn to_json(&self) -> serde_json::Value {
        json!({ "subject": self.subject, "state": self.word(), "found": self.found, "advice": self.advice })
    }
}
