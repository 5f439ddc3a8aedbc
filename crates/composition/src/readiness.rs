//! `Ready` and `Synced` of an XR, derived from its children.

use jiff::Timestamp;

use crate::condition::{Condition, READY, SYNCED};
use crate::event::{COMPOSE_RESOURCES, Event};
use crate::protocol::{ConditionStatus, Ready};

/// How one desired resource fared in a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    pub key: String,
    /// Whether a function marked it ready.
    pub ready: bool,
    pub state: ChildState,
    /// The problem it reports, see [`problem`](crate::health::problem).
    pub problem: Option<String>,
}

/// Whether the API server has a child as it is desired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildState {
    Applied,
    /// The API server refused it as invalid, for this reason.
    Refused(String),
    /// It does not exist, because it could not be applied.
    Missing(String),
}

impl Child {
    /// Whether the cluster does not have it as desired.
    pub fn is_unsynced(&self) -> bool {
        self.state != ChildState::Applied
    }
}

/// `Synced` after a complete reconcile.
pub fn synced(children: &[Child], now: Timestamp) -> Condition {
    let unsynced = keys(children, Child::is_unsynced);
    if unsynced.is_empty() {
        return reconcile_success(now);
    }
    reconcile_error(format!("Unsynced resources: {}", some_of(&unsynced)), now)
}

/// `Synced` after success.
pub fn reconcile_success(now: Timestamp) -> Condition {
    Condition::new(SYNCED, ConditionStatus::True, "ReconcileSuccess", now)
}

/// `Synced` after an error.
pub fn reconcile_error(message: impl Into<String>, now: Timestamp) -> Condition {
    Condition::new(SYNCED, ConditionStatus::False, "ReconcileError", now).message(message)
}

pub const PAUSED: &str = "Reconciliation (including deletion) is paused via the pause annotation";

/// `Synced` while the object is paused.
pub fn reconcile_paused(now: Timestamp) -> Condition {
    Condition::new(SYNCED, ConditionStatus::False, "ReconcilePaused", now).message(PAUSED)
}

/// `Ready` after a complete reconcile.
///
/// A child that does not exist makes the XR unready even if a function marks the composite ready; Crossplane calls such
/// an XR ready.
pub fn ready(composite: Ready, children: &[Child], now: Timestamp) -> Condition {
    let absent = keys(children, Child::is_unsynced);
    match composite {
        Ready::True if absent.is_empty() => available(now),
        // The functions decided, so only children that failed after they ran are named.
        Ready::True | Ready::False => creating(&absent, now),
        Ready::Unspecified => {
            let unready = keys(children, |child| !child.ready || child.is_unsynced());
            if unready.is_empty() { available(now) } else { creating(&unready, now) }
        }
    }
}

/// `Ready` after a failed reconcile: as it was, unless a referenced child no longer exists.
pub fn ready_after_failure(before: Option<&Condition>, missing: &[String], now: Timestamp) -> Condition {
    match before {
        Some(before) if missing.is_empty() => before.clone(),
        _ => creating(missing, now),
    }
}

/// `Ready` while the object is being deleted.
pub fn deleting(now: Timestamp) -> Condition {
    Condition::new(READY, ConditionStatus::False, "Deleting", now)
}

/// Events that name the children that are not yet valid or ready, with the API server's reason.
///
/// `id` is the error id the user of the claim quotes.
pub fn events(children: &[Child], id: &str) -> Vec<Event> {
    let mut events = Vec::new();
    for child in children {
        let key = &child.key;
        if let ChildState::Refused(why) | ChildState::Missing(why) = &child.state {
            let text = format!("cannot apply composed resource {key:?}: {why} (error id {id})");
            events.push(Event::warning(COMPOSE_RESOURCES, text));
            let text = format!("Composed resource {key:?} is not yet valid");
            events.push(Event::normal(COMPOSE_RESOURCES, text));
        }
        if !child.ready {
            let text = format!("Composed resource {key:?} is not yet ready");
            events.push(Event::normal(COMPOSE_RESOURCES, text));
        }
    }
    events
}

/// The first three names in order, and how many more there are: `a, b`, `a, b, and c`, `a, b, c, and 2 more`.
pub fn some_of(names: &[String]) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    match names.as_slice() {
        [a, b, c] => format!("{a}, {b}, and {c}"),
        [a, b, c, rest @ ..] => format!("{a}, {b}, {c}, and {} more", rest.len()),
        few => few.join(", "),
    }
}

fn available(now: Timestamp) -> Condition {
    Condition::new(READY, ConditionStatus::True, "Available", now)
}

fn creating(unready: &[String], now: Timestamp) -> Condition {
    let creating = Condition::new(READY, ConditionStatus::False, "Creating", now);
    if unready.is_empty() {
        return creating;
    }
    creating.message(format!("{UNREADY}{}", some_of(unready)))
}

/// What the message of an unready XR begins with; the claim shows the same list to its user.
pub(crate) const UNREADY: &str = "Unready resources: ";

fn keys(children: &[Child], which: impl Fn(&Child) -> bool) -> Vec<String> {
    children.iter().filter(|child| which(child)).map(|child| child.key.clone()).collect()
}

#[cfg(test)]
mod tests;
