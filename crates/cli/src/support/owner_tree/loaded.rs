//! The objects of a tree that were read, each when its record said that it has changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cluster::{Error, Selection, Session, is_worth_listing};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::references::Reference;
use super::{Lookup, Member};
use crate::support::concurrency;
use crate::support::informer::{Record, compact, uid};

/// An object to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    target: ObjectRef,
    uid: String,
    /// The version of the record that says so.
    version: String,
}

impl Wanted {
    pub(super) fn new(gvk: &GroupVersionKind, record: &Record) -> Self {
        Self {
            target: ObjectRef::new(gvk.clone(), Namespace::new(&*record.namespace), &*record.name),
            uid: record.uid.to_string(),
            version: record.version.to_string(),
        }
    }
}

/// An object as it was read.
pub(super) struct Copy {
    /// The version of the record that led to reading it.
    seen: String,
    /// Nothing if it may not be read, or had gone.
    pub(super) object: Option<Arc<Value>>,
}

impl Copy {
    /// Whether there is nothing newer, as far as a record of this version tells. An object may be newer than its record.
    pub(super) fn is_current(&self, version: &str) -> bool {
        let own = self.object.as_ref().map(|object| &object["metadata"]["resourceVersion"]);
        self.seen == version || own.is_some_and(|own| own == version)
    }
}

#[derive(Default)]
pub(super) struct Loaded {
    /// By uid.
    copies: HashMap<String, Copy>,
    /// What was looked up by name, as its kind may not be listed.
    named: HashMap<Reference, Lookup>,
    /// The kinds of objects that may not be read.
    pub(super) refused: BTreeSet<String>,
}

impl Loaded {
    pub(super) fn copy(&self, uid: &str) -> Option<&Copy> {
        self.copies.get(uid)
    }

    pub(super) fn named(&self, reference: &Reference) -> Option<Lookup> {
        self.named.get(reference).cloned()
    }

    /// An object that was read anyway.
    pub(super) fn insert(&mut self, object: Arc<Value>) {
        let seen = object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        self.copies.insert(uid(&object), Copy { seen, object: Some(object) });
    }

    /// Forgets what is not in the tree any more, and what was looked up by name.
    pub(super) fn retain(&mut self, uids: &[&str]) {
        let uids: BTreeSet<&str> = uids.iter().copied().collect();
        self.copies.retain(|uid, _| uids.contains(uid.as_str()));
        self.named.clear();
    }

    /// Reads objects. `count` says how many there are of a kind in a namespace.
    pub(super) async fn read(
        &mut self,
        session: &Session,
        wanted: Vec<Wanted>,
        count: impl Fn(&GroupVersionKind, Option<&Namespace>) -> usize,
    ) -> Result<(), Error> {
        let mut groups: BTreeMap<(GroupVersionKind, Option<Namespace>), Vec<Wanted>> = BTreeMap::new();
        for one in wanted {
            groups.entry((one.target.gvk.clone(), one.target.namespace.clone())).or_default().push(one);
        }
        let (mut single, mut listed) = (Vec::new(), Vec::new());
        for ((gvk, namespace), wanted) in groups {
            if is_worth_listing(&gvk, wanted.len(), Some(count(&gvk, namespace.as_ref()))) {
                listed.push((gvk, namespace, wanted));
            } else {
                single.extend(wanted);
            }
        }
        for (gvk, namespace, wanted) in listed {
            self.list(session, &gvk, namespace, wanted).await?;
        }
        let reads = concurrency::all(single.iter().map(|one| session.read(&one.target))).await;
        for (one, outcome) in single.into_iter().zip(reads) {
            let object = match outcome {
                Ok(reply) => reply.map(|reply| reply.object).filter(|object| uid(object) == one.uid),
                Err(error) if is_refused(&error) => {
                    self.refused.insert(one.target.kind().to_owned());
                    None
                }
                Err(error) => return Err(error),
            };
            self.keep(one, object);
        }
        Ok(())
    }

    async fn list(
        &mut self,
        session: &Session,
        gvk: &GroupVersionKind,
        namespace: Option<Namespace>,
        wanted: Vec<Wanted>,
    ) -> Result<(), Error> {
        let uids: BTreeSet<&str> = wanted.iter().map(|one| one.uid.as_str()).collect();
        let selection = Selection { namespace, ..Selection::default() };
        let read = |mut object: Value| {
            let uid = uid(&object);
            compact(&mut object);
            uids.contains(uid.as_str()).then_some((uid, object))
        };
        let listed = session.list_kept(gvk, &selection, &read).await?;
        let mut objects: HashMap<String, Value> = listed.items.into_iter().flatten().collect();
        for one in wanted {
            let object = objects.remove(&one.uid);
            self.keep(one, object);
        }
        Ok(())
    }

    fn keep(&mut self, wanted: Wanted, object: Option<Value>) {
        let object = object.map(|mut object| {
            compact(&mut object);
            Arc::new(object)
        });
        self.copies.insert(wanted.uid, Copy { seen: wanted.version, object });
    }

    /// Looks up references by the names of their targets.
    pub(super) async fn look_up(
        &mut self,
        session: &Session,
        references: Vec<(Reference, ObjectRef)>,
    ) -> Result<(), Error> {
        let reads = concurrency::all(references.iter().map(|(_, target)| session.read(target))).await;
        for ((reference, target), outcome) in references.into_iter().zip(reads) {
            let found = match outcome {
                Ok(Some(reply)) => {
                    let mut object = reply.object;
                    compact(&mut object);
                    Lookup::Found(Member { object: Arc::new(object), wanted: None })
                }
                Ok(None) => Lookup::Absent(target),
                Err(error) if is_refused(&error) => Lookup::Hidden(target),
                Err(error) => return Err(error),
            };
            self.named.insert(reference, found);
        }
        Ok(())
    }
}

fn is_refused(error: &Error) -> bool {
    error.status().is_some_and(|status| matches!(status.code, 401 | 403))
}
