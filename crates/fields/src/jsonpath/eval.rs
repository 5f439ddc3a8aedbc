//! Applies a parsed template to an object; each rule is client-go's (`jsonpath.go`), the odd ones too.
//!
//! Maps are visited in the order of their keys, where client-go leaves the order to chance.

mod filter;

use serde_json::Value;

use super::error::EvalError;
use super::item::Item;
use super::node::{Node, Part};
use super::place::{Link, Links, Place, Way};
use super::slice::Slice;

/// How many values may pass through one evaluation. The largest objects an API server stores hold fewer, and a path
/// that multiplies (`[0,0,0][0,0,0]…`) would otherwise take the memory of the machine.
const MAX_ITEMS: usize = 2_000_000;

/// How deep ranges may be nested; each takes a stack frame.
const MAX_RANGES: usize = 64;

/// What a key means that a map does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingKeys {
    Refuse,
    Allow,
}

/// A run of one template over one object.
pub(super) struct Evaluator<'p, 'v> {
    parts: &'p [Part],
    missing_keys: MissingKeys,
    links: Links<'v>,
    items_left: usize,
    ranges: Ranges,
}

/// Where evaluation stands with `range` and `end`. They are words like any other, so a template can hold any number
/// of them anywhere; what that means is decided by these counters.
#[derive(Default)]
struct Ranges {
    /// `range` words seen and not yet acted upon.
    begun: usize,
    /// Ranges being repeated.
    inside: usize,
    /// `end` words seen and not yet acted upon.
    ended: usize,
    /// The part in which the last range ended.
    last_end: Option<usize>,
}

/// Why a step failed.
struct Failure {
    error: EvalError,
    /// Whether the step leaves values behind even so: a filter that only asks for existence takes them for found.
    leaves_values: bool,
}

impl Failure {
    fn leaving(items: &[Item<'_, '_>], error: EvalError) -> Self {
        Self { error, leaves_values: !items.is_empty() }
    }

    fn leaving_nothing(error: EvalError) -> Self {
        Self { error, leaves_values: false }
    }
}

type Items<'p, 'v> = Vec<Item<'p, 'v>>;
type Selected<'p, 'v> = Result<Items<'p, 'v>, Failure>;

impl<'p, 'v> Evaluator<'p, 'v> {
    pub(super) fn new(parts: &'p [Part], missing_keys: MissingKeys) -> Self {
        Self { parts, missing_keys, links: Links::new(), items_left: MAX_ITEMS, ranges: Ranges::default() }
    }

    /// What each part selects, in order.
    pub(super) fn run(&mut self, object: &'v Value) -> Result<Vec<Items<'p, 'v>>, EvalError> {
        let mut groups = Vec::new();
        self.run_from(0, without_null(Item::Value(object, Links::ROOT)), &mut groups)?;
        Ok(groups)
    }

    /// Where an item is; literals are nowhere.
    pub(super) fn place(&self, item: &Item<'p, 'v>) -> Option<Place> {
        match item {
            Item::Value(_, link) => Some(self.links.place(*link)),
            _ => None,
        }
    }

    /// Evaluates the parts from number `first` on with `current` as the object, up to an `end` that ends it.
    fn run_from(
        &mut self,
        first: usize,
        current: Item<'p, 'v>,
        groups: &mut Vec<Items<'p, 'v>>,
    ) -> Result<(), EvalError> {
        let parts = self.parts;
        let mut at = first;
        while let Some(part) = parts.get(at) {
            let selected = match part {
                Part::Text(text) => vec![Item::Text(text)],
                Part::Action(nodes) => self.list(vec![current], nodes).map_err(|failure| failure.error)?,
            };
            self.charge(selected.len() + 1)?;
            if self.ranges.ended > 0 && self.ranges.ended <= self.ranges.inside {
                self.ranges.ended -= 1;
                self.ranges.last_end = Some(at);
                return Ok(());
            }
            if self.ranges.begun > 0 {
                self.ranges.begun -= 1;
                self.range(at + 1, &selected, groups)?;
                // Without an `end`, what was repeated is evaluated once more for the object around it.
                at = self.ranges.last_end.filter(|end| *end > at).unwrap_or(at);
            } else {
                groups.push(selected);
            }
            at += 1;
        }
        Ok(())
    }

    /// Repeats the parts from number `first` on for each item.
    fn range(
        &mut self,
        first: usize,
        items: &[Item<'p, 'v>],
        groups: &mut Vec<Items<'p, 'v>>,
    ) -> Result<(), EvalError> {
        self.ranges.inside += 1;
        if self.ranges.inside > MAX_RANGES {
            return Err(EvalError::TooMany);
        }
        if items.is_empty() {
            // The parts are evaluated even so, to find the end; what they select is dropped.
            self.run_from(first, Item::Nothing, &mut Vec::new())?;
        }
        for item in items {
            if matches!(item, Item::Nothing) {
                return Err(EvalError::NoValue);
            }
            self.run_from(first, without_null(*item), groups)?;
        }
        self.ranges.inside -= 1;
        Ok(())
    }

    fn list(&mut self, input: Items<'p, 'v>, nodes: &'p [Node]) -> Selected<'p, 'v> {
        nodes.iter().try_fold(input, |items, node| self.step(items, node))
    }

