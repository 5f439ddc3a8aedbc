//! The controller of claims: binds a claim to an XR, keeps both in step, and shows the user what the XR has to say.

mod connection;
mod deletion;
mod pass;
mod sync;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use composition::composite::{Composite, Layout};
use composition::event::{self, Event};
use composition::intent::Applied;
use composition::run::Object;
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::children::{Scope, Watched};
use super::engine::Engine;
use super::kinds::Kind;
use super::tell;
use crate::events::Recorder;
use crate::store::Key;
use crate::work::Work;

/// Who the Events of this controller are from, as in the reference.
const COMPONENT: &str = "offered/compositeresourcedefinition.apiextensions.crossplane.io";
/// As many claims as are gone over at a time; most wait for their turn to write.
const AT_ONCE: usize = 1000;

/// Goes over the claims of `kind` until it is told to stop.
pub(super) async fn run(engine: Arc<Engine>, kind: Arc<Kind>, stop: CancellationToken) {
    let Some(claim) = kind.claim.clone() else { return };
    let claims = engine.watches.open(&Scope::all(claim));
    let xrs = engine.watches.open(&Scope::whole(kind.composite.clone()));
    let binder = Arc::new(Binder {
        recorder: engine.events.recorder(COMPONENT).of_controller(&format!("claim/{}", kind.name())),
        engine,
        kind,
        claims,
        xrs,
        work: Work::new(),
        memories: Mutex::default(),
    });
    // A claim says little without its XR: what is not read yet would look as if it did not exist.
    tokio::select! {
        () = stop.cancelled() => return,
        () = binder.xrs.store.synced() => {}
    }
    let follow = async { tokio::join!(binder.follow_claims(), binder.follow_xrs()) };
    let work = binder.work.clone();
    let passes = work.run(AT_ONCE, stop.clone(), {
        let binder = Arc::clone(&binder);
        move |key| {
            let binder = Arc::clone(&binder);
            async move { binder.pass(key).await }
        }
    });
    tokio::pin!(passes);
    tokio::select! {
        () = &mut passes => {}
        _ = follow => passes.await,
    }
}

/// The claims of one kind.
struct Binder {
    engine: Arc<Engine>,
    kind: Arc<Kind>,
    claims: Arc<Watched>,
    xrs: Arc<Watched>,
    work: Work<Key>,
    recorder: Recorder,
    memories: Mutex<HashMap<Key, Memory>>,
}

/// What is remembered of a claim from pass to pass. All of it can be lost.
#[derive(Default)]
struct Memory {
    /// The apply of its XR.
    applied: Option<Applied>,
    /// When its XR was created, until that has something to say.
    created: Option<Instant>,
    /// What the last pass had to say; nothing is known of what was said before this process began.
    said: Option<BTreeSet<Event>>,
    /// Passes that failed in a row.
    failures: u32,
    /// The uid under which it is counted.
    counted: Option<String>,
}

impl Binder {
    async fn follow_claims(&self) {
        let mut changes = self.claims.store.subscribe();
        while let Some(change) = changes.recv().await {
            self.work.now(change.key);
        }
    }

    /// An XR that changes, comes or goes concerns the claim it serves.
    async fn follow_xrs(&self) {
        let mut changes = self.xrs.store.subscribe();
        while let Some(change) = changes.recv().await {
            let served = |object: &Option<Arc<serde_json::Value>>| {
                let claim = Composite::new(object.as_ref()?.as_object()?, Layout::Legacy).claim_ref()?;
                Some(Key { namespace: claim.namespace.map(|it| it.as_str().to_owned()), name: claim.name })
            };
            let mut claims: Vec<Key> =
                [&change.before, &change.after].into_iter().filter_map(served).collect();
            claims.dedup();
            for claim in claims {
                self.work.now(claim);
            }
        }
    }

    /// Records what the last pass did not already say. `stands` says that the claim's status was already as the pass leaves
    /// it: then the engine that wrote it may have said so, even if this one was not there.
    async fn tell(&self, claim: &Object, memory: &mut Memory, events: Vec<Event>, stands: bool) {
        let may_be_told = stands && memory.said.is_none();
        let before = memory.said.take().unwrap_or_default();
        let has_expired = may_be_told && event::have_expired(claim, Timestamp::now());
        for news in event::changed(&before, &events) {
            if !(has_expired || may_be_told && tell::is_told(&self.recorder, claim, &news).await) {
                tell::record(&self.recorder, claim, &news);
            }
        }
        memory.said = Some(events.into_iter().collect());
    }

    fn memories(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
