//! Compositions: XRDs define kinds, Compositions say what an XR is made of, functions decide it, claims stand for XRs.
//!
//! ```text
//!  XRD ──▶ definition ──▶ CRDs of XR and claim ──▶ kinds ──┬──▶ composite   an XR and its composed resources
//!  Composition ──▶ revision ──▶ catalogue ─────────────────┤
//!  Function, FunctionRevision ──▶ function ────────────────┴──▶ claim       a claim and its XR
//! ```
//!
//! Each of `definition`, `revision`, `function`, `composite` and `claim` is a [`Reconciler`] on the runtime's loop.
//!
//! [`Reconciler`]: crate::runtime::controller::Reconciler

mod access;
mod catalogue;
mod certificates;
mod claim;
mod composite;
pub mod crds;
mod definition;
mod engine;
mod events;
mod function;
mod kinds;
pub mod metrics;
pub mod pass;
pub mod preview;
pub mod recording;
pub mod requests;
mod revision;
mod schema;
mod watches;

use std::sync::{Arc, Mutex, PoisonError};

use composition::catalogue::composition_of;
use diag::error_chain;
use functions::{Certificates, CertificatesError, Functions};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::run::Context;
use crate::runtime::client::ObjectClient;
use crate::runtime::controller;
use crate::runtime::health::Readiness;
use crate::runtime::store::{Change, Source, Store};
use crate::runtime::supervisor::supervise;
pub use access::denied as denied_verbs;
use catalogue::Catalogue;
use certificates::Identities;
pub use certificates::{function_secret, installed_by_crossplane};
use definition::Definitions;
use engine::Engine;
use function::{FunctionController, FunctionLocations, OwnAuthority};
use revision::{Revisions, Subject};
use watches::Watches;

/// Crossplane's name as a field manager; an engine that takes its place owns the same fields.
const MANAGER: &str = "crossplane";

/// Runs the controllers until `stop`, and returns when all have ended.
pub async fn run(context: Context, stop: CancellationToken) {
    if let Err(error) = try_run(context, stop).await {
        tracing::error!(error = error_chain(&error), "cannot use the certificates for functions");
    }
}

async fn try_run(context: Context, stop: CancellationToken) -> Result<(), CertificatesError> {
    let Context { session, events, metrics, options, readiness, leadership, functions: in_process, .. } =
        context;
    let settings = &options.functions;
    let locations = Arc::new(FunctionLocations::new(settings.endpoints.clone()));
    let functions = {
        let locations = Arc::clone(&locations);
        let options = functions::Options {
            certificates: settings.certs_dir.clone().map(Certificates::Folder).into_iter().collect(),
            addresses: settings.addresses.clone(),
            timeout: settings.timeout,
            concurrency: settings.concurrency,
            max_wait: settings.max_wait,
            max_message: settings.max_message,
            max_memory: settings.max_memory,
            ..functions::Options::default()
        };
        let functions = Functions::new(options, move |name| locations.locate(name))?;
        match in_process {
            Some(runner) => functions.in_process(runner),
            None => functions,
        }
    };
    let own_namespace = options.namespace.as_ref().map(|namespace| namespace.as_str().to_owned());
    let namespace = own_namespace.unwrap_or_else(|| session.client().default_namespace().to_owned());
    let engine = Arc::new(Engine {
        watches: Watches::new(session.clone(), options.shard.clone(), metrics.clone(), stop.clone()),
        shard: options.shard.clone(),
        client: ObjectClient::new(session).while_leading(leadership),
        clock: events.clock(),
        began: Instant::now(),
        counts: metrics.part(),
        events,
        metrics,
        functions,
        catalogue: Catalogue::new(),
        functions_moved: locations.moves(),
        default_service_account: options.default_service_account.clone(),
        recordings: recording::Recordings::default(),
        stop,
    });
    let identities = Arc::new(Identities::new(settings.certs_dir.clone()));
    let authority = Arc::new(OwnAuthority::new(&namespace));
    let starting = async {
        certificates::watch(&engine, &identities, &namespace).await;
        authority.resume(&engine, &identities).await;
        Stores::start(&engine, &readiness).await
    };
    let stores = tokio::select! {
        biased;
        stores = starting => stores,
        () = engine.stop.cancelled() => return Ok(()),
    };
    let functions = FunctionController::new(
        &engine,
        Arc::clone(&identities),
        authority,
        Arc::clone(&locations),
        &stores,
        &namespace,
    );
    let (metrics, stop) = (&engine.metrics, &engine.stop);
    let follow_crossplane = || certificates::follow_crossplane(&engine, &identities, &locations);
    let report_unsupported = || function::report_unsupported(&engine);
    let answer_requests = || requests::run(&engine, &locations);
    tokio::select! {
        () = stores.run_controllers(&engine, &readiness, Arc::clone(&locations), functions) => {}
        () = supervise("certificates", metrics, stop, follow_crossplane) => {}
        () = supervise("package", metrics, stop, report_unsupported) => {}
        () = supervise("request", metrics, stop, answer_requests) => {}
    }
    Ok(())
}

