//! Values as the JSON of a state file. The encoding depends on the type, and numbers keep all their digits.

mod decode;
#[cfg(test)]
mod encode;

use crate::path::Path;

pub use decode::{UndefinedAttributes, decode};
#[cfg(test)]
pub(crate) use encode::encode;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.or_root())]
pub struct JsonError {
    pub path: Path,
    /// Never quotes the value, which may be secret.
    pub problem: String,
}

#[cfg(test)]
mod tests;
