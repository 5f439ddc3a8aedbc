//! Union, intersection and the two differences, each in one pass over both trees.

use super::{Entry, FieldSet};
use crate::merge::merge;
use crate::{FieldPath, PathElement};

impl FieldSet {
    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.add_all(other);
        all
    }

    /// Adds what is in `other`. What is there already costs a comparison and no memory.
    pub fn add_all(&mut self, other: &Self) {
        let mut missing = Vec::new();
        let mut known = self.entries.iter_mut().peekable();
        for entry in &other.entries {
            while known.next_if(|known| known.element < entry.element).is_some() {}
            match known.next_if(|known| known.element == entry.element) {
                Some(known) => {
                    known.member |= entry.member;
                    known.below.add_all(&entry.below);
                }
                None => missing.push(entry.clone()),
            }
        }
        if !missing.is_empty() {
            self.entries.append(&mut missing);
            // Two ascending runs, which a stable sort merges in one pass.
            self.entries.sort_by(|left, right| left.element.cmp(&right.element));
        }
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.merge(other, |left, right| {
            let (left, right) = left.zip(right)?;
            left.remaining(left.member && right.member, left.below.intersection(&right.below))
        })
    }

    /// What is in this set and not in `other`. Holding a field neither adds nor removes those below it.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.merge(other, |left, right| match (left?, right) {
            (left, None) => Some(left.clone()),
            (left, Some(right)) => {
                left.remaining(left.member && !right.member, left.below.difference(&right.below))
            }
        })
    }

    /// What is in this set and neither in `other` nor below a member of `other`.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.merge(other, |left, right| match (left?, right) {
            (left, None) => Some(left.clone()),
            (_, Some(right)) if right.member => None,
            (left, Some(right)) => left.remaining(left.member, left.below.recursive_difference(&right.below)),
        })
    }

    /// The set with the merge-key fields of every list item on the way, without which an item has no identity.
    #[must_use]
    pub fn with_merge_keys(&self) -> Self {
        let mut full = self.clone();
        for path in self.paths() {
            let elements = path.elements();
            for (index, element) in elements.iter().enumerate() {
                let PathElement::Key(key) = element else { continue };
                let item: FieldPath = elements[..=index].iter().cloned().collect();
                for (name, _) in key.fields() {
                    full.insert(&item.child(PathElement::field(name)));
                }
            }
        }
        full
    }

    /// The members with nothing below them.
    #[must_use]
    pub fn leaves(mut self) -> Self {
        self.keep_leaves();
        self
    }

    fn keep_leaves(&mut self) {
        for entry in &mut self.entries {
            entry.member &= entry.below.is_empty();
            entry.below.keep_leaves();
        }
    }

    /// The entries that `choose` makes of those in one or both of the sets, level by level.
    fn merge(&self, other: &Self, choose: impl Fn(Option<&Entry>, Option<&Entry>) -> Option<Entry>) -> Self {
        let pairs = merge(&self.entries, &other.entries, |left, right| left.element.cmp(&right.element));
        Self { entries: pairs.filter_map(|(left, right)| choose(left, right)).collect() }
    }
}

impl Entry {
    /// This entry with what is left of it, or nothing when nothing is.
    fn remaining(&self, member: bool, below: FieldSet) -> Option<Self> {
        (member || !below.is_empty()).then(|| Self { element: self.element.clone(), member, below })
    }
}
