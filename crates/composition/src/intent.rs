//! No write without a change: whether an apply can be left out because it would change nothing.

use ownership::{FieldManager, Observed};
use plan::{Intervention, LastAnswer, Question};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::naming::COMPOSED_MANAGER_PREFIX;
use crate::protocol::Object;

/// What is remembered of an apply: what was asked for and what came back, as hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    intent: Hash,
    answer: Hash,
}

type Hash = [u8; 32];

impl Applied {
    /// Remembers that `intent` was applied and the API server answered with `answer`.
    pub fn new(intent: &Object, answer: &Object) -> Self {
        Self { intent: hash(intent), answer: projected_hash(answer, intent) }
    }

    /// An apply that is not remembered, for instance one before a restart, as managedFields show it: `live` is as an
    /// apply of `intent` by `manager` would leave it.
    ///
    /// Webhooks do not count: what they make of a repeated apply shows with the next change.
    pub fn found(intent: &Object, live: &Object, manager: &str) -> Option<Self> {
        let is_applied = || {
            let (body, manager) = (Value::Object(intent.clone()), FieldManager::new(manager));
            let live = Observed::new(Value::Object(live.clone()));
            live.is_ok_and(|live| plan::is_applied(&body, &manager, &live))
        };
        let question = plan::question(LastAnswer::Forgotten, is_applied, Intervention::Disregarded);
        (question == Question::Needless).then(|| Self::new(intent, live))
    }

    /// Whether applying `intent` again would change nothing: it is the same intent, and the part of `live` it is about
    /// is as it was in the answer.
    pub fn still_holds(&self, intent: &Object, live: &Object) -> bool {
        !is_apply_owed(intent, Some(self), Some(live))
    }
}

/// Whether `intent` has to be applied, given what is remembered and what is live.
pub fn is_apply_owed(intent: &Object, last: Option<&Applied>, live: Option<&Object>) -> bool {
    let now = last.and(live).map(|live| Applied::new(intent, live));
    let last_answer = LastAnswer::compare(last, now.as_ref());
    plan::question(last_answer, || false, Intervention::Disregarded) == Question::Needed
}

/// Drops all managedFields of a composed resource but those of engines, which say whether it has to be applied again. They are
/// the larger part of many objects.
pub fn compact_managed_fields(object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        ownership::compact(object, |manager| manager.starts_with(COMPOSED_MANAGER_PREFIX));
    }
}

fn projected_hash(object: &Object, intent: &Object) -> Hash {
    hash(&project(object, intent))
}

/// The part of `object` that `intent` speaks about.
///
/// Lists others may add to are matched by their key; every other list counts as a whole, since without its schema
/// it is unknown which of its elements are ours. A change by another in such a list costs one apply, not a loop.
fn project(object: &Object, intent: &Object) -> Object {
    let pick = |(key, wanted): (&String, &Value)| {
        let found = object.get(key)?;
        let picked = match (found, wanted) {
            (Value::Object(found), Value::Object(wanted)) => project(found, wanted).into(),
            (Value::Array(found), Value::Array(wanted)) => match merge_key(key) {
                Some(merge_key) => project_list(found, wanted, merge_key),
                None => found.clone().into(),
            },
            _ => found.clone(),
        };
        Some((key.clone(), picked))
    };
    intent.iter().filter_map(pick).collect()
}

/// The keys of lists in any object's metadata or status that more than one manager writes to.
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "conditions" | "conditionTypes" => Some("type"),
        "ownerReferences" => Some("uid"),
        _ => None,
    }
}

fn project_list(found: &[Value], wanted: &[Value], key: &str) -> Value {
    let pick = |wanted: &Value| {
        let found = found.iter().find(|found| found.get(key) == wanted.get(key))?;
        match (found, wanted) {
            (Value::Object(found), Value::Object(wanted)) => Some(project(found, wanted).into()),
            _ => Some(found.clone()),
        }
    };
    wanted.iter().filter_map(pick).collect()
}

/// A hash of JSON that does not depend on the order of keys, nor on whether a whole number is written as a float.
pub(crate) fn hash(object: &Object) -> Hash {
    let mut sha = Sha256::new();
    feed_object(&mut sha, object);
    sha.finalize().into()
}

fn feed_object(sha: &mut Sha256, object: &Object) {
    sha.update(b"{");
    for (key, value) in object {
        feed_text(sha, b"k", key);
        match (value, merge_key(key)) {
            (Value::Array(list), Some(merge_key)) => feed_keyed(sha, list, merge_key),
            _ => feed(sha, value),
        }
    }
    sha.update(b"}");
}

/// A list that is a map by key says the same in any order, and the API server may return it in another.
fn feed_keyed(sha: &mut Sha256, list: &[Value], key: &str) {
    let mut sorted: Vec<&Value> = list.iter().collect();
    sorted.sort_by_key(|element| element.get(key).and_then(Value::as_str).unwrap_or_default());
    feed_list(sha, sorted);
}

fn feed_list<'a>(sha: &mut Sha256, list: impl IntoIterator<Item = &'a Value>) {
    sha.update(b"[");
    for value in list {
        feed(sha, value);
    }
    sha.update(b"]");
}

fn feed(sha: &mut Sha256, value: &Value) {
    match value {
        Value::Null => sha.update(b"n"),
        Value::Bool(value) => sha.update(if *value { b"t" } else { b"f" }),
        Value::Number(number) => {
            // A number that went through a function was a double on the wire: 3.0 is 3, as far as doubles are exact.
            let double = number.as_f64().filter(|double| double.abs() < 9_007_199_254_740_992.0);
            match double {
                Some(double) => {
                    sha.update(b"d");
                    sha.update(double.to_bits().to_le_bytes());
                }
                None => feed_text(sha, b"i", &number.to_string()),
            }
        }
        Value::String(text) => feed_text(sha, b"s", text),
        Value::Array(list) => feed_list(sha, list),
        Value::Object(object) => feed_object(sha, object),
    }
}

fn feed_text(sha: &mut Sha256, tag: &[u8], text: &str) {
    sha.update(tag);
    sha.update((text.len() as u64).to_le_bytes());
    sha.update(text.as_bytes());
}

#[cfg(test)]
mod tests;
