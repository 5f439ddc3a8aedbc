//! Asks the user on the terminal, also while standard input is a pipe.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::thread;

use diag::Diagnostic;
use futures::channel::oneshot;

use super::exit::Failure;
use crate::codes;

/// The terminal that the program was started from: where it is read, and where it is written.
#[cfg(windows)]
const TERMINAL: [&str; 2] = ["CONIN$", "CONOUT$"];
#[cfg(not(windows))]
const TERMINAL: [&str; 2] = ["/dev/tty"; 2];

pub(crate) struct Tty {
    input: File,
    output: File,
}

impl Tty {
    /// `option` needs a terminal, and `otherwise` is what to do without one.
    pub(crate) fn open(option: &str, otherwise: &str) -> Result<Self, Failure> {
        // Windows refuses a console that is not opened for both.
        let open = |name: &str| OpenOptions::new().read(true).write(true).open(name);
        let [input, output] = TERMINAL;
        let opened = open(input).and_then(|input| Ok(Self { input, output: open(output)? }));
        opened.map_err(|error| {
            Diagnostic::error(codes::OPTION_UNUSABLE, format!("{option} needs a terminal"))
                .detail(format!("Cause: {error}."))
                .hint(otherwise)
                .into()
        })
    }

    /// Whether the user says yes. Everything else means no.
    pub(crate) async fn confirms(mut self, question: &str) -> Result<bool, Failure> {
        write!(self.output, "{question} [y/N] ")?;
        self.output.flush()?;
        let (send, answer) = oneshot::channel();
        // A thread of its own: an interrupt ends the program without waiting for the answer.
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(self.input).read_line(&mut line).map(|_| line);
            let _ended = send.send(read);
        });
        let line = answer.await.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))?;
        Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}
