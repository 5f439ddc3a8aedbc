//! `ignore_fields`: which fields a user leaves to others, and what a body is without them. Other options name fields alike.
//!
//! A pattern names a field and everything below it. Names are separated by dots, and a key that has dots itself may be
//! written plainly, escaped or in quotes; list elements are chosen by position, key, value, predicate or wildcard, and a
//! list without a choice means all its elements. Positions and predicates refer to the body that was written.

use diag::Diagnostic;
use serde_json::{Map, Value};

use crate::items::{self, Name};
use crate::jsonpath;
use crate::{FieldPath, FieldSet, ListKind, PathElement, Schema, Shape, codes};
use pattern::{Pattern, Step};

mod pattern;
mod syntax;
#[cfg(test)]
mod tests;

/// Annotations below `metadata.annotations` by which the provider recognises its objects.
pub const INTERNAL_ANNOTATIONS: &str = "k8sconnect.terraform.io/";

/// The patterns of one `ignore_fields` list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IgnoreFields {
    patterns: Vec<Pattern>,
}

impl IgnoreFields {
    /// Reads the entries of a list; a diagnostic for each that cannot be accepted.
    pub fn parse<T: AsRef<str>>(entries: impl IntoIterator<Item = T>) -> Result<Self, Vec<Diagnostic>> {
        let mut patterns = Vec::new();
        let mut refused = Vec::new();
        for entry in entries {
            match parse_entry(entry.as_ref()) {
                Ok(pattern) => patterns.push(pattern),
                Err(diagnostic) => refused.push(*diagnostic),
            }
        }
        if refused.is_empty() { Ok(Self { patterns }) } else { Err(refused) }
    }

    /// One pattern by which a user names fields. It may be a JSONPath as kubectl takes it, in braces or with a dot before it.
    pub fn naming(path: &str) -> Result<Self, jsonpath::ParseError> {
        let inner = path.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(path);
        let inner = inner.strip_prefix('.').unwrap_or(inner);
        Pattern::parse(inner).map(|pattern| Self { patterns: vec![pattern] })
    }

    /// The patterns of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.patterns.extend(other.patterns);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// What the patterns mean for `body`.
    pub fn on<'a>(&self, body: &'a Value, schema: &'a Schema) -> Ignored<'a> {
        let patterns = self.patterns.iter().flat_map(|pattern| pattern.resolve(body)).collect();
        Ignored { patterns, body, schema }
    }
}

fn parse_entry(entry: &str) -> Result<Pattern, Box<Diagnostic>> {
    let refuse = |code, summary: &str, detail: String, hint: &str| {
        Box::new(Diagnostic::error(code, summary).detail(detail).field("ignore_fields").hint(hint))
    };
    let pattern = Pattern::parse(entry).map_err(|error| {
        refuse(
            codes::IGNORE_FIELD_SYNTAX,
            "Invalid Field Path Syntax",
            format!("{entry:?} in ignore_fields is not a path to a field: {error}."),
            "Write a path such as spec.replicas, spec.containers[name=web].image or \
             metadata.annotations['example.com/key'].",
        )
    })?;
    if pattern.is_below(&["metadata", "annotations"], INTERNAL_ANNOTATIONS) {
        return Err(refuse(
            codes::IGNORE_FIELD_INTERNAL,
            "Cannot ignore provider internal annotations",
            format!(
                "{entry:?} in ignore_fields names an annotation by which the provider recognises its objects."
            ),
            "Remove the entry: the provider's own annotations are never shown as drift.",
        ));
    }
    Ok(pattern)
}

/// What a list of patterns means for one body.
#[derive(Debug)]
pub struct Ignored<'a> {
    patterns: Vec<Pattern>,
    body: &'a Value,
    schema: &'a Schema,
}

/// How far the patterns have come on the way to a field: pattern and step.
type Progress = Vec<(usize, usize)>;

