//! The requests and their responses, so that tests can assert exactly which calls were made.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use serde::Serialize;

use crate::fault::FaultKind;
use crate::lock;
use crate::route::Operation;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// Counted from 1.
    pub number: u64,
    /// By the emulator's clock.
    pub time: Timestamp,
    /// None if there is no such route.
    pub operation: Option<Operation>,
    /// Method and target.
    pub request: String,
    /// The resource or work request, also a new one.
    pub resource: Option<String>,
    /// None if the connection was reset instead.
    pub status: Option<u16>,
    /// The error code.
    pub code: Option<String>,
    /// Whether something was created, changed or deleted.
    pub effect: bool,
    /// `opc-retry-token`
    pub retry_token: Option<String>,
    /// `if-match`
    pub if_match: Option<String>,
    /// `user-agent`
    pub user_agent: Option<String>,
    /// `opc-request-id` of the response.
    pub request_id: String,
    /// The injected fault.
    pub fault: Option<FaultKind>,
}

/// All requests so far. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    entries: Vec<JournalEntry>,
    file: Option<File>,
}

impl Journal {
    /// A journal that also appends each entry to a file, as a line of JSON.
    pub(crate) fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let file = path.map(|path| File::options().create(true).append(true).open(path)).transpose()?;
        Ok(Self(Arc::new(Mutex::new(Entries { entries: Vec::new(), file }))))
    }

    /// In the order of the responses.
    pub fn entries(&self) -> Vec<JournalEntry> {
        lock(&self.0).entries.clone()
    }

    /// The number of requests for an operation.
    pub fn count(&self, operation: Operation) -> usize {
        lock(&self.0).entries.iter().filter(|entry| entry.operation == Some(operation)).count()
    }

    /// The number of requests for an operation that had an effect.
    pub fn effects(&self, operation: Operation) -> usize {
        let counts = |entry: &&JournalEntry| entry.operation == Some(operation) && entry.effect;
        lock(&self.0).entries.iter().filter(counts).count()
    }

    pub(crate) fn write(&self, mut entry: JournalEntry) {
        let mut journal = lock(&self.0);
        entry.number = journal.entries.len() as u64 + 1;
        if let Some(file) = &mut journal.file {
            let line = serde_json::to_string(&entry).expect("an entry is valid JSON");
            // A full disk must not change the response.
            if let Err(error) = writeln!(file, "{line}") {
                tracing::warn!(%error, "cannot write the journal");
            }
        }
        journal.entries.push(entry);
    }
}
