//! From the nodes of a document to the value they stand for: scalars read, aliases expanded, mappings merged.

use std::collections::HashMap;

use diag::{Diagnostic, Source};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::scalar::{self, Written};
use crate::spans::Keys;
use crate::tree::{Kind, NodeId, Read, Tree};
use crate::{Limits, problem};

/// After this many findings more would only repeat what is wrong.
const MAX_PROBLEMS: usize = 16;

/// What a document stands for.
pub(crate) struct Composed {
    pub(crate) value: Value,
    pub(crate) keys: Keys,
    /// What is wrong, if anything; the value is incomplete then.
    pub(crate) problems: Vec<Diagnostic>,
    /// How many nodes were visited, those behind aliases each time.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests measure cost by it instead of by time"))]
    pub(crate) visited: usize,
}

/// Makes the value of a document that was read without a problem.
pub(crate) fn compose(source: &Source, read: &mut Read<'_>, limits: &Limits) -> Composed {
    let mut composer = Composer {
        source,
        tree: &read.tree,
        scalars: &mut read.scalars,
        scalars_are_shared: read.has_aliases,
        limits,
        keys: Keys::default(),
        problems: Vec::new(),
        alias_nodes: 0,
        visited: 0,
    };
    let value = composer.value(0, 0).unwrap_or_default();
    Composed { value, keys: composer.keys, problems: composer.problems, visited: composer.visited }
}

/// Going on would cost too much or say nothing new; the problems say why.
struct Stop;

/// Which keys a mapping itself has spelled out, known from when a key is met again, which is rare.
struct OwnKeys {
    mapping: NodeId,
    met: Option<HashMap<String, NodeId>>,
}

struct Composer<'a, 't> {
    source: &'a Source,
    tree: &'a Tree,
    scalars: &'a mut [Written<'t>],
    scalars_are_shared: bool,
    limits: &'a Limits,
    keys: Keys,
    problems: Vec<Diagnostic>,
    alias_nodes: usize,
    visited: usize,
}

