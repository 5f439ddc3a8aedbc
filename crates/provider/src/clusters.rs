//! One cluster per distinct connection, with what this process has read and written there.

mod reads;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::{ConnectError, Connection, Environment, Error, Reply, Session};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use plan::{Admission, Intervention};
use serde_json::Value;
use tfplugin::CancellationToken;
use tokio::sync::{Notify, OnceCell, OwnedMutexGuard};
use tokio::time::Instant;

use reads::Reads;

const USER_AGENT: &str = concat!("terraform-provider-k8sconnect/", env!("CARGO_PKG_VERSION"));

type ObjectKey = String;

/// How long a read may be reused. Terraform plans a resource right after reading it.
const MAX_AGE: Duration = Duration::from_secs(30);

pub(crate) struct Clusters {
    environment: Environment,
    open: Mutex<HashMap<Connection, Arc<Cluster>>>,
}

pub(crate) struct Cluster {
    session: Session,
    uid: OnceCell<Option<String>>,
    /// `None` if we may not list them.
    admission: OnceCell<Option<Admission>>,
    reads: Reads,
    objects: Mutex<HashMap<ObjectKey, KnownObject>>,
    deletions: Mutex<HashMap<ObjectKey, CancellationToken>>,
    deletion_began: Notify,
    creations: Mutex<HashMap<ObjectKey, Arc<tokio::sync::Mutex<()>>>>,
}

