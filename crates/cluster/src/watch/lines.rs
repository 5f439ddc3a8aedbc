//! Splits the bytes of a watch response into its lines, one event each.

use bytes::{Buf as _, BytesMut};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{ErrorKind, ResponseLimit};
use crate::request::unreadable;

/// The longest line: an object, of which etcd accepts up to 1.5 MiB, with managedFields and framing.
const LONGEST_LINE: usize = 16 << 20;

#[derive(Deserialize)]
pub(crate) struct Line {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) object: Value,
}

/// The bytes received so far of lines that were not taken yet.
pub(crate) struct Lines {
    bytes: BytesMut,
    /// How many of the bytes are known to have no line end: each byte is searched once, however a line arrives.
    searched: usize,
    /// The longest line accepted, in bytes.
    longest: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::up_to(LONGEST_LINE)
    }
}

impl Lines {
    pub(crate) fn up_to(longest: usize) -> Self {
        Self { bytes: BytesMut::new(), searched: 0, longest }
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete line that is not empty. A line that is too long or unreadable is an error.
    #[expect(clippy::result_large_err, reason = "the caller returns the same error")]
    pub(crate) fn next(&mut self) -> Result<Option<Line>, ErrorKind> {
        while let Some(end) = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n') {
            let line = self.bytes.split_to(self.searched + end);
            self.bytes.advance(1);
            self.searched = 0;
            if line.len() > self.longest {
                return Err(self.too_long());
            }
            if !line.trim_ascii().is_empty() {
                return manifest::from_json(&line).map(Some).map_err(unreadable);
            }
        }
        self.searched = self.bytes.len();
        if self.searched > self.longest { Err(self.too_long()) } else { Ok(None) }
    }

    fn too_long(&self) -> ErrorKind {
        ErrorKind::ResponseTooLarge(ResponseLimit::Bytes(self.longest))
    }
}
