//! Values as the JSON of a state file. The encoding depends on the type, and numbers keep all their digits.

mod decode;
#[cfg(test)]
mod encode;

pub use decode::{UndefinedAttributes, decode};
#[cfg(test)]
pub(crate) use encode::encode;

#[cfg(test)]
mod tests;
