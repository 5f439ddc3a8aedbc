//! Encodes values as MessagePack like go-cty. The encoding depends on the type, so both sides must know it.

mod decode;
mod encode;

use crate::path::Path;

pub(crate) use decode::decode;
pub(crate) use encode::encode;

/// The extension code of an unknown value with a refinement; a plain unknown has code 0.
const REFINED_UNKNOWN: i8 = 12;

/// go-cty refuses longer refinements.
const MAX_REFINEMENT: usize = 1024;

mod refinement_key {
    pub(super) const NULLNESS: i64 = 1;
    pub(super) const PREFIX: i64 = 2;
    pub(super) const MIN: i64 = 3;
    pub(super) const MAX: i64 = 4;
    pub(super) const MIN_LENGTH: i64 = 5;
    pub(super) const MAX_LENGTH: i64 = 6;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.or_root())]
pub(crate) struct MsgpackError {
    pub(crate) path: Path,
    /// Never quotes the value, which may be secret.
    pub(crate) problem: String,
}

#[cfg(test)]
mod tests;
