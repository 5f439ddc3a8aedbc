//! The controller of claims: it binds a claim to an XR, syncs both, and shows the user what the XR reports.

mod connection;
mod finalize;
mod reconcile;
mod sync;

use std::sync::Arc;

use composition::composite::{Composite, Layout};
use composition::event::Event;
use composition::intent::Applied;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::engine::Engine;
use super::kinds::Kind;
use super::watches::{Scope, Watched};
use crate::runtime::controller;
use crate::runtime::events::{EventLog, Recorder};
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key};

/// The source of Events, which is Crossplane's.
const COMPONENT: &str = "offered/compositeresourcedefinition.apiextensions.crossplane.io";

/// Reconciles the claims of `kind` until `stop`.
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
        queue: Queue::default(),
    });
    // An XR that has not been listed yet would look as if it did not exist.
    tokio::select! {
        biased;
        () = stop.cancelled() => return,
        () = binder.xrs.store.wait_until_synced() => {}
    }
    let watches = async {
        tokio::join!(
            binder.queue.watch_objects(binder.claims.store.subscribe()),
            binder.queue.watch(binder.xrs.store.subscribe(), claims_of),
        )
    };
    tokio::select! {
        biased;
        () = controller::run(&binder, &binder.queue, &binder.engine.metrics, stop) => {}
        _ = watches => {}
    }
}

/// Binds the claims of one kind to XRs.
struct Binder {
    engine: Arc<Engine>,
    kind: Arc<Kind>,
    claims: Arc<Watched>,
    xrs: Arc<Watched>,
    queue: Queue<Self>,
    recorder: Recorder,
}

/// What one reconcile of a claim leaves for the next.
#[derive(Default)]
struct ClaimMemory {
    /// The last apply of its XR.
    applied: Option<Applied>,
    /// When its XR was created, until the XR has conditions.
    created: Option<Instant>,
    events: EventLog<Event>,
    /// The uid under which it is counted.
    counted: Option<String>,
}

/// The claims that a changed XR belongs to.
fn claims_of(change: &Change) -> Vec<Key> {
    let claim = |xr| {
        let claim = Composite::new(xr, Layout::Legacy).claim_ref()?;
        Some(Key::from(&claim))
    };
    let mut claims: Vec<Key> = change.sides().filter_map(claim).collect();
    claims.dedup();
    claims
}
