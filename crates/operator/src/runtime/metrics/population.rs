//! Objects in groups, so that a gauge can show how many there are in each.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Members by uid, each in some groups and with a value for each.
pub(crate) struct Population<G, M>(Mutex<HashMap<String, Vec<(G, M)>>>);

impl<G, M> Default for Population<G, M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<G: Clone + Eq + Hash, M: Copy> Population<G, M> {
    /// Puts a member into these groups and no others; without any, it is forgotten.
    pub(crate) fn set(&self, uid: &str, places: Vec<(G, M)>) {
        if places.is_empty() {
            self.members().remove(uid);
        } else {
            self.members().insert(uid.to_owned(), places);
        }
    }

    pub(crate) fn clear(&self) {
        *self.members() = HashMap::new();
    }

    /// The groups with the values of their members.
    pub(crate) fn groups(&self) -> HashMap<G, Vec<M>> {
        let mut groups: HashMap<G, Vec<M>> = HashMap::new();
        for (group, known) in self.members().values().flatten() {
            groups.entry(group.clone()).or_default().push(*known);
        }
        groups
    }

    fn members(&self) -> MutexGuard<'_, HashMap<String, Vec<(G, M)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
