//! Stores of XRs, claims, and composed and required resources: one per scope, shared by its users, dropped with the last.
//!
//! Composed resources carry a label, so only those of a kind are watched and kept. Required resources are watched by name
//! or labels, as the function asks; a whole kind only if the function asks for all of it. Secrets are watched one by one:
//! no more of them are read than an XR is about.

mod dependents;

pub(super) use dependents::{Dependency, Dependents};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use cluster::{Selection, Session};
use composition::intent::compact_managed_fields;
use composition::naming::LABEL_COMPOSITE;
use composition::protocol::{Match, ResourceSelector};
use manifest::{GroupVersionKind, KindError, Namespace, ObjectRef};
use tokio_util::sync::CancellationToken;

use crate::runtime::metrics::Metrics;
use crate::runtime::shard::Shard;
use crate::runtime::store::{Key, Source, Store};

/// Which objects of a kind are watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Scope {
    pub(crate) gvk: GroupVersionKind,
    pub(crate) which: Which,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Which {
    /// All, untrimmed.
    Whole,
    /// All, without managedFields.
    All,
    /// Those that XRs of any kind compose.
    Composed,
    /// One that an XR composes.
    ComposedOne { namespace: Option<String>, name: String },
    /// Those that a function requires.
    Required { namespace: Option<String>, matching: Match },
}

impl Scope {
    pub(crate) fn whole(gvk: GroupVersionKind) -> Self {
        Self { gvk, which: Which::Whole }
    }

    pub(crate) fn all(gvk: GroupVersionKind) -> Self {
        Self { gvk, which: Which::All }
    }

    /// The scope in which the composed resource `child` is.
    pub(super) fn composed(child: &ObjectRef) -> Self {
        let which = if is_secret(&child.gvk) {
            let Key { namespace, name } = Key::from(child);
            Which::ComposedOne { namespace, name }
        } else {
            Which::Composed
        };
        Self { gvk: child.gvk.clone(), which }
    }

    /// Whether its objects are composed ones.
    fn is_composed(&self) -> bool {
        matches!(self.which, Which::Composed | Which::ComposedOne { .. })
    }

    pub(super) fn required(selector: &ResourceSelector) -> Result<Self, KindError> {
        let namespace = selector.namespace.clone().filter(|namespace| !namespace.is_empty());
        let which = Which::Required { namespace, matching: selector.matching.clone() };
        Ok(Self { gvk: selector.gvk()?, which })
    }

    /// Whether its objects are divided among shards: XRs, claims, and what they are composed of.
    fn is_sharded(&self) -> bool {
        matches!(self.which, Which::Whole | Which::All | Which::Composed)
    }

    pub(super) fn source(&self) -> Source {
        let source = Source::of(self.gvk.clone());
        let selection = match &self.which {
            Which::Whole => return source,
            Which::All => Selection::default(),
            Which::Composed => {
                let labels = Some(LABEL_COMPOSITE.to_owned());
                let selection = Selection { labels, ..Selection::default() };
                return Source { selection, trim: compact_managed_fields, ..source };
            }
            Which::ComposedOne { namespace, name } => {
                let namespace = namespace.as_deref().and_then(Namespace::new);
                let fields = Some(format!("metadata.name={name}"));
                let selection = Selection { namespace, fields, ..Selection::default() };
                return Source { selection, trim: compact_managed_fields, ..source };
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

pub(super) fn is_secret(gvk: &GroupVersionKind) -> bool {
    (gvk.group(), gvk.kind()) == ("", "Secret")
}

fn equalities(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The open stores.
pub(crate) struct Watches {
    session: Session,
    shard: Shard,
    metrics: Metrics,
    stop: CancellationToken,
    open: Mutex<BTreeMap<Scope, Weak<Watched>>>,
}

/// A store, which is kept up to date while it has users.
pub(crate) struct Watched {
    pub(crate) store: Store,
}

/// How long a reconcile waits for the first list of a kind.
const SYNC_TIMEOUT: Duration = Duration::from_secs(10);

impl Watched {
    /// Waits until all objects have been listed once; why not, or why they are no longer kept up to date.
    pub(super) async fn ready(&self) -> Result<(), String> {
        match tokio::time::timeout(SYNC_TIMEOUT, self.store.ready()).await {
            Ok(synced) => synced.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no response within {} s", SYNC_TIMEOUT.as_secs())),
        }
    }
}

impl Watches {
    pub(crate) fn new(session: Session, shard: Shard, metrics: Metrics, stop: CancellationToken) -> Self {
        Self { session, shard, metrics, stop, open: Mutex::default() }
    }

    /// The store of `scope`, which is started if it is not open.
    pub(crate) fn open(&self, scope: &Scope) -> Arc<Watched> {
        let mut open = self.lock();
        if let Some(watched) = open.get(scope).and_then(Weak::upgrade) {
            return watched;
        }
        open.retain(|_, watched| watched.strong_count() > 0);
        let source = scope.source();
        let source = if scope.is_sharded() { source.in_shard(&self.shard) } else { source };
        let store = Store::start(self.session.clone(), source, &self.metrics, &self.stop);
        let watched = Arc::new(Watched { store });
        open.insert(scope.clone(), Arc::downgrade(&watched));
        watched
    }

    pub(super) fn existing(&self, scope: &Scope) -> Option<Arc<Watched>> {
        self.lock().get(scope).and_then(Weak::upgrade)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Scope, Weak<Watched>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
