//! What XRs hear of: changes of what they are composed of and of what their functions require.

use std::sync::Arc;

use composition::breaker::{self, Breaker, Limits};
use composition::object;
use composition::pass::DEBOUNCE;
use jiff::Timestamp;
use manifest::{ObjectRef, server_metadata};
use serde_json::Value;
use tokio::time::Instant;

use super::{Composer, lock};
use crate::composition::children::Dependency;
use crate::store::{Change, Key};

impl Composer {
    /// Something an XR depends on has changed.
    pub(super) fn heard(&self, dependency: Dependency, change: &Change) {
        if self.is_our_own(change) {
            return;
        }
        let concerned = match dependency {
            Dependency::Required(xrs) => xrs,
            Dependency::Composed => self.controllers(change),
        };
        let kind = match (&change.before, &change.after) {
            (_, None) => breaker::Change::Deleted,
            (None, Some(_)) => breaker::Change::Created,
            (Some(_), Some(_)) => breaker::Change::Updated,
        };
        let now = Timestamp::now();
        let source = source(change);
        let is_urgent = is_beside_status(change);
        for xr in concerned {
            let mut breakers = lock(&self.breakers);
            let breaker = breakers.entry(xr.clone()).or_insert_with(|| Breaker::new(Limits::default(), now));
            // What is there when a kind is watched for the first time costs nothing.
            let passes = kind == breaker::Change::Created || breaker.passes(&source, kind, now);
            drop(breakers);
            if passes && is_urgent && self.is_first(&xr) {
                self.work.now(xr);
            } else if passes {
                self.work.after(xr, DEBOUNCE);
            }
        }
    }

    /// Whether an urgent change of something `xr` depends on is the first for a while. What comes with it in a burst is one
    /// more reason for one more pass.
    fn is_first(&self, xr: &Key) -> bool {
        let now = Instant::now();
        let mut urgent = lock(&self.urgent);
        urgent.retain(|_, last| now.duration_since(*last) < DEBOUNCE);
        urgent.insert(xr.clone(), now).is_none()
    }

    /// The XRs that control what has changed, or did.
    fn controllers(&self, change: &Change) -> Vec<Key> {
        let of = |object: &Option<Arc<Value>>| {
            let controller = object::controller(object.as_ref()?.as_object()?)?;
            let xr = self.xrs.store.by_uid(&controller.uid)?;
            Some(Key::of_object(xr.as_object()?))
        };
        let (before, after) = (of(&change.before), of(&change.after));
        let mut concerned: Vec<Key> = before.into_iter().chain(after).collect();
        concerned.dedup();
        concerned
    }

    fn is_our_own(&self, change: &Change) -> bool {
        let Some(after) = change.after.as_ref().and_then(|after| after.as_object()) else {
            if let Some(uid) = change.before.as_ref().and_then(|before| object::uid(before.as_object()?)) {
                lock(&self.left).remove(uid);
            }
            return false;
        };
        let (Some(uid), Some(version)) = (object::uid(after), object::resource_version(after)) else {
            return false;
        };
        lock(&self.left).get(uid).is_some_and(|left| left == version)
    }
}

/// Whether somebody changed more than the status. Status comes in bursts, from controllers at work; what is changed beside
/// it is probably to be changed back, and the sooner the better.
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

/// What changed, as the `Responsive` condition names it.
fn source(change: &Change) -> String {
    let object = change.after.as_ref().or(change.before.as_ref()).and_then(|object| object.as_object());
    object.and_then(|object| ObjectRef::of(object).ok()).map(|it| it.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: Option<Value>, after: Option<Value>, urgent: bool) {
        let key = Key { namespace: None, name: "a".to_owned() };
        let change = Change { key, before: before.map(Arc::new), after: after.map(Arc::new) };
        assert_eq!(is_beside_status(&change), urgent, "{change:?}");
    }

    #[test]
    fn what_is_changed_beside_the_status_is_urgent() {
        let object = |version: &str, data: &str, status: &str| {
            Some(json!({
                "metadata": {"name": "a", "resourceVersion": version, "generation": version},
                "data": {"color": data}, "status": {"phase": status},
            }))
        };
        check(object("1", "blue", "new"), object("2", "blue", "old"), false);
        check(object("1", "blue", "new"), object("2", "red", "new"), true);
        check(None, object("1", "blue", "new"), false);
        check(object("1", "blue", "new"), None, true);
        let mut labelled = object("2", "blue", "new").unwrap();
        labelled["metadata"]["labels"] = json!({"a": "b"});
        check(object("1", "blue", "new"), Some(labelled), true);
    }
}
