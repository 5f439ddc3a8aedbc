//! One cluster for each distinct connection, with what this process has seen and done there.

mod reads;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::{ConnectError, Connection, Environment, Error, Reply, Session};
use manifest::ObjectRef;
use serde_json::Value;
use tfplugin::CancellationToken;
use tokio::sync::{Notify, OnceCell, OwnedMutexGuard};
use tokio::time::Instant;

use reads::Reads;

/// How the API server's audit log knows us.
const USER_AGENT: &str = concat!("terraform-provider-k8sconnect/", env!("CARGO_PKG_VERSION"));

/// How long something seen is as good as something seen just now. Terraform plans a resource right after reading it.
const FRESH: Duration = Duration::from_secs(30);

/// All clusters of this process.
pub(crate) struct Clusters {
    environment: Environment,
    open: Mutex<HashMap<Connection, Arc<Cluster>>>,
}

/// A cluster, and what this process remembers of it.
pub(crate) struct Cluster {
    session: Session,
    uid: OnceCell<Option<String>>,
    reads: Reads,
    memory: Mutex<HashMap<Place, Memory>>,
    deletions: Mutex<HashMap<Place, CancellationToken>>,
    deletion_began: Notify,
    creations: Mutex<HashMap<Place, Arc<tokio::sync::Mutex<()>>>>,
}

/// Where an object is, whatever the version it is asked for in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

/// What is remembered of one object.
#[derive(Default)]
struct Memory {
    /// As it was read, until somebody uses it; as text, which takes a fraction of the memory.
    live: Option<(Instant, Box<str>)>,
    /// When a dry run said that it does not exist.
    absent: Option<Instant>,
    /// Whether this state has it, as far as is known.
    ours: Option<Ours>,
}

/// Since when this state has an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ours {
    /// It had it before.
    Before,
    /// One resource has created it in this process, so that no other can.
    Created,
}

