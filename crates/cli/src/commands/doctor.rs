//! `plimsoll doctor`: checks this machine and the cluster.

mod cluster;
mod functions;
mod machine;
#[cfg(has_sandbox)]
mod sandbox;

use std::io;

use serde_json::{Value, json};

use crate::args::doctor::Doctor;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Doctor, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let mut findings = machine::check();
        #[cfg(has_sandbox)]
        findings.extend(sandbox::check());
        findings.extend(cluster::check(&args.cluster).await);
        let data: Vec<Value> = findings.iter().map(Finding::to_json).collect();
        printer.output(&data, findings.iter().map(|finding| finding.subject), |printer| {
            findings.iter().try_for_each(|finding| finding.show(printer))
        })?;
        let is_broken = findings.iter().any(|finding| finding.status == Status::Broken);
        Ok(if is_broken { Exit::Failure } else { Exit::Success })
    })
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
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
    status: Status,
    /// A version, a path, or what went wrong.
    found: String,
    /// What to do, if anything.
    advice: Option<String>,
}

impl Finding {
    fn new(subject: &'static str, status: Status, found: impl Into<String>) -> Self {
        Self { subject, status, found: found.into(), advice: None }
    }

    fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    const fn word(&self) -> &'static str {
        match self.status {
            Status::Good => "ok",
            Status::Absent => "absent",
            Status::Odd => "odd",
            Status::Broken => "broken",
        }
    }

    fn show(&self, printer: &mut Printer) -> io::Result<()> {
        let style = match self.status {
            Status::Good => GOOD,
            Status::Absent => DIM,
            Status::Odd => PENDING,
            Status::Broken => BAD,
        };
        let (word, subject, found) = (self.word(), self.subject, &self.found);
        printer.data(format_args!("{style}{word:<6}{style:#} {subject:<13} {found}"))?;
        match &self.advice {
            Some(advice) => printer.data(format_args!("{:21}{DIM}{advice}{DIM:#}", "")),
            None => Ok(()),
        }
    }

    fn to_json(&self) -> Value {
        json!({ "subject": self.subject, "state": self.word(), "found": self.found, "advice": self.advice })
    }
}
