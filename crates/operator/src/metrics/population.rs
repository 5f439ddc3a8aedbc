//! Objects by what they have in common, so that a gauge can say how many there are of each sort.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Members by their uids, each in one group and with something that is known of it.
pub(super) struct Population<G, M>(Mutex<HashMap<String, (G, M)>>);

impl<G, M> Default for Population<G, M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<G: Clone + Eq + Hash, M: Copy> Population<G, M> {
    /// A member is in a group now; or in none, because it is gone.
    pub(super) fn set(&self, uid: &str, place: Option<(G, M)>) {
        match place {
            Some(place) => self.members().insert(uid.to_owned(), place),
            None => self.members().remove(uid),
        };
    }

    /// Nobody is a member any more.
    pub(super) fn clear(&self) {
        *self.members() = HashMap::new();
    }

    /// The groups with what is known of their members.
    pub(super) fn groups(&self) -> HashMap<G, Vec<M>> {
        let mut groups: HashMap<G, Vec<M>> = HashMap::new();
        for (group, known) in self.members().values() {
            groups.entry(group.clone()).or_default().push(*known);
        }
        groups
    }

    fn members(&self) -> MutexGuard<'_, HashMap<String, (G, M)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
