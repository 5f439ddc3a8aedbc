//! A recording of one pass over an XR, step by step. Nothing is recorded unless a user has asked for it.
//!
//! Values of Secrets are masked when they are recorded. Which objects the user may see is decided later, so every piece
//! names the object it comes from.

mod known;
mod pieces;
mod recorder;

pub use pieces::{
    Call, Condition, Credential, Finding, Phase, Piece, Recording, Returned, StepRecord, Writing, WritingKind,
};
pub(super) use recorder::{RecordPass, Recorder, Recordings, WantedRecording, WantedRecordings};
