//! Conditions: one entry per type, replaced in place, with a transition time that moves only with the status.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// The conditions at `.status.conditions`, where `kubectl wait` looks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ConditionType {
    /// The resource is usable and matches the spec.
    Ready,
    /// An operation is in flight or a call is retried soon.
    Progressing,
    /// The object makes no progress by itself.
    Stalled,
    /// False while another engine serves the object, and absent otherwise. No controller runs then.
    ServedByPlimsoll,
}

/// An entry of `.status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// The generation that the condition is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the status, and nothing else, last changed.
    pub last_transition_time: Timestamp,
    /// The reason for the status, as one word.
    pub reason: String,
    /// A sentence that explains the status.
    #[serde(default)]
    pub message: String,
}

/// Replaces the entry of the same type; the transition time is kept unless the status changed.
pub(crate) fn set(conditions: &mut Vec<Condition>, new: Condition) {
    match conditions.iter_mut().find(|old| old.kind == new.kind) {
        Some(old) => {
            let unchanged = old.status == new.status;
            let since = if unchanged { old.last_transition_time } else { new.last_transition_time };
            *old = Condition { last_transition_time: since, ..new };
        }
        None => conditions.push(new),
    }
}

/// OSOK's condition types, at `.status.status.conditions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SharedConditionType {
    Provisioning,
    Active,
    // Published with status `False`, as OSOK does.
    Failed,
    Terminating,
    Updating,
}

impl SharedConditionType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "Provisioning",
            Self::Active => "Active",
            Self::Failed => "Failed",
            Self::Terminating => "Terminating",
            Self::Updating => "Updating",
        }
    }

    /// The only status this type is published with.
    pub const fn status(self) -> ConditionStatus {
        match self {
            Self::Failed => ConditionStatus::False,
            Self::Provisioning | Self::Active | Self::Terminating | Self::Updating => ConditionStatus::True,
        }
    }
}

/// An entry of `.status.status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SharedCondition {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub kind: SharedConditionType,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// When it last became the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// The state in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Always empty; clients of OSOK expect the field to be allowed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Makes `kind` the current condition: the last entry, which the printed `Status` column shows. One entry per type is
/// kept, even where OSOK left several.
pub(crate) fn make_current(
    conditions: &mut Vec<SharedCondition>,
    kind: SharedConditionType,
    message: &str,
    now: Timestamp,
) {
    let since = conditions
        .last()
        .filter(|last| last.kind == kind && last.status == kind.status())
        .map_or(Some(now), |last| last.last_transition_time);
    conditions.push(SharedCondition {
        kind,
        status: kind.status(),
        last_transition_time: since,
        message: message.to_owned(),
        reason: String::new(),
    });
    let mut newer = HashSet::new();
    conditions.reverse();
    conditions.retain(|condition| newer.insert(condition.kind));
    conditions.reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ready(status: ConditionStatus, second: i64) -> Condition {
        Condition {
            kind: ConditionType::Ready,
            status,
            observed_generation: Some(second),
            last_transition_time: at(second),
            reason: format!("At{second}"),
            message: String::new(),
        }
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let mut conditions = Vec::new();
        set(&mut conditions, ready(ConditionStatus::False, 1));
        set(&mut conditions, ready(ConditionStatus::False, 2));
        assert_eq!(conditions[0].last_transition_time, at(1));
        assert_eq!((conditions[0].reason.as_str(), conditions[0].observed_generation), ("At2", Some(2)));
        set(&mut conditions, ready(ConditionStatus::True, 3));
        assert_eq!(conditions[0].last_transition_time, at(3));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn the_current_shared_condition_is_last_and_the_only_one_of_its_type() {
        use SharedConditionType::{Active, Provisioning, Updating};
        let mut conditions = Vec::new();
        for (second, kind, message) in [
            (1, Provisioning, "0 %"),
            (2, Provisioning, "50 %"),
            (3, Active, "ok"),
            (4, Updating, "again"),
            (5, Active, "ok"),
        ] {
            make_current(&mut conditions, kind, message, at(second));
        }
        let seen: Vec<_> = conditions
            .iter()
            .map(|c| (c.kind, c.message.as_str(), c.last_transition_time.unwrap().as_second()))
            .collect();
        assert_eq!(seen, [(Provisioning, "50 %", 1), (Updating, "again", 4), (Active, "ok", 5)]);
    }

    #[test]
    fn duplicate_entries_left_by_osok_are_removed() {
        use SharedConditionType::{Active, Provisioning};
        let old = |kind: SharedConditionType, message: &str| SharedCondition {
            kind,
            status: kind.status(),
            last_transition_time: None,
            message: message.to_owned(),
            reason: String::new(),
        };
        let mut conditions =
            vec![old(Provisioning, "1"), old(Provisioning, "2"), old(Active, "a"), old(Provisioning, "3")];
        make_current(&mut conditions, Active, "now", at(9));
        let seen: Vec<_> = conditions.iter().map(|c| (c.kind, c.message.as_str())).collect();
        assert_eq!(seen, [(Provisioning, "3"), (Active, "now")]);
    }
}
