//! Where functions are: what is installed, annotated or said by flags, and whether what is annotated can be reached.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use composition::RunError;
use composition::condition::{Condition, Conditions};
use composition::function::{self, ANNOTATION_ENDPOINT, Location};
use composition::object;
use composition::run::{ConditionStatus, Object};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use super::MANAGER;
use super::engine::Engine;
use crate::store::{Change, Store};
use crate::work::{Next, Work};

/// The label on a FunctionRevision with the name of its Function.
const LABEL_PACKAGE: &str = "pkg.crossplane.io/package";
/// How long a connection to an annotated function is waited for before it counts as unhealthy.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether an annotated function can be reached.
const HEALTHY_LOOK: Duration = Duration::from_secs(30);
const UNHEALTHY_LOOK: Duration = Duration::from_secs(2);
const AT_ONCE: usize = 16;

/// The places where functions are, as flags and objects say.
pub(super) struct Places {
    flags: BTreeMap<String, String>,
    found: RwLock<Found>,
    moves: watch::Sender<u64>,
}

#[derive(Default)]
struct Found {
    revisions: Arc<Vec<Object>>,
    functions: Vec<Object>,
}

impl Places {
    /// What `flags` say; objects are taken in as they come.
    pub(super) fn new(flags: BTreeMap<String, String>) -> Self {
        Self { flags, found: RwLock::default(), moves: watch::Sender::new(0) }
    }

    /// Where the function called `name` is.
    pub(super) fn locate(&self, name: &str) -> Result<Location, RunError> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        function::find(name, &self.flags, &found.revisions, &found.functions)
    }

    /// The FunctionRevisions there are.
    pub(super) fn revisions(&self) -> Arc<Vec<Object>> {
        Arc::clone(&self.found.read().unwrap_or_else(PoisonError::into_inner).revisions)
    }

    /// Ticks whenever functions may be found elsewhere than before.
    pub(super) fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    /// Takes in what there is of FunctionRevisions and Functions. Whoever looked in vain may look again.
    pub(super) fn take(&self, revisions: &Store, functions: &Store) {
        let objects = |store: &Store| -> Vec<Object> {
            store.all().iter().filter_map(|object| object.as_object().cloned()).collect()
        };
        {
            let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
            *found = Found { revisions: Arc::new(objects(revisions)), functions: objects(functions) };
        }
        self.moves.send_modify(|moves| *moves += 1);
    }
}

/// The Functions that a change of a FunctionRevision concerns.
pub(super) fn packages(change: &Change) -> Vec<String> {
    let package = |revision: &Option<Arc<Value>>| {
        object::label(revision.as_ref()?.as_object()?, LABEL_PACKAGE).map(str::to_owned)
    };
    let mut packages: Vec<String> =
        [package(&change.before), package(&change.after)].into_iter().flatten().collect();
    packages.dedup();
    packages
}

/// Says on every annotated Function whether it can be reached, until the engine stops.
///
/// Packages are installed by somebody else, who then says so; where a function is annotated, nobody else would.
pub(super) async fn watch_over(engine: Arc<Engine>, functions: Store, work: Work<String>) {
    let stop = engine.stop.clone();
    let pass = move |name: String| {
        let (engine, functions) = (Arc::clone(&engine), functions.clone());
        async move {
            let found = functions.get(None, &name);
            match found.as_ref().and_then(|function| function.as_object()) {
                Some(function) if object::annotation(function, ANNOTATION_ENDPOINT).is_some() => {
                    look(&engine, &name, function).await
                }
                _ => Next::Idle,
            }
        }
    };
    work.run(AT_ONCE, stop, pass).await;
}

async fn look(engine: &Engine, name: &str, function: &Object) -> Next {
    let endpoint = object::annotation(function, ANNOTATION_ENDPOINT).unwrap_or_default();
    let trouble = match tokio::time::timeout(PATIENCE, engine.functions.reachable(name)).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.message),
        Err(_) => Some(format!("no connection to {endpoint} within {} s", PATIENCE.as_secs())),
    };
    if let Some(reported) = report(function, trouble.as_deref(), Timestamp::now())
        && let Err(error) = engine.writer.replace_status(&reported, MANAGER).await
        && !error.is_outdated()
    {
        tracing::warn!(function = name, why = error.text(), "a Function cannot be told how it is");
    }
    Next::In(if trouble.is_none() { HEALTHY_LOOK } else { UNHEALTHY_LOOK })
}

/// The Function with the conditions it is to have, if it has others.
fn report(function: &Object, trouble: Option<&str>, now: Timestamp) -> Option<Object> {
    let generation = object::generation(function);
    let before = Conditions::of(function);
    let mut conditions = before.clone();
    let installed = Condition::new("Installed", ConditionStatus::True, "ActivePackageRevision", now).message(
        format!("called at the endpoint in the annotation {ANNOTATION_ENDPOINT}; no package is installed"),
    );
    conditions.set(installed.generation(generation));
    let healthy = match trouble {
        None => Condition::new("Healthy", ConditionStatus::True, "HealthyPackageRevision", now),
        Some(why) => {
            Condition::new("Healthy", ConditionStatus::False, "UnhealthyPackageRevision", now).message(why)
        }
    };
    conditions.set(healthy.generation(generation));
    (conditions != before).then(|| {
        let mut reported = function.clone();
        object::nested_mut(&mut reported, &["status"]).insert("conditions".to_owned(), conditions.to_value());
        reported
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_function_says_once_how_it_is() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let function = object::from_value(json!({"metadata": {"name": "f", "generation": 1}}));
        let well = report(&function, None, now).unwrap();
        let shown = |function: &Object| {
            let shown = |condition: &Condition| {
                format!("{}={} {}", condition.kind, condition.status.as_str(), condition.reason)
            };
            Conditions::of(function).iter().map(shown).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(shown(&well), "Installed=True ActivePackageRevision, Healthy=True HealthyPackageRevision");
        assert_eq!(report(&well, None, now), None);
        let ill = report(&well, Some("no connection"), now).unwrap();
        assert_eq!(
            shown(&ill),
            "Installed=True ActivePackageRevision, Healthy=False UnhealthyPackageRevision"
        );
    }

    #[test]
    fn a_changed_revision_concerns_the_functions_it_is_and_was_of() {
        let revision = |package: &str| {
            Some(Arc::new(json!({"metadata": {"name": "r", "labels": {LABEL_PACKAGE: package}}})))
        };
        let check = |before, after, expected: &[&str]| {
            let key = crate::store::Key { namespace: None, name: "r".to_owned() };
            assert_eq!(packages(&Change { key, before, after }), expected);
        };
        check(None, revision("a"), &["a"]);
        check(revision("a"), revision("a"), &["a"]);
        check(revision("a"), revision("b"), &["a", "b"]);
        check(revision("a"), None, &["a"]);
    }
}
