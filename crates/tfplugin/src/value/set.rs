//! The elements of a set: without order, each known one once.

use std::ops::Deref;

use super::Value;

/// Elements in a canonical order, so that two sets are equal when they hold the same.
///
/// An unknown element may turn out to be any other, so elements that hold something unknown are all kept.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Set(Vec<Value>);

impl FromIterator<Value> for Set {
    fn from_iter<I: IntoIterator<Item = Value>>(elements: I) -> Self {
        let mut elements: Vec<Value> = elements.into_iter().collect();
        elements.sort();
        elements.dedup_by(|a, b| a == b && a.is_wholly_known());
        Self(elements)
    }
}

impl Deref for Set {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl IntoIterator for Set {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
