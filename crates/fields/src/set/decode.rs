//! FieldsV1 JSON to a set, from text or from a parsed value, by one serde visitor.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::FieldSet;
use crate::PathElement;
use crate::path::ElementError;

/// The text or value is no FieldsV1.
#[derive(Debug, thiserror::Error)]
#[error("malformed FieldsV1")]
pub struct DecodeError(#[from] serde_json::Error);

impl FieldSet {
    /// Reads FieldsV1 JSON text. Elements of unknown types are left out, as a later version may know them.
    pub fn from_json(text: &str) -> Result<Self, DecodeError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let level = LevelSeed.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(level.below)
    }

    /// Reads FieldsV1 from a parsed value, such as `metadata.managedFields[].fieldsV1`.
    pub fn from_value(value: &Value) -> Result<Self, DecodeError> {
        Ok(LevelSeed.deserialize(value)?.below)
    }
}

/// What stands at one element: whether a dot makes it a member, and what is below.
struct Level {
    dot: bool,
    below: FieldSet,
}

struct LevelSeed;

impl<'de> DeserializeSeed<'de> for LevelSeed {
    type Value = Level;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Level, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LevelSeed {
    type Value = Level;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of path elements")
    }

    /// Null reads as an empty object.
    fn visit_unit<E>(self) -> Result<Level, E> {
        Ok(Level { dot: false, below: FieldSet::new() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Level, A::Error> {
        let mut dot = false;
        let mut below = FieldSet::with_capacity(map.size_hint().unwrap_or_default());
        while let Some(key) = map.next_key_seed(KeySeed)? {
            match key {
                Key::Dot => {
                    dot = true;
                    map.next_value::<IgnoredAny>()?;
                }
                Key::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
                Key::Element(element) => {
                    let level = map.next_value_seed(LevelSeed)?;
                    // Nothing below means membership, like a dot.
                    below.add(element, level.dot || level.below.is_empty(), level.below);
                }
            }
        }
        Ok(Level { dot, below })
    }
}

enum Key {
    Dot,
    Element(PathElement),
    Unknown,
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path element")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Key, E> {
        if text == "." {
            return Ok(Key::Dot);
        }
        match PathElement::from_wire(text) {
            Ok(element) => Ok(Key::Element(element)),
            Err(ElementError::UnknownType(_)) => Ok(Key::Unknown),
            Err(error) => Err(E::custom(error)),
        }
    }
}
