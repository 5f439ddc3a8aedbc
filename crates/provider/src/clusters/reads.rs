//! Many reads of one kind become a list.
//!
//! Terraform refreshes a thousand objects one by one, and each read costs the API server as much as twenty items of a
//! list. So after a few reads of a kind in a namespace, all of its objects are read at once, and whoever asks next is
//! given what came (decisions, Terraform, 2). What is given was read in this process a few seconds ago at most, once
//! only, and not before a write of ours. A list never says that an object is absent: that takes a read of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{Error, Gathered, Gathering, Reply, Session};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use tokio::time::Instant;

use super::lock;

/// How long what a list says is taken for what a read would say.
const FRESH: Duration = Duration::from_secs(5);
/// How many objects of a kind are read one by one before all of them are asked for. Terraform reads ten at a time.
const FEW: usize = 12;
/// How many items of a list cost as much as a read of one object.
const ITEMS_A_READ: usize = 20;

/// The reads of one cluster.
#[derive(Default)]
pub(super) struct Reads {
    collections: Mutex<HashMap<Collection, Arc<Shelf>>>,
}

/// The objects of a kind in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Collection {
    gvk: GroupVersionKind,
    namespace: Option<Namespace>,
}

/// What is known about a collection.
struct Shelf {
    /// Held while a list is under way, so that nobody asks for what is coming.
    asking: tokio::sync::Mutex<Asking>,
    known: Mutex<Known>,
}

/// What a list has said, as far as it still holds.
#[derive(Default)]
struct Known {
    listed: Option<Listed>,
    /// What was written since the last list came, and when: one that is under way may still say how it was before.
    written: Vec<(Instant, String)>,
}

/// Objects that a list gave, and when it was asked for.
struct Listed {
    asked: Instant,
    objects: Gathered,
}

/// When it is time for a list.
struct Asking {
    /// How many objects were read one by one since the last list.
    reads: usize,
    /// How many it takes, so that lists never cost more than the reads they may save; never if lists are of no use.
    enough: Option<usize>,
}

impl Reads {
    /// Reads an object, or takes what a list has said of it.
    pub(super) async fn read(&self, session: &Session, target: &ObjectRef) -> Result<Option<Reply>, Error> {
        match self.shelf(target) {
            Some(shelf) => match shelf.take(session, target).await {
                Some(found) => Ok(Some(found)),
                None => session.read(target).await,
            },
            None => session.read(target).await,
        }
    }

    /// Forgets what lists said of an object, because it was written. Its other versions are the same object.
    pub(super) fn forget(&self, target: &ObjectRef) {
        let collections = lock(&self.collections);
        for (_, shelf) in collections.iter().filter(|(collection, _)| collection.may_have(target)) {
            lock(&shelf.known).wrote(&target.name);
        }
    }

    /// Where objects like `target` are. Secrets are read one by one: those of others are nobody's business here.
    fn shelf(&self, target: &ObjectRef) -> Option<Arc<Shelf>> {
        if target.group().is_empty() && target.kind() == "Secret" {
            return None;
        }
        let mut collections = lock(&self.collections);
        Some(Arc::clone(collections.entry(Collection::of(target)).or_default()))
    }
}

impl Shelf {
    async fn take(&self, session: &Session, target: &ObjectRef) -> Option<Reply> {
        if let Some(found) = self.listed(&target.name) {
            return Some(found);
        }
        let mut asking = self.asking.lock().await;
        // It may have come while others were asking.
        if let Some(found) = self.listed(&target.name) {
            return Some(found);
        }
        let most = asking.count()?;
        let asked = Instant::now();
        match session.gather(&target.gvk, target.namespace.as_ref(), most).await {
            Ok(Gathering::All(objects)) => {
                asking.learn(Some(objects.len()));
                lock(&self.known).came(asked, objects);
            }
            Ok(Gathering::TooMany(total)) => asking.learn(Some(total)),
            // No right to list, or objects too large for it: a read tells what there is to tell.
            Err(error) => {
                tracing::debug!(%error, "objects of a kind cannot be read at once");
                asking.learn(None);
            }
        }
        self.listed(&target.name)
    }

    fn listed(&self, name: &str) -> Option<Reply> {
        let slot = &mut lock(&self.known).listed;
        let listed = slot.as_mut()?;
        if listed.asked.elapsed() > FRESH {
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

impl Known {
    fn wrote(&mut self, name: &str) {
        if let Some(listed) = &mut self.listed {
            listed.objects.remove(name);
        }
        self.written.push((Instant::now(), name.to_owned()));
    }

    /// A list has come that was asked for at `asked`.
    fn came(&mut self, asked: Instant, mut objects: Gathered) {
        for (_, name) in self.written.drain(..).filter(|(when, _)| *when >= asked) {
            objects.remove(&name);
        }
        self.listed = Some(Listed { asked, objects });
    }
}

impl Asking {
    /// Counts a read, and says how many objects a list may have that is due now.
    fn count(&mut self) -> Option<usize> {
        self.reads += 1;
        self.enough.filter(|enough| self.reads > *enough).map(|_| self.reads * ITEMS_A_READ)
    }

    /// A list was asked for, and there are `total` objects; none if they cannot be listed.
    fn learn(&mut self, total: Option<usize>) {
        self.reads = 0;
        self.enough = total.map(|total| FEW.max(total / ITEMS_A_READ));
    }
}

impl Default for Shelf {
    fn default() -> Self {
        let asking = Asking { reads: 0, enough: Some(FEW) };
        Self { asking: tokio::sync::Mutex::new(asking), known: Mutex::default() }
    }
}

impl Collection {
    fn of(target: &ObjectRef) -> Self {
        Self { gvk: target.gvk.clone(), namespace: target.namespace.clone() }
    }

    /// Whether `target` would be in it, in this version or another.
    fn may_have(&self, target: &ObjectRef) -> bool {
        self.gvk.group() == target.group()
            && self.gvk.kind() == target.kind()
            && self.namespace == target.namespace
    }
}

#[cfg(test)]
mod tests;
