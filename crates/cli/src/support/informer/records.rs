//! What is kept of the many objects that may belong to a tree: who owns them, and how other tools mark them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cluster::{Error, Metadata, Selection, Session, Watch};
use manifest::GroupVersionKind;
use serde_json::{Map, Value, json};

use super::{Informers, Shelf, Stores};
use crate::support::owner_tree::inventories::{ANNOTATIONS, LABELS};

/// An object, as far as its metadata tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) uid: Arc<str>,
    pub(crate) name: Box<str>,
    /// Empty for objects outside namespaces.
    pub(crate) namespace: Box<str>,
    pub(crate) version: Box<str>,
    pub(crate) created: Box<str>,
    /// Whether its deletion was requested.
    pub(crate) is_going: bool,
    owners: Box<[Arc<str>]>,
    labels: Marks,
    annotations: Marks,
}

/// The few labels or annotations that say what belongs to what.
type Marks = Box<[(&'static str, Box<str>)]>;

impl From<Metadata<'_>> for Record {
    fn from(metadata: Metadata<'_>) -> Self {
        let labels = LABELS.iter().filter_map(|key| Some((*key, metadata.labels.get(*key)?.as_ref().into())));
        let annotations = ANNOTATIONS
            .iter()
            .filter_map(|key| Some((*key, metadata.annotations.get(*key)?.as_ref().into())));
        Self {
            uid: metadata.uid.into(),
            name: metadata.name.into(),
            namespace: metadata.namespace.into(),
            version: metadata.resource_version.into(),
            created: metadata.creation_timestamp.into(),
            is_going: !metadata.deletion_timestamp.is_empty(),
            owners: metadata.owner_references.into_iter().map(|owner| owner.uid.into()).collect(),
            labels: labels.collect(),
            annotations: annotations.collect(),
        }
    }
}

impl Record {
    /// The object with as much of its metadata as is kept.
    pub(crate) fn object(&self, gvk: &GroupVersionKind) -> Value {
        let texts = |marks: &Marks| -> Map<String, Value> {
            marks.iter().map(|(key, text)| ((*key).to_owned(), text.as_ref().into())).collect()
        };
        let mut object = json!({
            "apiVersion": gvk.api_version().to_string(), "kind": gvk.kind(),
            "metadata": {
                "name": self.name, "uid": &*self.uid, "creationTimestamp": self.created,
                "labels": texts(&self.labels), "annotations": texts(&self.annotations),
            },
        });
        if !self.namespace.is_empty() {
            object["metadata"]["namespace"] = self.namespace.as_ref().into();
        }
        object
    }

    /// A label or annotation that is kept.
    pub(crate) fn mark(&self, key: &str) -> Option<&str> {
        let mut marks = self.labels.iter().chain(&self.annotations);
        marks.find(|(name, _)| *name == key).map(|(_, text)| &**text)
    }

    fn is_marked(&self) -> bool {
        !self.labels.is_empty() || !self.annotations.is_empty()
    }
}

/// The objects of a kind, found by uid, name, owner or mark.
#[derive(Default)]
pub(crate) struct Records {
    by_uid: HashMap<Arc<str>, Arc<Record>>,
    /// The uids of objects by their names.
    named: HashMap<Box<str>, Vec<Arc<str>>>,
    /// The uids of objects by those of their owners.
    owned: HashMap<Arc<str>, Vec<Arc<str>>>,
    marked: HashSet<Arc<str>>,
}

impl Records {
    pub(crate) fn get(&self, uid: &str) -> Option<&Arc<Record>> {
        self.by_uid.get(uid)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.by_uid.values()
    }

    /// How many are in a namespace; empty for those outside of all.
    pub(crate) fn count_in(&self, namespace: &str) -> usize {
        self.by_uid.values().filter(|record| &*record.namespace == namespace).count()
    }

    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Record>> {
        self.named.get(name).into_iter().flatten().filter_map(|uid| self.by_uid.get(uid))
    }

    pub(crate) fn owned_by(&self, uid: &str) -> impl Iterator<Item = &Arc<Record>> {
        self.owned.get(uid).into_iter().flatten().filter_map(|uid| self.by_uid.get(uid))
    }

    /// Those that have a label or annotation that says what they belong to.
    pub(crate) fn marked(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.marked.iter().filter_map(|uid| self.by_uid.get(uid))
    }

    fn insert(&mut self, record: Record) {
        self.remove(&Arc::clone(&record.uid));
        let uid = &record.uid;
        self.named.entry(record.name.clone()).or_default().push(Arc::clone(uid));
        for owner in &record.owners {
            self.owned.entry(Arc::clone(owner)).or_default().push(Arc::clone(uid));
        }
        if record.is_marked() {
            self.marked.insert(Arc::clone(uid));
        }
        self.by_uid.insert(Arc::clone(uid), Arc::new(record));
    }
}

/// Removes a uid from those below a key.
fn withdraw<K: std::hash::Hash + Eq + ?Sized, Q: std::borrow::Borrow<K> + std::hash::Hash + Eq>(
    map: &mut HashMap<Q, Vec<Arc<str>>>,
    key: &K,
    uid: &str,
) {
    if let Some(uids) = map.get_mut(key) {
        uids.retain(|known| &**known != uid);
        if uids.is_empty() {
            map.remove(key);
        }
    }
}

impl Shelf for Records {
    async fn list(
        session: &Session,
        gvk: &GroupVersionKind,
        selection: &Selection,
    ) -> Result<(Self, String), Error> {
        let listing = session.list_metadata::<Record>(gvk, selection).await?;
        let mut records = Self::default();
        listing.items.into_iter().for_each(|record| records.insert(record));
        Ok((records, listing.resource_version))
    }

    fn watch(
        session: &Session,
        gvk: &GroupVersionKind,
        selection: &Selection,
        from: String,
    ) -> impl Future<Output = Result<Watch, Error>> + Send {
        session.watch_metadata(gvk, selection.clone(), Some(from))
    }

    fn put(&mut self, object: Value) {
        if let Some(metadata) = Metadata::of(&object) {
            self.insert(metadata.into());
        }
    }

    fn remove(&mut self, uid: &str) {
        let Some(record) = self.by_uid.remove(uid) else { return };
        withdraw(&mut self.named, &*record.name, uid);
        for owner in &record.owners {
            withdraw(&mut self.owned, &**owner, uid);
        }
        self.marked.remove(uid);
    }

    fn of(informers: &Informers) -> &Stores<Self> {
        &informers.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(name: &str, owner: &str, label: &str) -> Value {
        json!({ "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": { "kro.run/instance-id": label, "app": "web" },
            "ownerReferences": [{ "kind": "Any", "name": owner, "uid": owner }],
        } })
    }

    #[test]
    fn a_record_is_found_by_what_it_is_now() {
        let mut records = Records::default();
        let names = |found: Vec<&Arc<Record>>| found.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
        records.put(map("a", "one", "i1"));
        records.put(map("b", "one", "i1"));
        records.put(map("a", "other", "i2"));
        assert_eq!(names(records.owned_by("one").collect()), ["b"]);
        assert_eq!(names(records.owned_by("other").collect()), ["a"]);
        let marks: Vec<_> = records.marked().filter_map(|it| it.mark("kro.run/instance-id")).collect();
        assert_eq!(marks.len(), 2);
        records.remove("uid-b");
        assert_eq!(
            (records.count_in("shop"), records.named("b").count(), records.owned_by("one").count()),
            (1, 0, 0)
        );
        let object = records.get("uid-a").unwrap().object(&"v1/ConfigMap".parse().unwrap());
        assert_eq!(
            object,
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "a", "namespace": "shop", "uid": "uid-a", "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": { "kro.run/instance-id": "i2" }, "annotations": {},
            } })
        );
    }
}
