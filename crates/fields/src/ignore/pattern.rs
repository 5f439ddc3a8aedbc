//! One pattern of `ignore_fields`, and how it follows a path step by step.

use serde_json::Value;

use super::syntax;
use crate::PathElement;
use crate::jsonpath::{self, JsonPath};

/// A pattern, as far as it can be understood without a body.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    /// Followed segment by segment.
    Segments(Vec<Segment>),
    /// JSONPath beyond that, such as slices and unions: it means the places it selects in the body.
    Places(JsonPath),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Segment {
    /// A name, or a part of one that has dots.
    Name(String),
    /// A whole name, written in quotes.
    Quoted(String),
    /// Everything at this level.
    Any,
    /// The list element at a position, from the end when negative.
    Index(i64),
    /// The list element with these fields.
    Fields(Vec<(String, String)>),
    /// The set element with this value.
    Value(String),
    /// The list elements that the filter selects.
    Filter(JsonPath),
}

/// A step on the way to a field: its element and what the body has there.
pub(super) struct Step<'s> {
    pub(super) element: &'s PathElement,
    pub(super) value: Option<&'s Value>,
    index: Option<usize>,
    list_len: usize,
}

impl<'s> Step<'s> {
    pub(super) fn field(element: &'s PathElement, value: Option<&'s Value>) -> Self {
        Self { element, value, index: None, list_len: 0 }
    }

    pub(super) fn item(element: &'s PathElement, item: Option<(usize, &'s Value)>, list_len: usize) -> Self {
        Self { element, value: item.map(|(_, item)| item), index: item.map(|(index, _)| index), list_len }
    }
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, jsonpath::ParseError> {
        match syntax::segments(text) {
            Some(segments) => Ok(Self::Segments(segments)),
            None => JsonPath::parse(&format!("{{.{text}}}")).map(Self::Places),
        }
    }

    /// Whether the pattern names `path`, then a name that starts with `prefix`.
    pub(super) fn is_below(&self, path: &[&str], prefix: &str) -> bool {
        let Self::Segments(segments) = self else { return false };
        let Some((above, name)) = segments.split_at_checked(path.len()) else { return false };
        let is_above = above.iter().zip(path).all(|(segment, name)| segment.name() == Some(name));
        let name: Vec<&str> = name.iter().map_while(Segment::name).collect();
        is_above && name.join(".").starts_with(prefix)
    }

    /// The same pattern, with what depends on the body found out.
    pub(super) fn resolve(&self, body: &Value) -> Vec<Self> {
        let Self::Places(path) = self else { return vec![self.clone()] };
        let places = path.find_places(body).unwrap_or_default();
        let segments = places.into_iter().filter(|place| !place.is_empty()).map(|place| {
            let segment = |step| match step {
                jsonpath::Step::Key(name) => Segment::Quoted(name),
                jsonpath::Step::Index(index) => Segment::Index(i64::try_from(index).unwrap_or(i64::MAX)),
            };
            Self::Segments(place.into_iter().map(segment).collect())
        });
        segments.collect()
    }

    pub(super) fn len(&self) -> usize {
        self.segments().len()
    }

    /// Where the pattern stands after `step`, having stood at `position`, if it goes that way.
    pub(super) fn advance(&self, position: usize, step: &Step<'_>) -> Option<usize> {
        let ahead = self.segments().get(position..)?;
        match (step.element, ahead.first()?) {
            (_, Segment::Any) => Some(position + 1),
            (PathElement::Field(name), Segment::Quoted(quoted)) if **name == **quoted => Some(position + 1),
            (PathElement::Field(name), Segment::Name(_)) => {
                names_that_spell(name, ahead).map(|count| position + count)
            }
            (PathElement::Field(_), _) => None,
            // A list without a choice means all its elements.
            (_, Segment::Name(_) | Segment::Quoted(_)) => Some(position),
            (_, choice) => choice.chooses(step).then_some(position + 1),
        }
    }

    fn segments(&self) -> &[Segment] {
        match self {
            Self::Segments(segments) => segments,
            Self::Places(_) => &[],
        }
    }
}

/// How many of the plain names ahead make up `name`, joined by dots. A key with dots may be written without quotes.
fn names_that_spell(name: &str, ahead: &[Segment]) -> Option<usize> {
    let mut rest = name;
    for (position, segment) in ahead.iter().enumerate() {
        let Segment::Name(part) = segment else { return None };
        rest = rest.strip_prefix(part.as_str())?;
        if rest.is_empty() {
            return Some(position + 1);
        }
        rest = rest.strip_prefix('.')?;
    }
    None
}

impl Segment {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) | Self::Quoted(name) => Some(name),
            _ => None,
        }
    }

    /// Whether this choice among list elements takes the one at `step`.
    fn chooses(&self, step: &Step<'_>) -> bool {
        match self {
            Self::Index(wanted) => position_of(step).is_some_and(|index| {
                let from_start =
                    i64::try_from(step.list_len).ok().filter(|_| *wanted < 0).unwrap_or(0) + wanted;
                usize::try_from(from_start) == Ok(index)
            }),
            Self::Fields(fields) => fields.iter().all(|(name, wanted)| {
                let of_key = if let PathElement::Key(key) = step.element { key.get(name) } else { None };
                let value = of_key.or_else(|| step.value.and_then(|item| item.get(name)));
                value.is_some_and(|value| plain_text(value) == *wanted)
            }),
            Self::Value(wanted) => {
                let of_set =
                    if let PathElement::Value(value) = step.element { Some(value.get()) } else { None };
                of_set.or(step.value).is_some_and(|value| plain_text(value) == *wanted)
            }
            Self::Filter(filter) => item_of(step).is_some_and(|item| {
                // A filter chooses from a list, so the item is put into one of its own.
                filter.find(&Value::Array(vec![item])).is_ok_and(|found| !found.is_empty())
            }),
            Self::Name(_) | Self::Quoted(_) | Self::Any => false,
        }
    }
}

fn position_of(step: &Step<'_>) -> Option<usize> {
    match step.element {
        PathElement::Index(index) => Some(*index),
        _ => step.index,
    }
}

/// The list element as the body has it; of one the body lacks, at least its key is known.
fn item_of(step: &Step<'_>) -> Option<Value> {
    match (step.value, step.element) {
        (Some(item), _) => Some(item.clone()),
        (None, PathElement::Key(key)) => {
            Some(key.fields().map(|(name, value)| (name.to_owned(), value.clone())).collect())
        }
        (None, PathElement::Value(value)) => Some(value.get().clone()),
        (None, _) => None,
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
