//! Fields, and parts of fields, that the provider does not show as they were sent, such as passwords: whether they differ is
//! known from what was sent, of which the status keeps hashes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Decision;
use crate::operation::{Class, Operation, Phase};
use crate::service::{Drift, Unshown};
use crate::token::body_hash;

/// Enough to notice a change.
const HASH_LENGTH: usize = 16;
/// Between the hash of a value and the one of the Secrets that it comes from.
const REFERENCE: char = '/';

/// The entry which says that a record has every part that cannot be changed, in the form of this version. Without it, the record is
/// of an earlier build, and what it says of such parts, or does not say, proves nothing.
const COMPLETE: (&str, &str) = ("*", "2");

impl Decision<'_> {
    /// The hashes of what a body contains.
    pub(super) fn sent_in(&self, body: &Value) -> BTreeMap<String, String> {
        let fields = self.desired.unshown.iter().flatten();
        fields
            .filter(|(path, _)| body.get(field_of(path)).is_some())
            .map(|(name, field)| (name.clone(), entry(field)))
            .collect()
    }

    /// The same for a create, which sends all there is.
    pub(super) fn sent_by_create(&self, body: &Value) -> BTreeMap<String, String> {
        let mut sent = self.sent_in(body);
        if self.desired.unshown.is_some() {
            sent.extend([complete()]);
        }
        sent
    }

    /// How a resource differs, with what it does not show.
    pub(super) fn whole_drift(&mut self, shown: &Drift) -> Drift {
        let Some(unshown) = &self.desired.unshown else { return shown.clone() };
        let is_adopted = self.status.status.sent.is_none();
        let sent = self.status.status.sent.get_or_insert_default();
        if sent.get(COMPLETE.0).is_none_or(|form| form != COMPLETE.1) {
            // What an adopted resource was given is not known, so it counts as what is asked for.
            let unknown =
                unshown.iter().filter(|(_, it)| (is_adopted && !it.is_missing) || it.change.is_none());
            sent.extend(unknown.map(|(name, field)| (name.clone(), entry(field))));
            sent.extend([complete()]);
        }
        let changed = || unshown.iter().filter(|(name, field)| is_changed(field, sent.get(*name)));
        let fixed: Vec<String> =
            changed().filter(|(_, it)| it.change.is_none()).map(|(path, _)| path.clone()).collect();
        let more: Map<String, Value> =
            changed().filter_map(|(name, it)| Some((name.clone(), it.change.clone()?))).collect();
        match shown {
            Drift::Immutable(fields) => {
                let more = fixed.into_iter().filter(|path| !fields.contains(path));
                Drift::Immutable(fields.iter().cloned().chain(more).collect())
            }
            _ if !fixed.is_empty() => Drift::Immutable(fixed),
            Drift::Update(Value::Object(body)) => {
                Drift::Update(body.clone().into_iter().chain(more).collect())
            }
            Drift::None if !more.is_empty() => Drift::Update(more.into()),
            _ => shown.clone(),
        }
    }

    /// The provider took what the operation in flight sends. What is created has nothing else.
    pub(super) fn remember_sent(&mut self) {
        let operation = self.status.status.tracker.current.as_ref();
        let sent = operation.filter(|it| it.record.phase != Phase::Delete);
        let sent = sent.map(|it| (it.record.phase == Phase::Create, it.sent.clone()));
        if let (Some((is_all, sent)), Some(_)) = (sent, &self.desired.unshown) {
            let known = self.status.status.sent.get_or_insert_default();
            known.retain(|_, _| !is_all);
            known.extend(sent);
        }
    }

    /// What an operation sent is in effect if it succeeded, and else has to be sent again. What cannot be sent again is as it
    /// was created.
    pub(super) fn settle_sent(&mut self, operation: &Operation, class: Class) {
        let unshown = self.desired.unshown.as_ref();
        let is_fixed = |path: &String| {
            let asked = unshown.and_then(|unshown| unshown.get(path));
            field_of(path) != path || asked.is_some_and(|asked| asked.change.is_none())
        };
        if class != Class::Succeeded
            && let Some(sent) = &mut self.status.status.sent
        {
            sent.retain(|path, _| path == COMPLETE.0 || is_fixed(path) || !operation.sent.contains_key(path));
        }
    }
}

/// The field that a path begins with.
fn field_of(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

fn complete() -> (String, String) {
    (COMPLETE.0.to_owned(), COMPLETE.1.to_owned())
}

/// The entry that the status keeps of a part that is sent.
fn entry(part: &Unshown) -> String {
    let reference = part.reference.as_ref().map(|reference| format!("{REFERENCE}{}", hash(reference)));
    hash(&part.value) + &reference.unwrap_or_default()
}

/// True if a part is not as it was sent. While a Secret is missing, that is known only if another Secret is meant.
fn is_changed(part: &Unshown, sent: Option<&String>) -> bool {
    let (value, reference) = match sent.map(|sent| sent.split_once(REFERENCE).unwrap_or((sent, ""))) {
        Some((value, reference)) => (Some(value), Some(reference).filter(|it| !it.is_empty())),
        None => (None, None),
    };
    if part.is_missing {
        return reference.is_some() && reference != part.reference.as_ref().map(hash).as_deref();
    }
    value != Some(hash(&part.value).as_str())
}

fn hash(value: &Value) -> String {
    body_hash(value).chars().take(HASH_LENGTH).collect()
}
