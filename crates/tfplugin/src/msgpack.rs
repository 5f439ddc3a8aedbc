//! Values as MessagePack, the way go-cty writes them: the type decides, so both sides have to know it.

mod decode;
mod encode;

use crate::path::Path;

pub use decode::decode;
pub use encode::encode;

/// The extension code of an unknown value with a refinement; a plain unknown has code 0.
const REFINED_UNKNOWN: i8 = 12;

/// go-cty refuses a longer refinement, and so do we.
const MAX_REFINEMENT: usize = 1024;

/// The keys of a refinement.
mod refinement_key {
    pub(super) const NULLNESS: i64 = 1;
    pub(super) const PREFIX: i64 = 2;
    pub(super) const MIN: i64 = 3;
    pub(super) const MAX: i64 = 4;
    pub(super) const MIN_LENGTH: i64 = 5;
    pub(super) const MAX_LENGTH: i64 = 6;
}

/// Bytes are not a value of the type, or a value is not one of the type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.or_root())]
pub struct MsgpackError {
    /// Where in the value.
    pub path: Path,
    /// What is wrong, without the value itself.
    pub problem: String,
}

#[cfg(test)]
mod tests;
