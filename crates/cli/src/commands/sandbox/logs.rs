//! `plimsoll sandbox logs`

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use sandbox::{Environment, Error, Layout, Name, Program};

use super::folder;
use crate::args::sandbox::Logs;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{LITERAL, Printer};

/// The pause between two checks for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Prints one log, or all of them with the program's name before each line.
pub(super) fn run(environment: &Environment, args: &Logs, printer: &mut Printer) -> Outcome {
    printer.only_text("logs are printed as written")?;
    let layout = folder(environment, &args.which.name)?;
    let mut logs = match &args.program {
        Some(program) => vec![Log::open(&layout, &args.which.name, program)?],
        None => Program::ALL
            .iter()
            .map(|program| program.name())
            .chain(["supervisor"])
            .filter_map(|program| Log::open(&layout, &args.which.name, program).ok())
            .collect(),
    };
    let prefixed = args.program.is_none();
    loop {
        // Checked before reading, so that its last lines are printed.
        let runs = sandbox::inspect(environment, &args.which.name)?.is_some_and(|it| it.supervisor.is_some());
        let mut found = false;
        for log in &mut logs {
            found |= log.print_new_lines(printer, prefixed)?;
        }
        if found {
            continue;
        }
        if !args.follow || !runs || logs.iter().all(Log::is_removed) {
            return Ok(Exit::Success);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

struct Log {
    program: String,
    file: File,
    /// An incomplete last line.
    partial: Vec<u8>,
}

impl Log {
    fn open(layout: &Layout, name: &Name, program: &str) -> Result<Self, Failure> {
        let path: Option<PathBuf> = match program {
            "supervisor" => Some(layout.supervisor_log()),
            "audit" => Some(layout.audit_log()),
            other => {
                Program::ALL.into_iter().find(|known| known.name() == other).map(|known| layout.log(known))
            }
        };
        let no_log = || Error::NoLog { name: name.clone(), program: program.to_owned() };
        let file = File::open(path.ok_or_else(no_log)?).map_err(|_| no_log())?;
        Ok(Self { program: program.to_owned(), file, partial: Vec::new() })
    }

    fn print_new_lines(&mut self, printer: &mut Printer, prefixed: bool) -> io::Result<bool> {
        let mut buffer = vec![0; 64 * 1024];
        let length = self.file.read(&mut buffer)?;
        let new = &buffer[..length];
        if !prefixed {
            printer.raw(new)?;
            return Ok(length > 0);
        }
        for line in new.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(line);
            if self.partial.ends_with(b"\n") {
                let text = String::from_utf8_lossy(&self.partial);
                printer.data(format_args!("{LITERAL}{}{LITERAL:#} {}", self.program, text.trim_end()))?;
                self.partial.clear();
            }
        }
        Ok(length > 0)
    }

    /// Whether the file, and thus the sandbox, was removed, even if there is a new one of the same name.
    fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.nlink() == 0)
    }
}
