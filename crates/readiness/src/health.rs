//! How an object stands, derived from its own status: the one answer behind `wait_for.rollout`, `apply --wait`, `tree`, `why`
//! and function-auto-ready.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::object::{Condition, Object};
use crate::rule::Rule;
use crate::{pod, terminal};

/// How an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Its status says nothing. For kinds without a controller that is all there will ever be.
    NoStatus,
    Ready,
    Waiting(String),
    /// Not ready, and unlikely to become ready without help.
    Failed(String),
    Terminating(String),
    /// Another object refers to it, and it does not exist.
    Missing,
}

impl Health {
    /// How `object` stands. `publishes_conditions` says that its CRD declares `status.conditions`: then an empty status means
    /// that no controller has seen the object yet.
    pub fn of<'o>(object: impl Into<Object<'o>>, publishes_conditions: bool) -> Self {
        let object = object.into();
        if let Some(why) = terminal::deletion(object) {
            return Self::Terminating(why);
        }
        let (group, kind) = object.group_kind();
        let rule = Rule::of(group, kind);
        let judged = match rule {
            Some(rule) => rule.check(object),
            None => conditions(object),
        };
        match judged {
            Ok(Self::NoStatus) if publishes_conditions && rule.is_none() && has_empty_status(object) => {
                Self::Waiting("its controller has not reported a condition yet".to_owned())
            }
            Ok(health) => health,
            Err(why) => match terminal::end(object).or_else(|| pod::failure(object)) {
                Some(why) => Self::Failed(why),
                None => Self::Waiting(match worst(object) {
                    Some(worst) if rule.is_some() && worst.to_string() != why => format!("{why}; {worst}"),
                    _ => why,
                }),
            },
        }
    }

    /// Why it is not ready.
    pub fn trouble(&self) -> Option<&str> {
        match self {
            Self::NoStatus | Self::Ready => None,
            Self::Waiting(why) | Self::Failed(why) | Self::Terminating(why) => Some(why),
            Self::Missing => Some("it does not exist"),
        }
    }
}

/// Kinds without a rule of their own: their conditions decide, or a phase that speaks of trouble.
fn conditions(object: Object<'_>) -> Result<Health, String> {
    if let Some(stale) = object.stale_status() {
        return Err(stale);
    }
    if let Some(worst) = worst(object) {
        return Err(worst.to_string());
    }
    let Some(ready) = object.condition("Ready").or_else(|| object.condition("Available")) else {
        return match object.text("/status/phase") {
            phase @ ("Pending" | "Failed" | "Lost") => Err(format!("it is {phase}")),
            "" if object.conditions().next().is_none() => Ok(Health::NoStatus),
            _ => Ok(Health::Ready),
        };
    };
    object.stale_condition(&ready).map_or(Ok(Health::Ready), Err)
}

/// The condition that explains best why the object is not ready. Conditions that describe progress are no trouble.
fn worst(object: Object<'_>) -> Option<Condition<'_>> {
    let troubles =
        object.conditions().filter(|condition| is_met(condition.kind, condition.status) == Some(false));
    // A failure says more than something that is still missing, and a message says more than none.
    troubles.max_by_key(|condition| (is_failure(condition.kind), !condition.message.is_empty()))
}

/// Whether a condition of this type and status is as it should be; nothing if it merely describes.
pub fn is_met(kind: &str, status: &str) -> Option<bool> {
    const FALSE_IS_TROUBLE: [&str; 7] =
        ["Synced", "Healthy", "Established", "Installed", "Accepted", "AbleToScale", "ScalingActive"];
    let has = |wanted: &str| status.eq_ignore_ascii_case(wanted);
    match kind {
        kind if is_in(&["Ready", "Available"], kind) => Some(has("True")),
        kind if is_failure(kind) => Some(!has("True")),
        kind if is_in(&FALSE_IS_TROUBLE, kind) || kind.to_ascii_lowercase().ends_with("ready") => {
            if has("True") || has("False") { Some(has("True")) } else { None }
        }
        _ => None,
    }
}

/// Whether a condition of this type is trouble if it is true.
fn is_failure(kind: &str) -> bool {
    is_in(&["Stalled", "ReplicaFailure", "Failed"], kind)
}

fn is_in(kinds: &[&str], kind: &str) -> bool {
    kinds.iter().any(|one| one.eq_ignore_ascii_case(kind))
}

fn has_empty_status(object: Object<'_>) -> bool {
    object.get("/status").and_then(Value::as_object).is_none_or(Map::is_empty)
}
