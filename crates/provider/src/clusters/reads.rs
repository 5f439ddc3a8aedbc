//! Turns many reads of one kind into a list.
//!
//! Terraform refreshes a thousand objects one by one, and each read costs the API server as much as twenty items of a
//! list. So after a few reads of a kind in a namespace, all of its objects are listed, and the next reads are answered
//! from the list. A listed object is at most a few seconds old, is used once, and is never older than a write of ours. A
//! list never shows that an object is absent: that takes a read of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{BoundedList, Error, RawList, Reply, Session};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use tokio::time::Instant;

use super::lock;

/// How long a list may answer reads.
const MAX_AGE: Duration = Duration::from_secs(5);
/// How many objects of a kind are read one by one before the kind is listed. Terraform reads ten at a time.
const READS_BEFORE_LIST: usize = 12;
/// How many items of a list cost as much as a read of one object.
const ITEMS_PER_READ: usize = 20;

#[derive(Default)]
pub(super) struct Reads {
    collections: Mutex<HashMap<Collection, Arc<ListCache>>>,
}

/// The objects of a kind in a namespace.
type Collection = (GroupVersionKind, Option<Namespace>);

struct ListCache {
    /// Locked while a list is in flight, so that no read overtakes it.
    policy: tokio::sync::Mutex<ListPolicy>,
    contents: Mutex<ListContents>,
}

/// The last list, minus what is stale.
#[derive(Default)]
struct ListContents {
    listed: Option<Listed>,
    /// What was written since the last list, and when: a list in flight may still have the old state.
    written: Vec<(Instant, String)>,
}

/// Objects of a list, and when it was requested.
struct Listed {
    asked: Instant,
    objects: RawList,
}

/// When to list.
struct ListPolicy {
    /// How many objects were read one by one since the last list.
    reads: usize,
    /// How many reads trigger a list, so that lists never cost more than the reads they may save; `None` if lists are
    /// no use.
    threshold: Option<usize>,
}

impl Reads {
    /// Reads an object, or takes it from a list.
    pub(super) async fn read(&self, session: &Session, target: &ObjectRef) -> Result<Option<Reply>, Error> {
        match self.cache(target) {
            Some(cache) => match cache.take(session, target).await {
                Some(found) => Ok(Some(found)),
                None => session.read(target).await,
            },
            None => session.read(target).await,
        }
    }

    /// Drops a listed object that was written, in all its API versions.
    pub(super) fn forget(&self, target: &ObjectRef) {
        for ((gvk, namespace), cache) in &*lock(&self.collections) {
            let is_kind = gvk.group() == target.group() && gvk.kind() == target.kind();
            if is_kind && *namespace == target.namespace {
                lock(&cache.contents).invalidate(&target.name);
            }
        }
    }

    /// The cache for objects like `target`. Secrets are read one by one: unrelated ones must not be read.
    fn cache(&self, target: &ObjectRef) -> Option<Arc<ListCache>> {
        if target.group().is_empty() && target.kind() == "Secret" {
            return None;
        }
        let mut collections = lock(&self.collections);
        Some(Arc::clone(collections.entry((target.gvk.clone(), target.namespace.clone())).or_default()))
    }
}

impl ListCache {
    async fn take(&self, session: &Session, target: &ObjectRef) -> Option<Reply> {
        if let Some(found) = self.listed(&target.name) {
            return Some(found);
        }
        let mut policy = self.policy.lock().await;
        // It may have been listed while we waited.
        if let Some(found) = self.listed(&target.name) {
            return Some(found);
        }
        let max = policy.count_read()?;
        let asked = Instant::now();
        match session.list_raw(&target.gvk, target.namespace.as_ref(), max).await {
            Ok(BoundedList::All(objects)) => {
                policy.record(Some(objects.len()));
                lock(&self.contents).store(asked, objects);
            }
            Ok(BoundedList::TooMany(total)) => policy.record(Some(total)),
            // No permission to list, or the objects are too large: a read reports the problem.
            Err(error) => {
                tracing::debug!(%error, "objects of a kind cannot be listed");
                policy.record(None);
            }
        }
        self.listed(&target.name)
    }

    fn listed(&self, name: &str) -> Option<Reply> {
        let slot = &mut lock(&self.contents).listed;
        let listed = slot.as_mut()?;
        if listed.asked.elapsed() > MAX_AGE {
            *slot = None;
            return None;
        }
        let object = listed.objects.take(name)?;
        let warnings = listed.objects.warnings().to_vec();
        if listed.objects.is_empty() {
            *slot = None;
        }
        Some(Reply { code: 200, object, warnings, retries: Vec::new() })
    }
}

impl ListContents {
    fn invalidate(&mut self, name: &str) {
        if let Some(listed) = &mut self.listed {
            listed.objects.remove(name);
        }
        self.written.push((Instant::now(), name.to_owned()));
    }

    /// Stores a list that was requested at `asked`.
    fn store(&mut self, asked: Instant, mut objects: RawList) {
        for (_, name) in self.written.drain(..).filter(|(when, _)| *when >= asked) {
            objects.remove(&name);
        }
        self.listed = Some(Listed { asked, objects });
    }
}

impl ListPolicy {
    /// Counts a read; if a list is due now, returns how many objects it may have.
    fn count_read(&mut self) -> Option<usize> {
        self.reads += 1;
        self.threshold.filter(|threshold| self.reads > *threshold).map(|_| self.reads * ITEMS_PER_READ)
    }

    /// Records that a list found `total` objects; `None` if they cannot be listed.
    fn record(&mut self, total: Option<usize>) {
        self.reads = 0;
        self.threshold = total.map(|total| READS_BEFORE_LIST.max(total / ITEMS_PER_READ));
    }
}

impl Default for ListCache {
    fn default() -> Self {
        let policy = ListPolicy { reads: 0, threshold: Some(READS_BEFORE_LIST) };
        Self { policy: tokio::sync::Mutex::new(policy), contents: Mutex::default() }
    }
}

#[cfg(test)]
mod tests;
