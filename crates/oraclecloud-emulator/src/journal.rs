//! What was asked and what was answered, so that tests can say exactly which calls were made.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

use crate::fault::Mishap;
use crate::route::Operation;

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Counted from 1.
    pub number: u64,
    /// When it came, by the server's clock.
    pub time: Timestamp,
    /// Which operation; none when there is no such route.
    pub operation: Option<Operation>,
    /// Its method and target.
    pub request: String,
    /// The resource or work request that it is about, also a new one.
    pub resource: Option<String>,
    /// The status answered; none when the connection was reset instead.
    pub status: Option<u16>,
    /// The service's word for a refusal.
    pub code: Option<String>,
    /// Whether something was created, changed or deleted.
    pub effect: bool,
    /// `opc-retry-token`.
    pub retry_token: Option<String>,
    /// `if-match`.
    pub if_match: Option<String>,
    /// `user-agent`.
    pub user_agent: Option<String>,
    /// `opc-request-id` of the answer.
    pub request_id: String,
    /// The fault it met.
    pub fault: Option<Mishap>,
}

/// The requests so far. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    entries: Vec<Entry>,
    file: Option<File>,
}

impl Journal {
    /// A journal that is also written to a file, a line of JSON each.
    pub(crate) fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let file = path.map(|path| File::options().create(true).append(true).open(path)).transpose()?;
        Ok(Self(Arc::new(Mutex::new(Pages { entries: Vec::new(), file }))))
    }

    /// Every request so far, in the order of their answers.
    pub fn entries(&self) -> Vec<Entry> {
        self.with(|pages| pages.entries.clone())
    }

    /// How many requests of an operation came in.
    pub fn count(&self, operation: Operation) -> usize {
        self.with(|pages| pages.entries.iter().filter(|entry| entry.operation == Some(operation)).count())
    }

    /// How many requests of an operation had an effect.
    pub fn effects(&self, operation: Operation) -> usize {
        let counts = |entry: &&Entry| entry.operation == Some(operation) && entry.effect;
        self.with(|pages| pages.entries.iter().filter(counts).count())
    }

    pub(crate) fn write(&self, mut entry: Entry) {
        self.with(|pages| {
            entry.number = pages.entries.len() as u64 + 1;
            if let Some(file) = &mut pages.file {
                let line = serde_json::to_string(&entry).expect("an entry is made of text and numbers");
                // A full disk must not change what the server answers.
                if let Err(error) = writeln!(file, "{line}") {
                    tracing::warn!(%error, "the journal cannot be written");
                }
            }
            pages.entries.push(entry);
        });
    }

    fn with<T>(&self, f: impl FnOnce(&mut Pages) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
