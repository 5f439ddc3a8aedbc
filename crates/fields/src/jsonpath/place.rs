//! Where in an object a selected value is, and the object cut down to such places.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The way from the root of an object to a value in it; empty for the root itself.
pub type Place = Vec<Step>;

/// One step of a way into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a map, by key; dots in it mean nothing.
    Key(String),
    /// Into a list, by position.
    Index(usize),
}

/// Cuts `object` down to what is at `places`, keeping the structure around it.
///
/// What a place holds stays whole. Other keys disappear; list elements before a kept one become null, so that every
/// kept element stays at its position, and those behind the last kept one disappear. Places that do not exist in
/// `object` are passed over; if none does, there is nothing left.
pub fn prune(object: &Value, places: &[Place]) -> Option<Value> {
    let ways: Vec<&[Step]> = places.iter().map(Vec::as_slice).collect();
    prune_ways(object, &ways)
}

fn prune_ways(value: &Value, ways: &[&[Step]]) -> Option<Value> {
    if ways.iter().any(|way| way.is_empty()) {
        return Some(value.clone());
    }
    let mut behind: BTreeMap<&Step, Vec<&[Step]>> = BTreeMap::new();
    for way in ways {
        if let Some((step, rest)) = way.split_first() {
            behind.entry(step).or_default().push(rest);
        }
    }
    match value {
        Value::Object(map) => {
            let kept = behind.into_iter().filter_map(|(step, ways)| {
                let Step::Key(key) = step else { return None };
                Some((key.clone(), prune_ways(map.get(key)?, &ways)?))
            });
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(list) => {
            let mut kept = Vec::new();
            // Steps are ordered, so positions only grow.
            for (step, ways) in behind {
                let Step::Index(index) = step else { continue };
                if let Some(element) = list.get(*index).and_then(|element| prune_ways(element, &ways)) {
                    kept.resize(*index, Value::Null);
                    kept.push(element);
                }
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        _ => None,
    }
}

/// Names a place while a path is evaluated: an entry in [`Links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(usize);

/// All places seen during an evaluation. Each entry knows only its last step and the entry before it, so following
/// a path costs the same however deep it leads.
#[derive(Debug)]
pub(super) struct Links<'v> {
    entries: Vec<(Link, Way<'v>)>,
}

/// A step that borrows its key from the object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way<'v> {
    Key(&'v str),
    Index(usize),
}

impl<'v> Links<'v> {
    /// The root of the object.
    pub(super) const ROOT: Link = Link(0);

    pub(super) fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The place one step below `parent`.
    pub(super) fn below(&mut self, parent: Link, way: Way<'v>) -> Link {
        self.entries.push((parent, way));
        Link(self.entries.len())
    }

    /// The whole way to `link`.
    pub(super) fn place(&self, mut link: Link) -> Place {
        let mut place = Vec::new();
        while let Some((parent, way)) = link.0.checked_sub(1).and_then(|entry| self.entries.get(entry)) {
            place.push(match way {
                Way::Key(key) => Step::Key((*key).to_owned()),
                Way::Index(index) => Step::Index(*index),
            });
            link = *parent;
        }
        place.reverse();
        place
    }
}