impl Clusters {
    pub(crate) fn new(environment: Environment) -> Self {
        Self { environment, open: Mutex::default() }
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The cluster of `connection`. Sends nothing, so it does not keep others waiting for long.
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
            reads: Reads::default(),
            memory: Mutex::default(),
            deletions: Mutex::default(),
            deletion_began: Notify::new(),
            creations: Mutex::default(),
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// What tells this cluster from others for good: the uid of its namespace kube-system. Asked for once; `None` if we
    /// may not read it.
    pub(crate) async fn uid(&self) -> Result<Option<&str>, Error> {
        let uid = self.uid.get_or_try_init(async || {
            let namespace =
                ObjectRef::new("v1/Namespace".parse().expect("a fixed kind"), None, "kube-system");
            match self.session.read(&namespace).await {
                Ok(found) => Ok(found.and_then(|reply| text(&reply.object["metadata"]["uid"]))),
                Err(error) if error.is_server_trouble() => Err(error),
                Err(_) => Ok(None),
            }
        });
        Ok(uid.await?.as_deref())
    }

    /// Reads an object, alone or with others of its kind that were asked for lately. What comes may be a few seconds old;
    /// `None` is the server's own word at this moment.
    pub(crate) async fn read(&self, target: &ObjectRef) -> Result<Option<Reply>, Error> {
        self.reads.read(&self.session, target).await
    }

    /// Reads an object, or takes what was read of it a moment ago in this process.
    pub(crate) async fn look(&self, target: &ObjectRef) -> Result<Option<Value>, Error> {
        if let Some(live) = self.recall(target) {
            return Ok(Some(live));
        }
        Ok(self.read(target).await?.map(|reply| reply.object))
    }

    /// Remembers an object as it was read or answered; it belongs to this state.
    pub(crate) fn remember(&self, target: &ObjectRef, live: &Value) {
        let text = live.to_string().into_boxed_str();
        let mut memory = lock(&self.memory);
        let memory = memory.entry(Place::of(target)).or_default();
        memory.live = Some((Instant::now(), text));
        memory.ours.get_or_insert(Ours::Before);
    }

    /// What was read of an object a moment ago; once only, as it gets older.
    pub(crate) fn recall(&self, target: &ObjectRef) -> Option<Value> {
        let (read, live) = lock(&self.memory).get_mut(&Place::of(target))?.live.take()?;
        serde_json::from_str(&live).ok().filter(|_| read.elapsed() < FRESH)
    }

    /// Forgets an object, because it is gone.
    pub(crate) fn forget(&self, target: &ObjectRef) {
        self.reads.forget(target);
        lock(&self.memory).remove(&Place::of(target));
    }

    /// Forgets what was seen of an object, because it was written.
    pub(crate) fn wrote(&self, target: &ObjectRef) {
        self.reads.forget(target);
        if let Some(memory) = lock(&self.memory).get_mut(&Place::of(target)) {
            memory.live = None;
            memory.absent = None;
        }
    }

    /// Remembers that this state has the object.
    pub(crate) fn mark_ours(&self, target: &ObjectRef) {
        let mut memory = lock(&self.memory);
        memory.entry(Place::of(target)).or_default().ours.get_or_insert(Ours::Before);
    }

    /// Remembers that this state has the object since just now.
    pub(crate) fn mark_created(&self, target: &ObjectRef) {
        lock(&self.memory).entry(Place::of(target)).or_default().ours = Some(Ours::Created);
    }

    /// Whether this state had the object before, so that finding it there is no surprise.
    pub(crate) fn was_ours(&self, target: &ObjectRef) -> bool {
        lock(&self.memory).get(&Place::of(target)).is_some_and(|memory| memory.ours == Some(Ours::Before))
    }

    /// Whether this state has the object, as far as this process has seen.
    pub(crate) fn is_ours(&self, target: &ObjectRef) -> bool {
        lock(&self.memory).get(&Place::of(target)).is_some_and(|memory| memory.ours.is_some())
    }

    /// Remembers that an object does not exist.
    pub(crate) fn mark_absent(&self, target: &ObjectRef) {
        lock(&self.memory).entry(Place::of(target)).or_default().absent = Some(Instant::now());
    }

    /// Whether an object did not exist a moment ago. Once only: whoever asks is about to create it.
    pub(crate) fn take_absent(&self, target: &ObjectRef) -> bool {
        let absent = lock(&self.memory).get_mut(&Place::of(target)).and_then(|memory| memory.absent.take());
        absent.is_some_and(|seen| seen.elapsed() < FRESH)
    }

    /// Waits for one's turn to create an object, which lasts until the guard is dropped: of two resources that name the
    /// same object, the second has to find what the first has created.
    pub(crate) async fn turn_to_create(&self, target: &ObjectRef) -> OwnedMutexGuard<()> {
        let turn = Arc::clone(lock(&self.creations).entry(Place::of(target)).or_default());
        turn.lock_owned().await
    }

    /// Says that an object is being deleted, until the guard is dropped.
    pub(crate) fn begin_deletion(&self, target: &ObjectRef) -> Deletion<'_> {
        let (place, ended) = (Place::of(target), CancellationToken::new());
        lock(&self.deletions).insert(place.clone(), ended.clone());
        self.deletion_began.notify_waiters();
        Deletion { cluster: self, place, ended }
    }

    /// Waits for the end of a deletion of the object in this process, which may begin within `begin` and take `end`.
    /// Says whether there was one.
    pub(crate) async fn deletion_of(&self, target: &ObjectRef, begin: Duration, end: Duration) -> bool {
        let place = Place::of(target);
        let begun = async {
            loop {
                let next = self.deletion_began.notified();
                if let Some(ended) = lock(&self.deletions).get(&place).cloned() {
                    return ended;
                }
                next.await;
            }
        };
        let Ok(ended) = tokio::time::timeout(begin, begun).await else { return false };
        // Whether it is gone in time, a look will tell.
        let _in_time = tokio::time::timeout(end, ended.cancelled()).await;
        true
    }
}

/// A deletion that is going on.
pub(crate) struct Deletion<'c> {
    cluster: &'c Cluster,
    place: Place,
    ended: CancellationToken,
}

impl Drop for Deletion<'_> {
    fn drop(&mut self) {
        lock(&self.cluster.deletions).remove(&self.place);
        self.ended.cancel();
    }
}

impl Place {
    fn of(target: &ObjectRef) -> Self {
        Self {
            group: target.group().to_owned(),
            kind: target.kind().to_owned(),
            namespace: target.namespace.as_ref().map_or_else(String::new, ToString::to_string),
            name: target.name.clone(),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// What is behind these locks is whole at every moment, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
