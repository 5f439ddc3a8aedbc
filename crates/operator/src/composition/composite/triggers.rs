//! Which changes of composed and required resources enqueue an XR, and when.

use std::sync::Arc;
use std::time::Duration;

use composition::breaker::{self, Breaker, Limits};
use composition::object;
use composition::requeue::DEBOUNCE;
use manifest::{ObjectRef, server_metadata};
use serde_json::Value;
use tokio::time::Instant;

use super::Composer;
use super::memory::XrSignals;
use crate::composition::watches::Dependency;
use crate::runtime::store::{Change, Key};

impl Composer {
    pub(super) fn dependency_changed(&self, dependency: Dependency, change: &Change) {
        let concerned = match dependency {
            Dependency::Required(xrs) => xrs,
            Dependency::Composed => self.controllers(change),
        };
        let kind = match (&change.before, &change.after) {
            (_, None) => breaker::Change::Deleted,
            (None, Some(_)) => breaker::Change::Created,
            (Some(_), Some(_)) => breaker::Change::Updated,
        };
        let now = self.engine.running_for();
        let source = source(change);
        let is_urgent = is_beside_status(change);
        for xr in concerned {
            let wait = self.queue.signals(&xr, |signals| {
                if signals.is_own_write(change) {
                    return None;
                }
                let breaker = signals.breaker.get_or_insert_with(|| Breaker::new(Limits::default(), now));
                // What exists when a kind is watched for the first time does not count.
                let admitted = kind == breaker::Change::Created || breaker.admits(&source, kind, now);
                admitted.then(|| if is_urgent { signals.urgent_wait() } else { DEBOUNCE })
            });
            if let Some(wait) = wait {
                self.queue.enqueue_after(xr, wait);
            }
        }
    }

    /// The XRs that control what has changed, or did.
    fn controllers(&self, change: &Change) -> Vec<Key> {
        let xr = |object| {
            let xr = self.xrs.store.by_uid(&object::controller(object)?.uid)?;
            Some(Key::of_object(xr.as_object()?))
        };
        let mut concerned: Vec<Key> = change.sides().filter_map(xr).collect();
        concerned.dedup();
        concerned
    }
}

impl XrSignals {
    /// Whether the change is the watch event for our own write.
    fn is_own_write(&mut self, change: &Change) -> bool {
        let uid = change.sides().next().and_then(object::uid).unwrap_or_default();
        let Some(after) = change.after.as_ref().and_then(|after| after.as_object()) else {
            self.written.remove(uid);
            return false;
        };
        self.written.get(uid).is_some_and(|written| Some(written.as_str()) == object::resource_version(after))
    }

    /// The first urgent change for a while is handled at once. Others of the same burst share one more reconcile.
    fn urgent_wait(&mut self) -> Duration {
        let now = Instant::now();
        let last = self.last_urgent.replace(now);
        let is_first = last.is_none_or(|last| now.duration_since(last) >= DEBOUNCE);
        if is_first { Duration::ZERO } else { DEBOUNCE }
    }
}

/// Whether more than the status changed. Controllers update status in bursts; a change beside it is probably drift, to be
/// reverted soon.
fn is_beside_status(change: &Change) -> bool {
    let object = |side: &'_ Option<Arc<Value>>| side.as_ref().and_then(|side| side.as_object().cloned());
    let (Some(mut before), Some(mut after)) = (object(&change.before), object(&change.after)) else {
        return change.after.is_none();
    };
    for side in [&mut before, &mut after] {
        side.remove("status");
        server_metadata::remove(side.get_mut("metadata"), server_metadata::CHANGED_BY_WRITES);
    }
    before != after
}

/// The object that changed, as the condition Responsive names it.
fn source(change: &Change) -> String {
    let object = change.after.as_ref().or(change.before.as_ref()).and_then(|object| object.as_object());
    object.and_then(|object| ObjectRef::of(object).ok()).map(|it| it.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
