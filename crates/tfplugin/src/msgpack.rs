//! Encodes values as MessagePack like go-cty. The encoding depends on the type, so both sides must know it.

mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::{encode, encode_complete};

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

#[cfg(test)]
mod tests;
