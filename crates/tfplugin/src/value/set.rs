//! A set, in which every known element occurs once.

use std::ops::Deref;

use super::Value;

/// Elements in a canonical order, so that sets with the same elements are equal.
///
/// Elements with unknown parts are all kept, because they may turn out to differ.
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
