//! Fields that the provider does not show as they were sent, such as passwords: whether they differ is known from what was
//! sent, of which the status keeps hashes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Decision;
use crate::operation::{Class, Operation, Phase};
use crate::service::Drift;
use crate::token::body_hash;

/// Enough to notice a change.
const HASH_LENGTH: usize = 16;

impl Decision<'_> {
    /// The hashes of the fields that a body contains.
    pub(super) fn sent_in(&self, body: &Value) -> BTreeMap<String, String> {
        let fields = self.desired.unshown.iter().flatten();
        fields
            .filter(|(name, _)| body.get(name.as_str()).is_some())
            .map(|(name, field)| (name.clone(), hash(&field.value)))
            .collect()
    }

    /// How a resource differs, with the fields that it does not show.
    pub(super) fn whole_drift(&mut self, shown: &Drift) -> Drift {
        let Some(unshown) = &self.desired.unshown else { return shown.clone() };
        let Some(sent) = &self.status.status.sent else {
            // What an adopted resource was given is not known, so it counts as what is asked for.
            let all = unshown.iter().map(|(name, field)| (name.clone(), hash(&field.value)));
            self.status.status.sent = Some(all.collect());
            return shown.clone();
        };
        let changed = || unshown.iter().filter(|(name, field)| sent.get(*name) != Some(&hash(&field.value)));
        let fixed: Vec<String> =
            changed().filter(|(_, field)| !field.can_change).map(|(name, _)| name.clone()).collect();
        let more: Map<String, Value> = changed()
            .filter(|(_, field)| field.can_change)
            .map(|(name, field)| (name.clone(), field.value.clone()))
            .collect();
        match shown {
            Drift::Immutable(fields) => Drift::Immutable([fields.clone(), fixed].concat()),
            _ if !fixed.is_empty() => Drift::Immutable(fixed),
            Drift::Update(Value::Object(body)) => {
                Drift::Update(body.clone().into_iter().chain(more).collect())
            }
            Drift::None if !more.is_empty() => Drift::Update(more.into()),
            _ => shown.clone(),
        }
    }

    /// The provider took what the operation in flight sends.
    pub(super) fn remember_sent(&mut self) {
        let operation = self.status.status.tracker.current.as_ref();
        let sent = operation.filter(|it| it.record.phase != Phase::Delete).map(|it| it.sent.clone());
        if let (Some(sent), Some(_)) = (sent, &self.desired.unshown) {
            self.status.status.sent.get_or_insert_default().extend(sent);
        }
    }

    /// What an operation sent is in effect if it succeeded, and else has to be sent again.
    pub(super) fn settle_sent(&mut self, operation: &Operation, class: Class) {
        if class != Class::Succeeded
            && let Some(sent) = &mut self.status.status.sent
        {
            sent.retain(|name, _| !operation.sent.contains_key(name));
        }
    }
}

fn hash(value: &Value) -> String {
    body_hash(value).chars().take(HASH_LENGTH).collect()
}