impl Ignored<'_> {
    /// Whether the field at `path` is ignored, for itself or with one above it.
    pub fn contains(&self, path: &FieldPath) -> bool {
        let mut progress = self.start();
        let (mut value, mut shape) = (Some(self.body), self.schema.root());
        for element in path.elements() {
            let step = step_in(element, value, shape);
            match self.advance(&progress, &step) {
                Advance::Matched => return true,
                Advance::Open(next) if next.is_empty() => return false,
                Advance::Open(next) => progress = next,
            }
            (value, shape) = (step.value, shape.step(element));
        }
        false
    }

    /// The fields of the body that the patterns name, without those below them.
    pub fn named(&self) -> Vec<FieldPath> {
        let mut found = Vec::new();
        self.find(self.body, self.schema.root(), &self.start(), &FieldPath::root(), &mut found);
        found
    }

    fn find(
        &self,
        value: &Value,
        shape: Shape<'_>,
        progress: &Progress,
        path: &FieldPath,
        found: &mut Vec<FieldPath>,
    ) {
        let mut visit = |step: &Step<'_>, child: &Value| {
            let here = path.child(step.element.clone());
            match self.advance(progress, step) {
                Advance::Matched => found.push(here),
                Advance::Open(next) if next.is_empty() => {}
                Advance::Open(next) => self.find(child, shape.step(step.element), &next, &here, found),
            }
        };
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, child)| {
                visit(&Step::field(&PathElement::field(name), Some(child)), child);
            }),
            Value::Array(list) => list.iter().enumerate().for_each(|(index, item)| {
                let element = Name::of(item, index, shape.list_kind()).to_element();
                visit(&Step::item(&element, Some((index, item)), list.len()), item);
            }),
            _ => {}
        }
    }

    /// `set` without the fields that are ignored.
    pub fn remove_from_set(&self, set: &FieldSet) -> FieldSet {
        self.filter(set, Some(self.body), self.schema.root(), &self.start())
    }

    /// The body without the fields that are ignored. Objects and lists that are left empty go as well, or sending them
    /// would claim the field above.
    pub fn body_without(&self) -> Value {
        self.prune(self.body, self.schema.root(), &self.start()).unwrap_or_else(|| Value::Object(Map::new()))
    }

    fn filter(
        &self,
        set: &FieldSet,
        value: Option<&Value>,
        shape: Shape<'_>,
        progress: &Progress,
    ) -> FieldSet {
        let mut kept = FieldSet::new();
        for entry in set.entries() {
            let step = step_in(&entry.element, value, shape);
            let below = match self.advance(progress, &step) {
                Advance::Matched => continue,
                Advance::Open(next) if next.is_empty() => entry.below.clone(),
                Advance::Open(next) => {
                    self.filter(&entry.below, step.value, shape.step(&entry.element), &next)
                }
            };
            kept.add(entry.element.clone(), entry.member, below);
        }
        kept
    }

    /// `value` without what is ignored, or nothing when ignoring leaves nothing of it.
    fn prune(&self, value: &Value, shape: Shape<'_>, progress: &Progress) -> Option<Value> {
        let keep = |step: &Step<'_>, child: &Value| match self.advance(progress, step) {
            Advance::Matched => None,
            Advance::Open(next) if next.is_empty() => Some(child.clone()),
            Advance::Open(next) => self.prune(child, shape.step(step.element), &next),
        };
        match value {
            Value::Object(fields) => {
                let kept: Map<String, Value> = fields
                    .iter()
                    .filter_map(|(name, child)| {
                        let element = PathElement::field(name);
                        Some((name.clone(), keep(&Step::field(&element, Some(child)), child)?))
                    })
                    .collect();
                (fields.is_empty() || !kept.is_empty()).then_some(Value::Object(kept))
            }
            Value::Array(list) => {
                let kind = shape.list_kind();
                let kept: Vec<Value> = list
                    .iter()
                    .enumerate()
                    .filter_map(|(index, item)| {
                        let element = Name::of(item, index, kind).to_element();
                        let kept = keep(&Step::item(&element, Some((index, item)), list.len()), item)?;
                        Some(with_key(kept, item, kind))
                    })
                    .collect();
                (list.is_empty() || !kept.is_empty()).then_some(Value::Array(kept))
            }
            scalar => Some(scalar.clone()),
        }
    }

    fn start(&self) -> Progress {
        (0..self.patterns.len()).map(|pattern| (pattern, 0)).collect()
    }

    fn advance(&self, progress: &Progress, step: &Step<'_>) -> Advance {
        let mut next = Progress::new();
        for (index, position) in progress {
            let pattern = &self.patterns[*index];
            match pattern.advance(*position, step) {
                Some(position) if position == pattern.len() => return Advance::Matched,
                Some(position) => next.push((*index, position)),
                None => {}
            }
        }
        Advance::Open(next)
    }
}

/// `kept` with the merge-key fields that `item` has: without them it would be another item.
fn with_key(mut kept: Value, item: &Value, kind: ListKind<'_>) -> Value {
    if let (Value::Object(kept), Value::Object(fields), ListKind::Keyed(keys)) = (&mut kept, item, kind) {
        let key_fields = keys.iter().filter_map(|key| fields.get_key_value(&*key.name));
        kept.extend(key_fields.map(|(name, value)| (name.clone(), value.clone())));
    }
    kept
}

enum Advance {
    /// A pattern has come to its end: this field and all below it are ignored.
    Matched,
    /// What may still match further down.
    Open(Progress),
}

/// The step to `element` below `value` of the body, as far as the body goes.
fn step_in<'s>(element: &'s PathElement, value: Option<&'s Value>, shape: Shape<'_>) -> Step<'s> {
    match (element, value) {
        (PathElement::Field(name), value) => Step::field(element, value.and_then(|value| value.get(&**name))),
        (_, Some(Value::Array(list))) => {
            Step::item(element, items::find(list, element, shape.list_kind()), list.len())
        }
        _ => Step::item(element, None, 0),
    }
}
