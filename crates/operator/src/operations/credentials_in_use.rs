//! Keeps the Secret with a namespace's credentials while an object needs it, by a finalizer: a namespace that is deleted
//! would otherwise lose the credentials before the resources that only they can delete.
//!
//! Who needs it follows from the objects in the cluster alone, so a crash at any point leaves nothing to remember.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use backoff::Backoff;
use manifest::GroupVersionKind;
use oraclecloud::Kind;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::credentials::SECRET;
use super::fingerprint::{has_finalizer, is_deleting};
use crate::runtime::client::{ApiError, MANAGER, ObjectClient};
use crate::runtime::controller::{self, Action, ReconcileError, Reconciler};
use crate::runtime::finalizer;
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key, Store};

/// The finalizer of a Secret with credentials.
pub const CREDENTIALS_FINALIZER: &str = "plimsoll.dev/credentials-in-use";

/// How often a conflict with another writer is retried before a later reconcile takes over.
const MAX_CONFLICTS: usize = 3;
/// How soon a Secret is looked at again whose users are not known yet.
const USERS_UNKNOWN: Duration = Duration::from_secs(5);

/// Adds and removes the finalizer of the Secrets `ocicredentials`.
pub(super) struct CredentialsInUse {
    client: ObjectClient,
    secrets: Store,
    users: std::sync::Mutex<Users>,
    gvk: GroupVersionKind,
    writing: Mutex<()>,
    queue: Queue<Self>,
}

/// The objects that may need credentials.
#[derive(Default)]
struct Users {
    /// The kinds whose definitions are installed; `None` until they are known.
    installed: Option<Vec<Kind>>,
    /// The objects of each kind whose controller has started, which it does later than its kind is known.
    stores: HashMap<String, Store>,
}

impl Users {
    /// The objects of every installed kind; `None` while they are not known.
    fn known(&self) -> Option<Vec<&Store>> {
        let stores = self.installed.as_ref()?.iter().map(|kind| self.stores.get(&kind.path()));
        stores.map(|store| store.filter(|store| store.is_synced())).collect()
    }
}

impl CredentialsInUse {
    pub(super) fn new(client: ObjectClient, secrets: Store) -> Self {
        Self {
            client,
            secrets,
            users: std::sync::Mutex::default(),
            gvk: "v1/Secret".parse().expect("a valid kind"),
            writing: Mutex::default(),
            queue: Queue::default(),
        }
    }

    /// The objects of a kind are users, too.
    pub(super) fn add(&self, kind: Kind, store: Store) {
        self.users().stores.insert(kind.path(), store);
    }

    /// A kind is no longer installed.
    pub(super) fn remove(&self, kind: Kind) {
        self.users().stores.remove(&kind.path());
    }

    /// These kinds are installed, and no others.
    pub(super) fn set_installed(&self, kinds: &[Kind]) {
        self.users().installed = Some(kinds.to_vec());
    }

    /// Looks at a Secret when one of these objects may have been its last user; never ends.
    pub(super) async fn watch(&self, users: &Store) {
        self.queue.watch(users.subscribe(), secret_of).await;
        std::future::pending::<()>().await;
    }

    fn users(&self) -> std::sync::MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ensures that a Secret outlives its users. Called before an object's first request to the cloud; it fails unless
    /// the finalizer is set or cannot be set.
    pub(super) async fn keep(&self, key: &Key) -> Result<(), ApiError> {
        // No finalizer can be added to what is being deleted.
        let is_settled =
            || self.secrets.get(key).is_none_or(|secret| is_kept(&secret) || is_deleting(&secret));
        if is_settled() {
            return Ok(());
        }
        // All objects of a namespace come at once when they are new.
        let _alone = self.writing.lock().await;
        let mut conflicts = 0;
        while !is_settled() {
            let Some(secret) = self.client.read(&key.reference(&self.gvk)).await? else { break };
            match finalizer::set(&self.client, &secret, &[CREDENTIALS_FINALIZER], true, MANAGER).await {
                Ok(kept) => {
                    self.secrets.record_write(Value::Object(kept.unwrap_or(secret)));
                    break;
                }
                Err(error) if error.is_conflict() && conflicts < MAX_CONFLICTS => conflicts += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes the finalizer when the last user is gone, until `stop`.
    pub(super) async fn run(self: &Arc<Self>, metrics: &Metrics, stop: CancellationToken) {
        tokio::select! {
            () = controller::run(self, &self.queue, metrics, stop) => {}
            () = self.queue.watch(self.secrets.subscribe(), |change: &Change| [change.key.clone()]) => {}
        }
    }

    /// Whether an object of the namespace has, or may get, a resource at the cloud; unknown while a kind is being read.
    fn is_in_use(&self, namespace: Option<&str>) -> Option<bool> {
        let needs = |object: &Arc<Value>| {
            object["metadata"]["namespace"].as_str() == namespace && !is_released(object)
        };
        let users = self.users();
        Some(users.known()?.into_iter().any(|users| users.state().any(|object| needs(&object))))
    }
}

/// The Secret that an object no longer needs.
fn secret_of(change: &Change) -> Option<Key> {
    let is_gone = change.after.as_deref().is_none_or(is_released);
    is_gone.then(|| Key { namespace: change.key.namespace.clone(), name: SECRET.to_owned() })
}

fn is_released(object: &Value) -> bool {
    is_deleting(object) && !has_finalizer(object)
}

fn is_kept(secret: &Value) -> bool {
    secret.as_object().is_some_and(|secret| finalizer::is_present(secret, CREDENTIALS_FINALIZER))
}

impl Reconciler for CredentialsInUse {
    type Key = Key;
    type Memory = ();
    type Signals = ();
    type Error = String;

    const NAME: &'static str = "Credentials";
    const MAX_CONCURRENT_RECONCILES: usize = 2;
    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

    fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.secrets.get(key)
    }

    async fn reconcile(
        self: &Arc<Self>,
        key: &Key,
        secret: Arc<Value>,
        _memory: &mut (),
    ) -> Result<Action, ReconcileError<String>> {
        let Some(object) = secret.as_object().filter(|_| is_kept(&secret)) else {
            return Ok(Action::await_change());
        };
        match self.is_in_use(key.namespace.as_deref()) {
            None => return Ok(Action::requeue(USERS_UNKNOWN)),
            Some(true) => return Ok(Action::await_change()),
            Some(false) => {}
        }
        match finalizer::set(&self.client, object, &[CREDENTIALS_FINALIZER], false, MANAGER).await {
            Ok(released) => {
                tracing::info!(secret = %key, "the credentials are no longer in use");
                self.secrets.record_write(Value::Object(released.unwrap_or_else(|| object.clone())));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        // An object that came meanwhile may have seen the finalizer while it was still there.
        if self.is_in_use(key.namespace.as_deref()) != Some(false) {
            self.keep(key).await?;
        }
        Ok(Action::await_change())
    }
}

#[cfg(test)]
mod tests;