impl<'t> Composer<'_, 't> {
    /// Recursion goes through here once a level; the branches are functions of their own to keep its stack small.
    fn value(&mut self, id: NodeId, depth: usize) -> Result<Value, Stop> {
        self.visited += 1;
        match self.tree.node(id).kind {
            Kind::Scalar(index) => self.scalar(id, index),
            Kind::Sequence => self.sequence(id, depth),
            Kind::Mapping => self.mapping(id, depth),
            Kind::Alias(target) if self.expand(id, target)? => self.value(target, depth),
            Kind::Alias(_) => Ok(Value::Null),
        }
    }

    fn scalar(&mut self, id: NodeId, index: u32) -> Result<Value, Stop> {
        match scalar::resolve(self.take(index)).and_then(scalar::Scalar::into_value) {
            Ok(value) => Ok(value),
            Err(error) => {
                self.report(problem::scalar(self.source, self.tree.node(id).span(), error))?;
                Ok(Value::Null)
            }
        }
    }

    fn sequence(&mut self, id: NodeId, depth: usize) -> Result<Value, Stop> {
        self.check_depth(id, depth)?;
        let mut items = Vec::new();
        for item in self.tree.children(id) {
            items.push(self.value(item, depth + 1)?);
        }
        Ok(Value::Array(items))
    }

    fn mapping(&mut self, id: NodeId, depth: usize) -> Result<Value, Stop> {
        self.check_depth(id, depth)?;
        let mut fields = Map::new();
        self.fill(&mut fields, id, depth)?;
        Ok(Value::Object(fields))
    }

    /// Adds the fields of the mapping `id` to `fields`, in order.
    ///
    /// As in go-yaml v2, a merge key counts where it stands: it replaces what was given before it and is replaced by
    /// what is given after it. Only a key that one mapping spells out twice is a duplicate.
    fn fill(&mut self, fields: &mut Map<String, Value>, id: NodeId, depth: usize) -> Result<(), Stop> {
        let mut own = OwnKeys { mapping: id, met: None };
        for (key, value) in self.tree.pairs(id) {
            if self.is_merge(key) {
                self.keys.remember_merge(key);
                self.merge(fields, value, depth)?;
                continue;
            }
            let text = self.key(key)?;
            let value = self.value(value, depth + 1)?;
            if let Some(text) = text {
                self.insert(fields, &mut own, (key, text), value)?;
            }
        }
        Ok(())
    }

    fn insert(
        &mut self,
        fields: &mut Map<String, Value>,
        own: &mut OwnKeys,
        (key, text): (NodeId, String),
        value: Value,
    ) -> Result<(), Stop> {
        if let Some(met) = &mut own.met
            && let Some(first) = met.insert(text.clone(), key)
        {
            self.report_duplicate(&text, key, first)?;
        }
        match fields.entry(text) {
            Entry::Vacant(entry) => {
                entry.insert(value);
            }
            Entry::Occupied(mut entry) => {
                if own.met.is_none() {
                    let mut met = self.own_keys(own.mapping, key);
                    let first = met.insert(entry.key().clone(), key);
                    own.met = Some(met);
                    first.map_or(Ok(()), |first| self.report_duplicate(entry.key(), key, first))?;
                }
                entry.insert(value);
            }
        }
        Ok(())
    }

    /// The keys that the mapping `id` spells out before `end`.
    fn own_keys(&self, id: NodeId, end: NodeId) -> HashMap<String, NodeId> {
        let before = self.tree.pairs(id).map(|(key, _)| key).take_while(|key| *key < end);
        before
            .filter_map(|key| {
                let text = self.keys.text(self.source.text(), key, self.tree.node(key).span())?;
                Some((text.to_owned(), key))
            })
            .collect()
    }

    /// The text of a key, unless it is a problem.
    fn key(&mut self, id: NodeId) -> Result<Option<String>, Stop> {
        self.visited += 1;
        let span = self.tree.node(id).span();
        let Kind::Scalar(index) = self.tree.node(self.tree.target(id)).kind else {
            self.report(problem::collection_key(self.source, span))?;
            return Ok(None);
        };
        match scalar::resolve(self.take(index)).and_then(scalar::Scalar::into_key) {
            Ok(text) => {
                self.keys.remember(self.source.text(), id, span, &text);
                Ok(Some(text))
            }
            Err(error) => {
                self.report(problem::scalar(self.source, span, error))?;
                Ok(None)
            }
        }
    }

    fn is_merge(&self, key: NodeId) -> bool {
        match self.tree.node(key).kind {
            Kind::Scalar(index) => self.scalars[index as usize].is_merge(),
            _ => false,
        }
    }

    fn merge(&mut self, fields: &mut Map<String, Value>, merged: NodeId, depth: usize) -> Result<(), Stop> {
        let target = self.tree.target(merged);
        if self.tree.node(target).kind == Kind::Mapping {
            return self.merge_one(fields, merged, depth);
        }
        // An alias of a list is refused, as Go does.
        if target != merged || self.tree.node(merged).kind != Kind::Sequence {
            return self.report(problem::bad_merge(self.source, self.tree.node(merged).span()));
        }
        let items: Vec<NodeId> = self.tree.children(merged).collect();
        // Backwards, because the first of a list wins.
        for item in items.into_iter().rev() {
            self.merge_one(fields, item, depth)?;
        }
        Ok(())
    }

    fn merge_one(&mut self, fields: &mut Map<String, Value>, id: NodeId, depth: usize) -> Result<(), Stop> {
        let target = self.tree.target(id);
        if self.tree.node(target).kind != Kind::Mapping {
            return self.report(problem::bad_merge(self.source, self.tree.node(id).span()));
        }
        if target != id && !self.expand(id, target)? {
            return Ok(());
        }
        self.check_depth(id, depth)?;
        self.fill(fields, target, depth + 1)
    }

    /// Charges the nodes that `alias` stands for; false if it stands inside them, which has been reported.
    fn expand(&mut self, alias: NodeId, target: NodeId) -> Result<bool, Stop> {
        let size = self.tree.size(target);
        if (alias as usize) < target as usize + size {
            let spans = (self.tree.node(alias).span(), self.tree.node(target).span());
            self.report(problem::recursive_alias(self.source, spans.0, spans.1))?;
            return Ok(false);
        }
        self.alias_nodes += size;
        if self.alias_nodes > self.limits.alias_nodes {
            let span = self.tree.node(alias).span();
            self.problems.push(problem::too_many_aliases(self.source, span, self.limits));
            return Err(Stop);
        }
        Ok(true)
    }

    /// Aliases can make a value deeper than the text is.
    fn check_depth(&mut self, id: NodeId, depth: usize) -> Result<(), Stop> {
        if depth < self.limits.depth {
            return Ok(());
        }
        self.problems.push(problem::too_deep(self.source, self.tree.node(id).span(), self.limits));
        Err(Stop)
    }

    fn take(&mut self, index: u32) -> Written<'t> {
        let written = &mut self.scalars[index as usize];
        if self.scalars_are_shared {
            return written.clone();
        }
        Written { text: std::mem::take(&mut written.text), plain: written.plain, tag: written.tag }
    }

    fn report_duplicate(&mut self, text: &str, again: NodeId, first: NodeId) -> Result<(), Stop> {
        let spans = (self.tree.node(again).span(), self.tree.node(first).span());
        self.report(problem::duplicate_key(self.source, text, spans.0, spans.1))
    }

    fn report(&mut self, problem: Diagnostic) -> Result<(), Stop> {
        // A finding behind several aliases is one finding.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
        if self.problems.len() >= MAX_PROBLEMS { Err(Stop) } else { Ok(()) }
    }
}
