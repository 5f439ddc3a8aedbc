//! Compositions and their revisions, parsed once per change instead of once per reconcile, and found by what they are for.

use std::collections::{BTreeMap, BTreeSet};

use manifest::GroupVersionKind;

use crate::composition::Composition;
use crate::object;
use crate::protocol::Object;
use crate::revision::LABEL_COMPOSITION;

/// All Compositions and revisions, by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    compositions: BTreeMap<String, Composition>,
    revisions: BTreeMap<String, Composition>,
    /// The names of the Compositions for a kind of XR.
    by_type: BTreeMap<GroupVersionKind, BTreeSet<String>>,
    /// The names of the revisions of a Composition.
    by_composition: BTreeMap<String, BTreeSet<String>>,
}

impl Catalogue {
    /// The Compositions for XRs of `kind`, by name.
    pub fn compositions(&self, kind: &GroupVersionKind) -> impl Iterator<Item = &Composition> {
        named(&self.compositions, self.by_type.get(kind))
    }

    /// The Composition called `name`, whichever type it is for.
    pub fn composition(&self, name: &str) -> Option<&Composition> {
        self.compositions.get(name)
    }

    /// The revisions of a Composition, by name.
    pub fn revisions(&self, composition: &str) -> impl Iterator<Item = &Composition> {
        named(&self.revisions, self.by_composition.get(composition))
    }

    /// The revision called `name`.
    pub fn revision(&self, name: &str) -> Option<&Composition> {
        self.revisions.get(name)
    }

    /// All revisions that run `function`, with their names.
    pub fn revisions_with(&self, function: &str) -> impl Iterator<Item = (&str, &Composition)> {
        let runs = move |revision: &Composition| {
            revision.spec.pipeline.iter().any(|step| step.function_ref.name == function)
        };
        let running = self.revisions.iter().filter(move |(_, revision)| runs(revision));
        running.map(|(name, revision)| (name.as_str(), revision))
    }

    /// Takes in the Composition called `name` as it is now; `None` if it is gone or invalid.
    pub fn put_composition(&mut self, name: &str, composition: Option<Composition>) {
        let of = |composition: &Composition| Some(composition.spec.composite_type_ref.clone());
        put(&mut self.compositions, &mut self.by_type, name, composition, of);
    }

    /// Takes in the revision called `name` as it is now; `None` if it is gone or invalid. An older version than the one
    /// that is known is not taken in.
    pub fn put_revision(&mut self, name: &str, revision: Option<Composition>) -> bool {
        if let Some(new) = &revision
            // The response to a write comes before the watch event.
            && version(&new.object) < self.revisions.get(name).and_then(|known| version(&known.object))
        {
            return false;
        }
        let of = |revision: &Composition| composition_of(&revision.object).map(str::to_owned);
        put(&mut self.revisions, &mut self.by_composition, name, revision, of);
        true
    }
}

/// The name of the Composition that a revision belongs to.
pub fn composition_of(revision: &Object) -> Option<&str> {
    object::label(revision, LABEL_COMPOSITION)
}

fn named<'a>(
    all: &'a BTreeMap<String, Composition>,
    names: Option<&'a BTreeSet<String>>,
) -> impl Iterator<Item = &'a Composition> {
    names.into_iter().flatten().filter_map(|name| all.get(name))
}

fn put<K: Ord>(
    all: &mut BTreeMap<String, Composition>,
    index: &mut BTreeMap<K, BTreeSet<String>>,
    name: &str,
    composition: Option<Composition>,
    key: impl Fn(&Composition) -> Option<K>,
) {
    if let Some(before) = all.remove(name).as_ref().and_then(&key)
        && let Some(names) = index.get_mut(&before)
    {
        names.remove(name);
        if names.is_empty() {
            index.remove(&before);
        }
    }
    let Some(composition) = composition else { return };
    if let Some(after) = key(&composition) {
        index.entry(after).or_default().insert(name.to_owned());
    }
    all.insert(name.to_owned(), composition);
}

/// Resource versions of one kind are growing numbers.
fn version(object: &Object) -> Option<u64> {
    object::resource_version(object)?.parse().ok()
}

#[cfg(test)]
mod tests;
