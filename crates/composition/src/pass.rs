//! When an XR is looked at again: what counts as a change, how an echo of our own writes is damped, and how long to wait.

use std::time::Duration;

use manifest::{GoDuration, server_metadata};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::condition::is_system;
use crate::intent::hash;
use crate::object;
use crate::run::Object;

/// Changes of children that arrive within this time are one reason for one pass.
pub const DEBOUNCE: Duration = Duration::from_millis(20);
/// The shortest time between passes a person can ask for.
pub const MIN_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The annotation that sets the longest time between passes, as a Go duration.
pub const ANNOTATION_POLL_INTERVAL: &str = "crossplane.io/poll-interval";

const FIRST_ECHO: Duration = Duration::from_secs(1);

/// Everything a pass would see, as a hash: two passes with the same fingerprint do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of an XR with the objects it is composed of and those its functions require, each in an order that
    /// does not depend on chance.
    pub fn of<'a>(xr: &Object, others: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut sha = Sha256::new();
        sha.update(hash(&content_of_composite(xr)));
        for other in others {
            sha.update(hash(&content(other)));
        }
        Self(sha.finalize().into())
    }
}

/// An object without what changes at every write.
fn content(object: &Object) -> Object {
    let mut content = object.clone();
    server_metadata::remove(content.get_mut("metadata"), server_metadata::CHANGED_BY_WRITES);
    content
}

/// An XR without that and without what the engine itself says in its status.
fn content_of_composite(xr: &Object) -> Object {
    let mut content = content(xr);
    if let Some(status) = content.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("claimConditionTypes");
        status.remove("crossplane");
        if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
            conditions
                .retain(|condition| !condition.get("type").and_then(Value::as_str).is_some_and(is_system));
            // When we touch a condition its generation moves along, which tells nobody anything new.
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

/// Whether another pass is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// Nothing has changed.
    No,
    /// Now.
    Now,
    /// In a while: only our own writes have changed something, again.
    After(Duration),
}

/// The passes over one XR so far, as far as the next one depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    seen: Option<Fingerprint>,
    written: Option<Fingerprint>,
    echoes: u32,
}

impl Passes {
    /// Whether a pass is owed now that things look like `current`. `ttl` bounds how long an echo may be put off.
    ///
    /// A pass that only our own last writes have caused happens once at once, since a function may answer to what it has
    /// brought about. If that causes yet another, a function contradicts itself, and each further one waits longer.
    pub fn owed(&self, current: Fingerprint, ttl: Option<Duration>) -> Owed {
        if self.seen == Some(current) {
            return Owed::No;
        }
        if self.written != Some(current) || self.echoes == 0 {
            return Owed::Now;
        }
        let wait = FIRST_ECHO.saturating_mul(2_u32.saturating_pow(self.echoes - 1));
        Owed::After(wait.min(ttl.unwrap_or(Duration::MAX)).max(FIRST_ECHO))
    }

    /// Records a pass: what it saw, and how things looked when its writes were through.
    pub fn ran(&mut self, seen: Fingerprint, written: Fingerprint) {
        let echo = self.written == Some(seen) && self.seen != Some(seen);
        self.echoes = if echo { self.echoes.saturating_add(1) } else { 0 };
        self.seen = Some(seen);
        self.written = Some(written);
    }
}

/// How long to wait for the next pass when nothing changes: the XR's annotation, else the pipeline's TTL, else for ever.
///
/// `random` in 0..1 spreads it by a tenth either way, so that a thousand XRs made at once do not stay in step.
pub fn interval(xr: &Object, ttl: Option<Duration>, random: f64) -> Option<Duration> {
    let asked = object::annotation(xr, ANNOTATION_POLL_INTERVAL)
        .and_then(|text| text.parse::<GoDuration>().ok()?.to_std())
        .filter(|asked| !asked.is_zero());
    let interval =
        asked.map(|asked| asked.max(MIN_POLL_INTERVAL)).or(ttl).filter(|interval| !interval.is_zero())?;
    Some(interval.mul_f64(0.9 + 0.2 * random.clamp(0.0, 1.0)))
}

/// Reads a positive duration as Go writes it, such as `1h30m` or `1.5s`. Anything else is none.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let (unit, seconds) = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("μs", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ]
        .into_iter()
        .find(|(unit, _)| tail.starts_with(unit) && !tail[unit.len()..].starts_with(char::is_alphabetic))?;
        total += number.parse::<f64>().ok()? * seconds;
        rest = &tail[unit.len()..];
    }
    // Go keeps durations in 63 bits of nanoseconds.
    let fits = total > 0.0 && total < 9_223_372_036.0;
    fits.then(|| Duration::from_secs_f64(total)).filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests;