    fn step(&mut self, input: Items<'p, 'v>, node: &'p Node) -> Selected<'p, 'v> {
        self.charge(input.len() + 1).map_err(Failure::leaving_nothing)?;
        match node {
            Node::Text(text) => Ok(vec![Item::Text(text)]),
            Node::Int(int) => Ok(vec![Item::Int(*int); input.len()]),
            Node::Float(float) => Ok(vec![Item::Float(*float); input.len()]),
            Node::Bool(bool) => Ok(vec![Item::Bool(*bool); input.len()]),
            Node::Identifier(name) => self.identifier(input, name),
            Node::Field(name) => self.field(&input, name),
            Node::Wildcard => self.wildcard(&input),
            Node::Recursive => self.recursive(input),
            Node::Slice(slice) => self.slice(&input, *slice),
            Node::Union(members) => {
                let mut selected = Vec::new();
                for member in members {
                    let member = self.list(input.clone(), member);
                    selected.append(&mut member.map_err(|failure| Failure::leaving(&input, failure.error))?);
                }
                Ok(selected)
            }
            Node::Filter(filter) => self.filter(&input, filter),
        }
    }

    fn identifier(&mut self, input: Items<'p, 'v>, name: &str) -> Selected<'p, 'v> {
        match name {
            "range" => {
                self.ranges.begun += 1;
                Ok(input)
            }
            "end" if self.ranges.inside > 0 => {
                self.ranges.ended += 1;
                Ok(Vec::new())
            }
            "end" => Err(Failure::leaving_nothing(EvalError::NotInRange)),
            _ => Err(Failure::leaving(&input, EvalError::UnrecognizedIdentifier(name.to_owned()))),
        }
    }

    /// The values of a key. An error only if there was something to look in and none had it.
    fn field(&mut self, input: &[Item<'p, 'v>], name: &str) -> Selected<'p, 'v> {
        let mut selected = Vec::new();
        for item in input {
            if let Item::Value(Value::Object(map), link) = item
                && let Some((key, value)) = map.get_key_value(name)
            {
                selected.push(Item::Value(value, self.links.below(*link, Way::Key(key))));
            }
        }
        if selected.is_empty() && !input.is_empty() && self.missing_keys == MissingKeys::Refuse {
            return Err(Failure::leaving_nothing(EvalError::NotFound(name.to_owned())));
        }
        Ok(selected)
    }

    fn wildcard(&mut self, input: &[Item<'p, 'v>]) -> Selected<'p, 'v> {
        let mut selected = Vec::new();
        for item in input {
            self.children(item, &mut selected)?;
            let text = match item {
                Item::Value(Value::String(text), _) => text,
                Item::Text(text) => *text,
                _ => continue,
            };
            self.charge(text.len()).map_err(Failure::leaving_nothing)?;
            selected.extend(text.bytes().map(Item::Byte));
        }
        Ok(selected)
    }

    /// Appends the values in a map or list.
    fn children(&mut self, item: &Item<'p, 'v>, selected: &mut Items<'p, 'v>) -> Result<(), Failure> {
        match item {
            Item::Value(Value::Object(map), link) => {
                self.charge(map.len()).map_err(Failure::leaving_nothing)?;
                let links = &mut self.links;
                let child = |(key, value)| Item::Value(value, links.below(*link, Way::Key(key)));
                selected.extend(map.iter().map(|(key, value)| (key.as_str(), value)).map(child));
            }
            Item::Value(Value::Array(list), link) => {
                self.charge(list.len()).map_err(Failure::leaving_nothing)?;
                let links = &mut self.links;
                let child = |(index, value)| Item::Value(value, links.below(*link, Way::Index(index)));
                selected.extend(list.iter().enumerate().map(child));
            }
            _ => {}
        }
        Ok(())
    }

    /// The values and everything below them, each before what it contains. What contains nothing is left out: numbers,
    /// booleans, nulls, and empty maps, lists and strings.
    fn recursive(&mut self, input: Items<'p, 'v>) -> Selected<'p, 'v> {
        let mut selected = Vec::new();
        let mut ahead = input;
        ahead.reverse();
        while let Some(item) = ahead.pop() {
            let before = ahead.len();
            self.children(&item, &mut ahead)?;
            ahead[before..].reverse();
            let has_bytes = match item {
                Item::Value(Value::String(text), _) => !text.is_empty(),
                Item::Text(text) => !text.is_empty(),
                _ => false,
            };
            if has_bytes || ahead.len() > before {
                selected.push(item);
            }
        }
        Ok(selected)
    }

    fn slice(&mut self, input: &[Item<'p, 'v>], slice: Slice) -> Selected<'p, 'v> {
        let mut selected = Vec::new();
        for item in input {
            let (list, link) = match item {
                Item::Value(Value::Array(list), link) => (list, *link),
                Item::Value(Value::Null, _) => continue,
                Item::Nothing => return Err(Failure::leaving(input, EvalError::NoValue)),
                other => return Err(Failure::leaving(input, EvalError::NotList(other.go_type()))),
            };
            let positions = slice.positions(list.len()).map_err(|error| Failure::leaving(input, error))?;
            let Some(positions) = positions else {
                // A slice that asks for nothing also ends the search in the lists that would follow.
                return Ok(selected);
            };
            self.charge(positions.len()).map_err(Failure::leaving_nothing)?;
            for position in positions {
                selected.push(self.element(list, link, position));
            }
        }
        Ok(selected)
    }

    fn element(&mut self, list: &'v [Value], link: Link, index: usize) -> Item<'p, 'v> {
        Item::Value(&list[index], self.links.below(link, Way::Index(index)))
    }

    /// Counts values that pass through, and stops the evaluation when there are too many.
    fn charge(&mut self, items: usize) -> Result<(), EvalError> {
        self.items_left = self.items_left.checked_sub(items).ok_or(EvalError::TooMany)?;
        Ok(())
    }
}

/// What a null is once it is the object itself: nothing at all.
fn without_null<'p, 'v>(item: Item<'p, 'v>) -> Item<'p, 'v> {
    match item {
        Item::Value(Value::Null, _) => Item::Nothing,
        other => other,
    }
}
