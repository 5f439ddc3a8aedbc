//! Where the value at a path stands in the text.

use std::collections::HashMap;

use diag::Span;

use crate::tree::{Kind, NodeId, Tree};

/// One step into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step<'a> {
    /// The field of this name.
    Key(&'a str),
    /// The item at this position, from 0.
    Index(usize),
}

/// The span of every node of a document, found by path.
///
/// The nodes are kept as they were written, 20 bytes each; a lookup walks them, through aliases and merge keys.
#[derive(Debug)]
pub(crate) struct Spans {
    pub(crate) tree: Tree,
    pub(crate) keys: Keys,
}

/// The node of a value and, in a mapping, of its key.
#[derive(Clone, Copy)]
struct Place {
    key: Option<NodeId>,
    value: NodeId,
}

impl Spans {
    /// The span of the value at `path`; of the alias itself if that is what is written there.
    pub(crate) fn value(&self, text: &str, path: &[Step<'_>]) -> Option<Span> {
        self.find(text, path).map(|place| self.tree.node(place.value).span())
    }

    /// The span of the key of the value at `path`.
    pub(crate) fn key(&self, text: &str, path: &[Step<'_>]) -> Option<Span> {
        self.find(text, path)?.key.map(|key| self.tree.node(key).span())
    }

    fn find(&self, text: &str, path: &[Step<'_>]) -> Option<Place> {
        path.iter().try_fold(Place { key: None, value: 0 }, |place, step| {
            let id = self.tree.target(place.value);
            match (*step, self.tree.node(id).kind) {
                (Step::Index(index), Kind::Sequence) => {
                    self.tree.children(id).nth(index).map(|value| Place { key: None, value })
                }
                (Step::Key(key), Kind::Mapping) => self.field(text, id, key),
                _ => None,
            }
        })
    }

    /// The field that counts: the last one, since a later one replaces what a merge key brought in, and the reverse.
    fn field(&self, text: &str, mapping: NodeId, key: &str) -> Option<Place> {
        let mut found = None;
        for (id, value) in self.tree.pairs(mapping) {
            match self.keys.text(text, id, self.tree.node(id).span()) {
                Some(name) if name == key => found = Some(Place { key: Some(id), value }),
                Some(_) => {}
                None => found = self.merged_field(text, value, key).or(found),
            }
        }
        found
    }

    fn merged_field(&self, text: &str, merged: NodeId, key: &str) -> Option<Place> {
        let target = self.tree.target(merged);
        match self.tree.node(target).kind {
            Kind::Mapping => self.field(text, target, key),
            // The first of a list wins.
            _ => self.tree.children(target).find_map(|item| self.field(text, self.tree.target(item), key)),
        }
    }
}

/// What the keys of a document say, where that is not simply what is written.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    unusual: HashMap<NodeId, Unusual>,
}

#[derive(Debug)]
enum Unusual {
    Merge,
    Text(Box<str>),
}

impl Keys {
    /// The text of the key `id`, or nothing for a merge key.
    pub(crate) fn text<'a>(&'a self, text: &'a str, id: NodeId, span: Span) -> Option<&'a str> {
        match self.unusual.get(&id) {
            None => Some(unquoted(&text[span.start..span.end])),
            Some(Unusual::Text(text)) => Some(text),
            Some(Unusual::Merge) => None,
        }
    }

    pub(crate) fn remember(&mut self, text: &str, id: NodeId, span: Span, key: &str) {
        if unquoted(&text[span.start..span.end]) != key {
            self.unusual.insert(id, Unusual::Text(key.into()));
        }
    }

    pub(crate) fn remember_merge(&mut self, id: NodeId) {
        self.unusual.insert(id, Unusual::Merge);
    }
}

/// A scalar as written, without the quotes around it; a plain one never begins with a quote.
fn unquoted(written: &str) -> &str {
    let inner = |quote| written.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(written)
}