#[derive(Default)]
struct KnownObject {
    /// The last read, until it is used; as text, which takes a fraction of the memory.
    live: Option<(Instant, Box<str>)>,
    /// When a dry run showed that it does not exist.
    absent: Option<Instant>,
    /// Whether this state has it, as far as this process knows.
    ours: Option<Ours>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ours {
    Before,
    /// A resource created it in this process, so no other can.
    Created,
}

impl Clusters {
    pub(crate) fn new(environment: Environment) -> Self {
        Self { environment, open: Mutex::default() }
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The cluster of `connection`. Sends nothing, so it does not block other callers for long.
    pub(crate) fn get(&self, connection: &Connection) -> Result<Arc<Cluster>, ConnectError> {
        let mut open = lock(&self.open);
        if let Some(cluster) = open.get(connection) {
            return Ok(Arc::clone(cluster));
        }
        let cluster = Arc::new(Cluster::new(Session::connect(connection, &self.environment, USER_AGENT)?));
        open.insert(connection.clone(), Arc::clone(&cluster));
        Ok(cluster)
    }
}

impl Cluster {
    fn new(session: Session) -> Self {
        Self {
            session,
            uid: OnceCell::new(),
            admission: OnceCell::new(),
            reads: Reads::default(),
            objects: Mutex::default(),
            deletions: Mutex::default(),
            deletion_began: Notify::new(),
            creations: Mutex::default(),
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// The identity of the cluster: the uid of the namespace kube-system. Fetched once; `None` if we may not read it.
    pub(crate) async fn uid(&self) -> Result<Option<&str>, Error> {
        let uid = self.uid.get_or_try_init(async || {
            let namespace =
                ObjectRef::new("v1/Namespace".parse().expect("a fixed kind"), None, "kube-system");
            match self.session.read(&namespace).await {
                Ok(found) => {
                    Ok(found.and_then(|reply| Some(reply.object["metadata"]["uid"].as_str()?.to_owned())))
                }
                Err(error) if error.is_server_fault() => Err(error),
                Err(_) => Ok(None),
            }
        });
        Ok(uid.await?.as_deref())
    }

    /// Whether a webhook or a policy may intervene in updates of a kind. They are listed once.
    pub(crate) async fn intervention(&self, gvk: &GroupVersionKind) -> Intervention {
        let list = async || {
            let objects = self.session.list_kinds(Admission::GROUP, &Admission::KINDS).await.ok()?;
            Some(Admission::of(&objects))
        };
        match (self.admission.get_or_init(list).await, self.session.resource(gvk).await) {
            (Some(admission), Ok(resource)) => admission.intervention(gvk.group(), &resource.plural),
            _ => Intervention::Unknown,
        }
    }

    /// Reads an object, by itself or from a recent list of its kind. The object may be a few seconds old; `None` is the
    /// server's current answer.
    pub(crate) async fn read(&self, target: &ObjectRef) -> Result<Option<Reply>, Error> {
        self.reads.read(&self.session, target).await
    }

    /// Reads an object, or reuses what this process read a moment ago.
    pub(crate) async fn cached_or_read(&self, target: &ObjectRef) -> Result<Option<Value>, Error> {
        if let Some(live) = self.take_cached(target) {
            return Ok(Some(live));
        }
        Ok(self.read(target).await?.map(|reply| reply.object))
    }

    /// Caches an object that was read or returned; it belongs to this state.
    pub(crate) fn cache(&self, target: &ObjectRef, live: &Value) {
        let text = live.to_string().into_boxed_str();
        let mut objects = lock(&self.objects);
        let known = objects.entry(key_of(target)).or_default();
        known.live = Some((Instant::now(), text));
        known.ours.get_or_insert(Ours::Before);
    }

    /// What was read of an object a moment ago. Only once, because it gets stale.
    fn take_cached(&self, target: &ObjectRef) -> Option<Value> {
        let (read, live) = lock(&self.objects).get_mut(&key_of(target))?.live.take()?;
        serde_json::from_str(&live).ok().filter(|_| read.elapsed() < MAX_AGE)
    }

    /// Drops an object that was deleted.
    pub(crate) fn forget(&self, target: &ObjectRef) {
        self.reads.forget(target);
        lock(&self.objects).remove(&key_of(target));
    }

    /// Drops what was read of an object that has been written since.
    pub(crate) fn invalidate(&self, target: &ObjectRef) {
        self.reads.forget(target);
        if let Some(known) = lock(&self.objects).get_mut(&key_of(target)) {
            known.live = None;
            known.absent = None;
        }
    }

    /// Records that this state has the object.
    pub(crate) fn mark_ours(&self, target: &ObjectRef) {
        let mut objects = lock(&self.objects);
        objects.entry(key_of(target)).or_default().ours.get_or_insert(Ours::Before);
    }

    /// Records that this state has just created the object.
    pub(crate) fn mark_created(&self, target: &ObjectRef) {
        lock(&self.objects).entry(key_of(target)).or_default().ours = Some(Ours::Created);
    }

    /// Whether this state already had the object, so that it is expected to exist.
    pub(crate) fn was_ours(&self, target: &ObjectRef) -> bool {
        lock(&self.objects).get(&key_of(target)).is_some_and(|known| known.ours == Some(Ours::Before))
    }

    /// Whether this state has the object, as far as this process knows.
    pub(crate) fn is_ours(&self, target: &ObjectRef) -> bool {
        lock(&self.objects).get(&key_of(target)).is_some_and(|known| known.ours.is_some())
    }

    /// Records that an object does not exist.
    pub(crate) fn mark_absent(&self, target: &ObjectRef) {
        lock(&self.objects).entry(key_of(target)).or_default().absent = Some(Instant::now());
    }

    /// Whether an object did not exist a moment ago. Only once: the caller is about to create it.
    pub(crate) fn take_absent(&self, target: &ObjectRef) -> bool {
        let absent = lock(&self.objects).get_mut(&key_of(target)).and_then(|known| known.absent.take());
        absent.is_some_and(|seen| seen.elapsed() < MAX_AGE)
    }

    /// Locks the creation of an object until the guard is dropped: of two resources that name the same object, the
    /// second has to find what the first has created.
    pub(crate) async fn lock_creation(&self, target: &ObjectRef) -> OwnedMutexGuard<()> {
        let creation = Arc::clone(lock(&self.creations).entry(key_of(target)).or_default());
        creation.lock_owned().await
    }

    /// Marks an object as being deleted until the guard is dropped.
    pub(crate) fn begin_deletion(&self, target: &ObjectRef) -> Deletion<'_> {
        let (key, ended) = (key_of(target), CancellationToken::new());
        lock(&self.deletions).insert(key.clone(), ended.clone());
        self.deletion_began.notify_waiters();
        Deletion { cluster: self, key, ended }
    }

    /// Waits for a deletion of the object in this process, which may begin within `begin` and take `end`; returns
    /// whether there was one.
    pub(crate) async fn wait_for_deletion(&self, target: &ObjectRef, begin: Duration, end: Duration) -> bool {
        let key = key_of(target);
        let begun = async {
            loop {
                let next = self.deletion_began.notified();
                if let Some(ended) = lock(&self.deletions).get(&key).cloned() {
                    return ended;
                }
                next.await;
            }
        };
        let Ok(ended) = tokio::time::timeout(begin, begun).await else { return false };
        // The caller reads the object to see whether it was deleted in time.
        let _in_time = tokio::time::timeout(end, ended.cancelled()).await;
        true
    }
}

pub(crate) struct Deletion<'c> {
    cluster: &'c Cluster,
    key: ObjectKey,
    ended: CancellationToken,
}

impl Drop for Deletion<'_> {
    fn drop(&mut self) {
        lock(&self.cluster.deletions).remove(&self.key);
        self.ended.cancel();
    }
}

/// Identifies an object regardless of version.
fn key_of(target: &ObjectRef) -> ObjectKey {
    let namespace = target.namespace.as_ref().map_or("", Namespace::as_str);
    format!("{}/{}/{namespace}/{}", target.group(), target.kind(), target.name)
}

/// The data behind these locks is always consistent, so a panic elsewhere does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
