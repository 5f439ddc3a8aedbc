//! The part of all objects that one operator reconciles, by their labels, so that several can share the work.
//!
//! Every object belongs to the operator whose selector its labels match. XRs have the labels of their claims, and composed
//! resources those of their XR that the selector asks for, so each tree stays together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use kube::core::{Expression, Selector, SelectorExt as _};
use manifest::json_object;
use serde_json::Value;

use super::client::Object;
use super::lease;

/// Which objects an operator reconciles. By default it is all of them.
#[derive(Clone, Debug, Default)]
pub struct Shard {
    /// The label selector, as it was written.
    text: String,
    selector: Selector,
    /// The labels that the selector asks for.
    keys: BTreeSet<String>,
}

/// Why a text is not a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{requirement}` is not a requirement on a label; write KEY=VALUE, KEY!=VALUE, KEY, !KEY, KEY in (A,B) or KEY notin (A,B)"
)]
pub struct InvalidSelector {
    requirement: String,
}

impl Shard {
    /// Whether there are no other shards.
    pub(crate) fn is_everything(&self) -> bool {
        self.selector.selects_all()
    }

    /// Whether `object` belongs to this shard.
    pub(crate) fn selects(&self, object: &Object) -> bool {
        if self.is_everything() {
            return true;
        }
        let labels = json_object::map(object, &["metadata", "labels"]).into_iter().flatten();
        let labels: BTreeMap<String, String> =
            labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
        self.selector.matches(&labels)
    }

    /// A label selector for the objects of this shard that `labels` select too.
    pub(crate) fn within(&self, labels: Option<String>) -> Option<String> {
        let own = (!self.is_everything()).then(|| self.text.clone());
        let both: Vec<String> = labels.into_iter().chain(own).collect();
        (!both.is_empty()).then(|| both.join(","))
    }

    /// Gives what `owner` is composed of the labels by which it belongs to the same shard.
    pub(crate) fn carry_over(&self, owner: &Object, composed: &mut Object) {
        for key in &self.keys {
            if let Some(value) = json_object::label(owner, key) {
                let labels = json_object::nested_mut(composed, &["metadata", "labels"]);
                labels.insert(key.clone(), value.into());
            } else {
                let labels = composed.get_mut("metadata").and_then(|metadata| metadata.get_mut("labels"));
                labels.and_then(Value::as_object_mut).and_then(|labels| labels.remove(key));
            }
        }
    }

    /// The name of the lease that the copies of this shard compete for.
    pub(crate) fn lease_name(&self) -> String {
        if self.is_everything() {
            return lease::NAME.to_owned();
        }
        // FNV-1a: short, and the same in every version of this program.
        let hash = self.text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{}-{:08x}", lease::NAME, hash >> 32)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Shard {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let mut shard = Self { text: text.trim().to_owned(), ..Self::default() };
        for requirement in requirements(&shard.text) {
            let (key, expression) =
                parse(requirement).ok_or_else(|| InvalidSelector { requirement: requirement.to_owned() })?;
            shard.keys.insert(key);
            shard.selector.extend([expression]);
        }
        Ok(shard)
    }
}

/// The parts between commas that are not in parentheses.
fn requirements(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let split = text.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    split.map(str::trim).collect()
}

/// One requirement, and the key of the label it is about.
fn parse(requirement: &str) -> Option<(String, Expression)> {
    let expression = if let Some(key) = requirement.strip_prefix('!') {
        let key = name(key)?;
        (key.clone(), Expression::DoesNotExist(key))
    } else if let Some((key, value)) = requirement.split_once("!=") {
        let key = name(key)?;
        (key.clone(), Expression::NotEqual(key, self::value(value)?))
    } else if let Some((key, value)) = requirement.split_once('=') {
        let key = name(key)?;
        let value = value.strip_prefix('=').unwrap_or(value);
        (key.clone(), Expression::Equal(key, self::value(value)?))
    } else if let Some((key, rest)) = requirement.split_once(char::is_whitespace) {
        let key = name(key)?;
        let (operator, set) = rest.trim().split_once('(')?;
        let set = set.strip_suffix(')')?.split(',').map(value).collect::<Option<BTreeSet<String>>>()?;
        match operator.trim() {
            "in" => (key.clone(), Expression::In(key, set)),
            "notin" => (key.clone(), Expression::NotIn(key, set)),
            _ => return None,
        }
    } else {
        let key = name(requirement)?;
        (key.clone(), Expression::Exists(key))
    };
    Some(expression)
}

fn name(text: &str) -> Option<String> {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let text = text.trim();
    (!text.is_empty() && text.chars().all(is_fit)).then(|| text.to_owned())
}

/// Values may be empty.
fn value(text: &str) -> Option<String> {
    if text.trim().is_empty() { Some(String::new()) } else { name(text) }
}

#[cfg(test)]
mod tests;
