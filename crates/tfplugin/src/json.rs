//! Values as JSON, the form they have in a state file; the type decides, and a number keeps all its digits.

mod decode;
mod encode;

use crate::path::Path;

pub use decode::{Undefined, decode};
pub use encode::encode;

/// JSON is not a value of the type, or a value cannot be written as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.or_root())]
pub struct JsonError {
    /// Where in the value.
    pub path: Path,
    /// What is wrong, without the value itself.
    pub problem: String,
}

#[cfg(test)]
mod tests;
