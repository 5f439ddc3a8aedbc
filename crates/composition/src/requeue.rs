//! When to reconcile an XR again: what counts as a change, how loops caused by our own writes slow down, how long to wait.

use std::time::Duration;

use backoff::{Backoff, Jitter};
use manifest::{GoDuration, server_metadata};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::condition::is_system;
use crate::intent::hash;
use crate::object;
use crate::protocol::Object;

/// Changes of children within this time cause one reconcile.
pub const DEBOUNCE: Duration = Duration::from_millis(20);
/// The shortest poll interval a user can set.
pub const MIN_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The annotation that sets the longest time between reconciles, as a Go duration.
pub const ANNOTATION_POLL_INTERVAL: &str = "crossplane.io/poll-interval";

const FIRST_ECHO: Duration = Duration::from_secs(1);

/// A hash of everything a reconcile depends on: with the same fingerprint it does the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of an XR with its composed and required objects, each in a stable order.
    pub fn of(xr: &Object, others: impl IntoIterator<Item = ContentHash>) -> Self {
        let mut sha = Sha256::new();
        sha.update(hash(&content_of_composite(xr)));
        for ContentHash(other) in others {
            sha.update(other);
        }
        Self(sha.finalize().into())
    }
}

/// The part of one object in a fingerprint: a hash without what changes at every write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    pub fn of(object: &Object) -> Self {
        Self(hash(&content(object)))
    }
}

/// An object without what changes at every write.
fn content(object: &Object) -> Object {
    let mut content = object.clone();
    server_metadata::remove(content.get_mut("metadata"), server_metadata::CHANGED_BY_WRITES);
    content
}

/// An XR without that and without the engine's own fields in its status.
fn content_of_composite(xr: &Object) -> Object {
    let mut content = content(xr);
    if let Some(status) = content.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("claimConditionTypes");
        status.remove("crossplane");
        if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
            conditions
                .retain(|condition| !condition.get("type").and_then(Value::as_str).is_some_and(is_system));
            // Writing a condition moves its generation, which is not news.
            for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
                condition.remove("observedGeneration");
            }
        }
        if status.get("conditions").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            status.remove("conditions");
        }
        if status.is_empty() {
            content.remove("status");
        }
    }
    content
}

/// Whether a reconcile is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing has changed.
    No,
    Now,
    /// Later: only our own writes have changed something, again.
    After(Duration),
}

/// What the next reconcile of an XR depends on from the last ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    seen: Option<Fingerprint>,
    written: Option<Fingerprint>,
    echoes: u32,
}

impl History {
    /// Whether a reconcile is due now that the fingerprint is `current`. `ttl` bounds how long it may be delayed.
    ///
    /// A reconcile caused only by our own last writes runs at once the first time, since a function may react to the
    /// result of its output. If that causes another one, the function contradicts itself, and each further one waits longer.
    pub fn due(&self, current: Fingerprint, ttl: Option<Duration>, jitter: Jitter) -> Due {
        if self.seen == Some(current) {
            return Due::No;
        }
        if self.written != Some(current) || self.echoes == 0 {
            return Due::Now;
        }
        let max = ttl.unwrap_or(Duration::MAX).max(FIRST_ECHO);
        Due::After(Backoff::new(FIRST_ECHO, max).after(self.echoes, jitter))
    }

    /// Records a reconcile: the fingerprint it started from, and the one after its writes.
    pub fn record(&mut self, seen: Fingerprint, written: Fingerprint) {
        let echo = self.written == Some(seen) && self.seen != Some(seen);
        self.echoes = if echo { self.echoes.saturating_add(1) } else { 0 };
        self.seen = Some(seen);
        self.written = Some(written);
    }
}

/// How long to wait for the next reconcile when nothing changes: the XR's annotation, else the pipeline's TTL, else forever.
///
/// `jitter` makes it up to a tenth shorter, so that a thousand XRs created at once do not stay in step.
pub fn interval(xr: &Object, ttl: Option<Duration>, jitter: Jitter) -> Option<Duration> {
    let asked = object::annotation(xr, ANNOTATION_POLL_INTERVAL)
        .and_then(|text| text.parse::<GoDuration>().ok()?.to_std())
        .filter(|asked| !asked.is_zero());
    let interval =
        asked.map(|asked| asked.max(MIN_POLL_INTERVAL)).or(ttl).filter(|interval| !interval.is_zero())?;
    Some(jitter.sooner(interval))
}

#[cfg(test)]
mod tests;
