//! Watches on what is composed and what functions require: one per scope, shared by all who need it, gone with the last.
//!
//! What is composed carries a label, so that of a kind only those objects are watched and kept. What is required is watched
//! by name or by labels, as it is asked for; a whole kind only if all of it is.

mod dependents;

pub(super) use dependents::{Dependency, Dependents};

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use cluster::{Selection, Session};
use composition::naming::{COMPOSED_MANAGER_PREFIX, LABEL_COMPOSITE};
use composition::run::{Match, ResourceSelector};
use manifest::{GroupVersionKind, KindError, Namespace};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::store::{Source, Store};

/// Which objects of a kind are watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Scope {
    /// Their kind.
    pub(crate) gvk: GroupVersionKind,
    /// What they have in common.
    pub(crate) which: Which,
}

/// What the objects of a scope have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Which {
    /// Nothing, and they are kept whole.
    Whole,
    /// Nothing, and who holds which of their fields is left out.
    All,
    /// They are composed by XRs, of whatever kind.
    Composed,
    /// A function asked for them.
    Required {
        /// In one namespace, or anywhere.
        namespace: Option<String>,
        /// By name or by labels.
        matching: Match,
    },
}

impl Scope {
    /// All objects of a kind, whole.
    pub(crate) fn whole(gvk: GroupVersionKind) -> Self {
        Self { gvk, which: Which::Whole }
    }

    /// All objects of a kind.
    pub(crate) fn all(gvk: GroupVersionKind) -> Self {
        Self { gvk, which: Which::All }
    }

    /// The objects of a kind that XRs compose.
    pub(super) fn composed(gvk: GroupVersionKind) -> Self {
        Self { gvk, which: Which::Composed }
    }

    /// What a function asks for.
    pub(super) fn required(selector: &ResourceSelector) -> Result<Self, KindError> {
        let namespace = selector.namespace.clone().filter(|namespace| !namespace.is_empty());
        let which = Which::Required { namespace, matching: selector.matching.clone() };
        Ok(Self { gvk: selector.gvk()?, which })
    }

    fn source(&self) -> Source {
        let source = Source::of(self.gvk.clone());
        let selection = match &self.which {
            Which::Whole => return source,
            Which::All => Selection::default(),
            Which::Composed => {
                let labels = Some(LABEL_COMPOSITE.to_owned());
                let selection = Selection { labels, ..Selection::default() };
                return Source { selection, trim: keep_shares_of_engines, ..source };
            }
            Which::Required { namespace, matching } => Selection {
                namespace: namespace.as_deref().and_then(Namespace::new),
                labels: match matching {
                    Match::Labels(labels) if !labels.is_empty() => Some(equalities(labels)),
                    _ => None,
                },
                fields: match matching {
                    Match::Name(name) => Some(format!("metadata.name={name}")),
                    _ => None,
                },
                limit: None,
            },
        };
        Source { selection, ..source.without_managed_fields() }
    }
}

/// Who holds which field is the larger part of many objects. Of a composed one, what engines hold stays, as text, which is
/// the smaller by far: it says whether the object has to be applied again.
fn keep_shares_of_engines(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(Value::Array(mut shares)) = metadata.remove("managedFields") else { return };
    shares.retain(|share| {
        let manager = share.get("manager").and_then(Value::as_str);
        manager.is_some_and(|manager| manager.starts_with(COMPOSED_MANAGER_PREFIX))
    });
    for share in shares.iter_mut().filter_map(Value::as_object_mut) {
        share.remove("time");
        share.remove("fieldsType");
        if let Some(fields) = share.get_mut("fieldsV1") {
            *fields = fields.to_string().into();
        }
    }
    if !shares.is_empty() {
        metadata.insert("managedFields".to_owned(), shares.into());
    }
}

fn equalities(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The live copies that are open.
pub(crate) struct Watches {
    session: Session,
    stop: CancellationToken,
    open: Mutex<HashMap<Scope, Weak<Watched>>>,
}

/// A live copy. It is kept while somebody has it.
pub(crate) struct Watched {
    /// The copy.
    pub(crate) store: Store,
}

/// How long the first reading of a kind may take before whoever needs it gives up.
const PATIENCE: Duration = Duration::from_secs(10);

impl Watched {
    /// Waits until everything has been read once; why not, if it cannot be.
    pub(super) async fn ready(&self) -> Result<(), String> {
        match tokio::time::timeout(PATIENCE, self.store.ready()).await {
            Ok(ready) => ready.map_err(|trouble| trouble.to_string()),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }
}

impl Watches {
    /// None are open yet; `stop` ends them all.
    pub(crate) fn new(session: Session, stop: CancellationToken) -> Self {
        Self { session, stop, open: Mutex::default() }
    }

    /// The live copy of `scope`, opened if it is not.
    pub(crate) fn open(&self, scope: &Scope) -> Arc<Watched> {
        let mut open = self.lock();
        if let Some(watched) = open.get(scope).and_then(Weak::upgrade) {
            return watched;
        }
        open.retain(|_, watched| watched.strong_count() > 0);
        let store = Store::start(self.session.clone(), scope.source(), &self.stop);
        let watched = Arc::new(Watched { store });
        open.insert(scope.clone(), Arc::downgrade(&watched));
        watched
    }

    /// The live copy of `scope`, if it is open.
    pub(super) fn existing(&self, scope: &Scope) -> Option<Arc<Watched>> {
        self.lock().get(scope).and_then(Weak::upgrade)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Scope, Weak<Watched>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(scope: &Scope, namespace: Option<&str>, labels: Option<&str>, fields: Option<&str>) {
        let selection = scope.source().selection;
        assert_eq!(selection.namespace.as_ref().map(Namespace::as_str), namespace);
        assert_eq!((selection.labels.as_deref(), selection.fields.as_deref()), (labels, fields));
    }

    fn required(namespace: Option<&str>, matching: Match) -> Scope {
        let selector = ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            matching,
            namespace: namespace.map(str::to_owned),
        };
        Scope::required(&selector).unwrap()
    }

    #[test]
    fn of_a_composed_object_only_the_shares_of_engines_are_kept() {
        let share = |manager: &str| {
            json!({
                "manager": manager, "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}},
            })
        };
        let engine = format!("{COMPOSED_MANAGER_PREFIX}/1a");
        let mut map = json!({"metadata": {"name": "a", "managedFields": [share("kubectl"), share(&engine)]}});
        let trim = Scope::composed("v1/ConfigMap".parse().unwrap()).source().trim;
        trim(&mut map);
        let kept = json!([{
            "manager": engine, "operation": "Apply", "apiVersion": "v1", "fieldsV1": r#"{"f:data":{"f:a":{}}}"#,
        }]);
        assert_eq!(map, json!({"metadata": {"name": "a", "managedFields": kept}}));
        let mut theirs = json!({"metadata": {"name": "a", "managedFields": [share("kubectl")]}});
        trim(&mut theirs);
        assert_eq!(theirs, json!({"metadata": {"name": "a"}}));
    }

    #[test]
    fn no_more_is_watched_than_is_needed() {
        let maps: GroupVersionKind = "v1/ConfigMap".parse().unwrap();
        check(&Scope::whole(maps.clone()), None, None, None);
        check(&Scope::composed(maps), None, Some("crossplane.io/composite"), None);
        check(
            &required(Some("shop"), Match::Name("a".to_owned())),
            Some("shop"),
            None,
            Some("metadata.name=a"),
        );
        let labels = [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        check(&required(None, Match::Labels(BTreeMap::from(labels))), None, Some("a=1,b=2"), None);
        check(&required(Some(""), Match::All), None, None, None);
    }
}
