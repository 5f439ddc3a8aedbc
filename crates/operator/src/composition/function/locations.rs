//! Where functions are found, by flags and objects.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use composition::RunError;
use composition::function::{self, Location};
use composition::object;
use composition::package::LABEL_PACKAGE;
use composition::protocol::Object;
use tokio::sync::watch;

use crate::runtime::store::{Change, Store};

pub(in crate::composition) struct FunctionLocations {
    flags: BTreeMap<String, String>,
    objects: RwLock<Objects>,
    moves: watch::Sender<u64>,
}

#[derive(Default)]
struct Objects {
    revisions: Arc<Vec<Object>>,
    functions: Vec<Object>,
}

impl FunctionLocations {
    /// `flags` take precedence over objects.
    pub(in crate::composition) fn new(flags: BTreeMap<String, String>) -> Self {
        Self { flags, objects: RwLock::default(), moves: watch::Sender::new(0) }
    }

    pub(in crate::composition) fn locate(&self, name: &str) -> Result<Location, RunError> {
        let found = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        function::find(name, &self.flags, &found.revisions, &found.functions)
    }

    pub(in crate::composition) fn flags(&self) -> &BTreeMap<String, String> {
        &self.flags
    }

    /// The endpoint that a flag names.
    pub(in crate::composition) fn of_flag(&self, name: &str) -> Option<&str> {
        self.flags.get(name).map(String::as_str)
    }

    pub(in crate::composition) fn revisions(&self) -> Arc<Vec<Object>> {
        Arc::clone(&self.objects.read().unwrap_or_else(PoisonError::into_inner).revisions)
    }

    /// Changes whenever a function may be found at another place than before.
    pub(in crate::composition) fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    pub(in crate::composition) fn update(&self, revisions: &Store, functions: &Store) {
        {
            let mut found = self.objects.write().unwrap_or_else(PoisonError::into_inner);
            *found = Objects { revisions: Arc::new(objects(revisions)), functions: objects(functions) };
        }
        self.moves.send_modify(|moves| *moves += 1);
    }
}

/// What a store has.
pub(super) fn objects(store: &Store) -> Vec<Object> {
    store.state().filter_map(|object| object.as_object().cloned()).collect()
}

/// The Functions that a changed FunctionRevision is or was of.
pub(in crate::composition) fn packages(change: &Change) -> Vec<String> {
    labelled(change, LABEL_PACKAGE)
}

/// The values of a label before and after a change.
pub(super) fn labelled(change: &Change, label: &str) -> Vec<String> {
    let value = |object| object::label(object, label).map(str::to_owned);
    let mut values: Vec<String> = change.sides().filter_map(value).collect();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runtime::store::Key;

    #[test]
    fn a_changed_revision_concerns_the_functions_it_is_and_was_of() {
        let revision = |package: &str| {
            Some(Arc::new(json!({"metadata": {"name": "r", "labels": {LABEL_PACKAGE: package}}})))
        };
        let check = |before, after, expected: &[&str]| {
            let key = Key::cluster_scoped("r");
            assert_eq!(packages(&Change { key, before, after }), expected);
        };
        check(None, revision("a"), &["a"]);
        check(revision("a"), revision("a"), &["a"]);
        check(revision("a"), revision("b"), &["a", "b"]);
        check(revision("a"), None, &["a"]);
    }
}