/// The objects of the engine's own kinds.
struct Stores {
    xrds: Store,
    compositions: Store,
    revisions: Store,
    functions: Store,
    function_revisions: Store,
}

impl Stores {
    /// Returns when all are synced.
    async fn start(engine: &Engine, readiness: &Readiness) -> Self {
        let start = |kind: &str| {
            let gvk = kind.parse().expect("a valid kind");
            let source = Source::of(gvk).without_managed_fields();
            engine.start_store(source)
        };
        let stores = Self {
            xrds: start("apiextensions.crossplane.io/v1/CompositeResourceDefinition"),
            compositions: start("apiextensions.crossplane.io/v1/Composition"),
            revisions: start("apiextensions.crossplane.io/v1/CompositionRevision"),
            functions: start("pkg.crossplane.io/v1/Function"),
            function_revisions: start("pkg.crossplane.io/v1/FunctionRevision"),
        };
        let Self { xrds, compositions, revisions, functions, function_revisions } = &stores;
        let all = [xrds, compositions, revisions, functions, function_revisions];
        for store in &all {
            readiness.requires(store);
        }
        for store in all {
            store.wait_until_synced().await;
        }
        stores
    }

    async fn run_controllers(
        self,
        engine: &Arc<Engine>,
        readiness: &Readiness,
        locations: Arc<FunctionLocations>,
        functions: FunctionController,
    ) {
        let update_locations = || locations.update(&self.function_revisions, &self.functions);
        update_locations();
        let definitions =
            Arc::new(Definitions::new(Arc::clone(engine), self.xrds.clone(), readiness.clone()));
        let revisions = Arc::new(Revisions::new(Arc::clone(engine), Arc::clone(&locations), &self));
        let functions = Arc::new(functions);

        let on_composition = |change: &Change| {
            engine.catalogue.composition_changed(change);
            [Subject::Composition(change.key.name.clone())]
        };
        let on_revision = |change: &Change| {
            engine.catalogue.revision_changed(change);
            let compositions = change.sides().filter_map(composition_of);
            let compositions = compositions.map(|name| Subject::Composition(name.to_owned()));
            compositions.chain([Subject::Revision(change.key.name.clone())]).collect::<Vec<_>>()
        };
        let on_function_revision = |change: &Change| {
            update_locations();
            let packages = function::packages(change).into_iter();
            let known = engine.catalogue.read();
            let revisions = packages.flat_map(|package| {
                let running = known.revisions_with(&package).map(|(name, _)| name.to_owned());
                running.collect::<Vec<_>>()
            });
            revisions.map(Subject::Revision).collect::<Vec<_>>()
        };
        let on_function = |change: &Change| {
            update_locations();
            [change.key.name.clone()]
        };
        // XRs are reconciled only when the catalogue has the Compositions that exist.
        let subscribe = || (self.compositions.subscribe(), self.revisions.subscribe());
        let (mut compositions, mut composition_revisions) = subscribe();
        revisions.queue.drain(&mut compositions, on_composition);
        revisions.queue.drain(&mut composition_revisions, on_revision);

        let stop = &engine.stop;
        let drained = Mutex::new(Some((compositions, composition_revisions)));
        let run_revisions = || async {
            let drained = drained.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (compositions, composition_revisions) = drained.unwrap_or_else(subscribe);
            tokio::select! {
                biased;
                () = controller::run(&revisions, &revisions.queue, &engine.metrics, stop.clone()) => {}
                () = revisions.queue.watch(compositions, on_composition) => {}
                () = revisions.queue.watch(composition_revisions, on_revision) => {}
                () = revisions.queue.watch(self.function_revisions.subscribe(), on_function_revision) => {}
            }
        };
        let run_functions = || async {
            tokio::select! {
                biased;
                () = controller::run(&functions, &functions.queue, &engine.metrics, stop.clone()) => {}
                () = functions.watch(on_function) => {}
            }
        };
        tokio::join!(
            supervise("definition", &engine.metrics, stop, || definitions.run()),
            supervise("composition", &engine.metrics, stop, run_revisions),
            supervise("function", &engine.metrics, stop, run_functions),
        );
        definitions.end().await;
    }
}
