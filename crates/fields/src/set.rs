//! Sets of fields, as managedFields stores them: who holds what is a question about these.
//!
//! A set is a tree of path elements, each of which may itself be a member. Holding a field says nothing about the ones
//! above or below it; the object as a whole is never a member. All operations agree with structured-merge-diff.

use std::cmp::Ordering;
use std::fmt;

use crate::{FieldPath, PathElement};

mod algebra;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::DecodeError;

/// A set of field paths, ordered.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldSet {
    /// Strictly ascending by element; each is a member, or has something below, or both.
    entries: Vec<Entry>,
}

/// What a set says about one element of a level.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    pub element: PathElement,
    /// Whether the element itself is in the set.
    pub member: bool,
    /// What is in the set below it.
    pub below: FieldSet,
}

impl FieldSet {
    /// The set without fields.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The same, with room for `elements` at the first level.
    pub(crate) fn with_capacity(elements: usize) -> Self {
        Self { entries: Vec::with_capacity(elements) }
    }

    /// Whether there is no field in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many fields are in it.
    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| usize::from(entry.member) + entry.below.len()).sum()
    }

    /// Adds `path`, but none of the paths above it. The object itself cannot be held, so the root changes nothing.
    pub fn insert(&mut self, path: &FieldPath) {
        let Some((last, above)) = path.elements().split_last() else { return };
        let mut set = self;
        for element in above {
            set = &mut set.entry_mut(element).below;
        }
        set.entry_mut(last).member = true;
    }

    /// Takes `path` out, but none of the paths below it.
    pub fn remove(&mut self, path: &FieldPath) {
        self.remove_below(path.elements());
    }

    /// Whether `path` is in the set.
    pub fn contains(&self, path: &FieldPath) -> bool {
        let Some((last, above)) = path.elements().split_last() else { return false };
        self.descend(above).and_then(|set| set.entry(last)).is_some_and(|entry| entry.member)
    }

    /// Whether `path` or something above it is in the set, so that holding it means holding `path`'s value.
    pub fn covers(&self, path: &FieldPath) -> bool {
        let mut set = self;
        for element in path.elements() {
            match set.entry(element) {
                Some(entry) if entry.member => return true,
                Some(entry) => set = &entry.below,
                None => return false,
            }
        }
        false
    }

    /// Whether something at `path` or below it is in the set.
    pub fn touches(&self, path: &FieldPath) -> bool {
        let Some((last, above)) = path.elements().split_last() else { return !self.is_empty() };
        self.descend(above).and_then(|set| set.entry(last)).is_some()
    }

    /// What is in the set below `path`, as paths that begin there.
    pub fn below(&self, path: &FieldPath) -> Option<&Self> {
        self.descend(path.elements()).filter(|set| !set.is_empty())
    }

    /// Calls `visit` with every path, in order.
    pub fn for_each(&self, mut visit: impl FnMut(&[PathElement])) {
        self.walk(&mut Vec::new(), &mut visit);
    }

    /// Every path, in order.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::new();
        self.for_each(|elements| paths.push(elements.into()));
        paths
    }

    /// The elements at this level, in order: whether each is a member, and what is below it.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds what is known about `element` of this level. Of an element that comes twice, the later one says what is below.
    pub(crate) fn add(&mut self, element: PathElement, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        // Mostly they come in order, as the API server writes them.
        if self.entries.last().is_none_or(|last| last.element < element) {
            self.entries.push(Entry { element, member, below });
            return;
        }
        let entry = self.entry_mut(&element);
        entry.member |= member;
        if !below.is_empty() {
            entry.below = below;
        }
    }

    /// The position in [`entries`](Self::entries) of the element that `compare` looks for.
    pub(crate) fn position(&self, compare: impl Fn(&PathElement) -> Ordering) -> Option<usize> {
        self.entries.binary_search_by(|entry| compare(&entry.element)).ok()
    }

    fn walk(&self, above: &mut Vec<PathElement>, visit: &mut impl FnMut(&[PathElement])) {
        for entry in &self.entries {
            above.push(entry.element.clone());
            if entry.member {
                visit(above);
            }
            entry.below.walk(above, visit);
            above.pop();
        }
    }

    fn remove_below(&mut self, elements: &[PathElement]) {
        let Some((first, below)) = elements.split_first() else { return };
        let Ok(position) = self.search(first) else { return };
        let entry = &mut self.entries[position];
        if below.is_empty() {
            entry.member = false;
        } else {
            entry.below.remove_below(below);
        }
        if !entry.member && entry.below.is_empty() {
            self.entries.remove(position);
        }
    }

    fn descend(&self, elements: &[PathElement]) -> Option<&Self> {
        elements.iter().try_fold(self, |set, element| set.entry(element).map(|entry| &entry.below))
    }

    /// What the set says about `element` at this level.
    pub fn entry(&self, element: &PathElement) -> Option<&Entry> {
        self.search(element).ok().map(|position| &self.entries[position])
    }

    /// The entry of `element`, made when missing; the caller makes it a member or puts something below it.
    fn entry_mut(&mut self, element: &PathElement) -> &mut Entry {
        let position = self.search(element).unwrap_or_else(|position| {
            let entry = Entry { element: element.clone(), member: false, below: Self::new() };
            self.entries.insert(position, entry);
            position
        });
        &mut self.entries[position]
    }

    /// Where `element` is, or where it would be. What comes in order is found at the end, whatever the size of the set.
    fn search(&self, element: &PathElement) -> Result<usize, usize> {
        match self.entries.last().map(|last| last.element.cmp(element)) {
            None | Some(Ordering::Less) => Err(self.entries.len()),
            Some(Ordering::Equal) => Ok(self.entries.len() - 1),
            Some(Ordering::Greater) => self.entries.binary_search_by(|entry| entry.element.cmp(element)),
        }
    }
}

impl FromIterator<FieldPath> for FieldSet {
    fn from_iter<I: IntoIterator<Item = FieldPath>>(paths: I) -> Self {
        let mut set = Self::new();
        set.extend(paths);
        set
    }
}

impl Extend<FieldPath> for FieldSet {
    fn extend<I: IntoIterator<Item = FieldPath>>(&mut self, paths: I) {
        for path in paths {
            self.insert(&path);
        }
    }
}

/// Takes any bytes for FieldsV1: they are refused, or what is read survives writing and reading again.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let Ok(set) = FieldSet::from_json(&String::from_utf8_lossy(data)) else { return };
    let text = set.to_json();
    let again = FieldSet::from_json(&text).expect("what is written can be read");
    assert_eq!(again, set);
    assert_eq!(again.to_json(), text);
    assert_eq!(FieldSet::from_value(&set.to_value()).expect("what is written can be read"), set);
    assert_eq!(set.paths().into_iter().collect::<FieldSet>(), set);
    assert!(set.difference(&set).is_empty() && set.union(&set) == set);
}

/// The paths in their keyed form.
impl fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.paths().iter().map(ToString::to_string)).finish()
    }
}
