//! The composition half: XRDs make kinds, Compositions say what an XR is made of, functions decide it, claims stand for XRs.
//!
//! ```text
//!  XRD ──▶ definition ──▶ CRDs of XR and claim ──▶ kinds ──┬──▶ composite   an XR and what it is composed of
//!  Composition ──▶ revision ──▶ catalogue ─────────────────┤
//!  Function, FunctionRevision ──▶ function ────────────────┴──▶ claim       a claim and its XR
//! ```
//!
//! What to do is decided in `composition`; here it is read, done and written.

mod catalogue;
mod certificates;
mod children;
mod claim;
mod composite;
pub mod crds;
mod definition;
mod engine;
mod finalizer;
mod function;
mod kinds;
mod revision;
mod schema;
mod tell;
mod writer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cluster::Session;
use functions::{Certificates, CertificatesError, Functions};
use tokio_util::sync::CancellationToken;

use crate::events::Events;
use crate::metrics::Metrics;
use crate::store::{Changes, Source, Store};
use crate::work::Work;
use catalogue::Catalogue;
use children::Watches;
use definition::Definitions;
use engine::Engine;
use function::Places;
use revision::{Revisions, Subject};
use writer::Writer;

/// The name under which the reference updates objects; who takes its place holds the same fields.
const MANAGER: &str = "crossplane";

/// How functions are found and called.
#[derive(Clone, Debug)]
pub struct Options {
    /// Endpoints of functions by name, which beat whatever objects say.
    pub functions: BTreeMap<String, String>,
    /// A folder with the engine's certificates.
    pub certificates: Option<PathBuf>,
    /// The namespace of the operator, whose Secret `plimsoll-tls-client` has the certificates if no folder is given.
    pub namespace: String,
    /// How long one call of a function may take.
    pub timeout: Duration,
    /// How many calls of one function may be under way at a time.
    pub concurrency: usize,
    /// How large a request or an answer may be, in bytes.
    pub max_message: usize,
}

impl Default for Options {
    fn default() -> Self {
        let how = functions::Options::default();
        Self {
            functions: BTreeMap::new(),
            certificates: None,
            namespace: "default".to_owned(),
            timeout: how.timeout,
            concurrency: how.concurrency,
            max_message: how.max_message,
        }
    }
}

/// Why compositions cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The certificates for functions cannot be used.
    #[error("cannot use the certificates for functions")]
    Certificates(#[from] CertificatesError),
}

/// Runs compositions until `stop`, and returns when everything has ended.
pub async fn run(
    session: Session,
    events: Events,
    metrics: Metrics,
    options: Options,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let places = Arc::new(Places::new(options.functions));
    let functions = {
        let places = Arc::clone(&places);
        let how = functions::Options {
            certificates: options.certificates.clone().map(Certificates::Folder),
            timeout: options.timeout,
            concurrency: options.concurrency,
            max_message: options.max_message,
            ..functions::Options::default()
        };
        Functions::new(how, move |name| places.locate(name))?
    };
    let engine = Arc::new(Engine {
        writer: Writer::new(session.clone()),
        watches: Watches::new(session.clone(), stop.clone()),
        events,
        metrics,
        functions,
        catalogue: Catalogue::new(),
        functions_moved: places.moves(),
        stop,
        session,
    });
    let starting = async {
        if options.certificates.is_none() {
            certificates::follow(&engine, &options.namespace).await;
        }
        Stores::start(&engine).await
    };
    let stores = tokio::select! {
        stores = starting => stores,
        () = engine.stop.cancelled() => return Ok(()),
    };
    stores.serve(Arc::clone(&engine), places).await;
    Ok(())
}

/// Live copies of the kinds of the engine itself.
struct Stores {
    xrds: Store,
    compositions: Store,
    revisions: Store,
    functions: Store,
    function_revisions: Store,
}

impl Stores {
    /// Copies that have everything.
    async fn start(engine: &Engine) -> Self {
        let start = |kind: &str| {
            let gvk = kind.parse().expect("it is the name of a kind");
            let source = Source::of(gvk).without_managed_fields();
            Store::start(engine.session.clone(), source, &engine.stop)
        };
        let stores = Self {
            xrds: start("apiextensions.crossplane.io/v1/CompositeResourceDefinition"),
            compositions: start("apiextensions.crossplane.io/v1/Composition"),
            revisions: start("apiextensions.crossplane.io/v1/CompositionRevision"),
            functions: start("pkg.crossplane.io/v1/Function"),
            function_revisions: start("pkg.crossplane.io/v1/FunctionRevision"),
        };
        let Self { xrds, compositions, revisions, functions, function_revisions } = &stores;
        for store in [xrds, compositions, revisions, functions, function_revisions] {
            store.synced().await;
        }
        stores
    }

    /// Runs the controllers until the engine stops.
    async fn serve(self, engine: Arc<Engine>, places: Arc<Places>) {
        places.take(&self.function_revisions, &self.functions);
        let (subjects, annotated) = (Work::new(), Work::new());
        let mut feed = Feed {
            engine: Arc::clone(&engine),
            places: Arc::clone(&places),
            compositions: self.compositions.subscribe(),
            revisions: self.revisions.subscribe(),
            functions: self.functions.subscribe(),
            function_revisions: self.function_revisions.subscribe(),
            subjects: subjects.clone(),
            annotated: annotated.clone(),
        };
        // No XR is gone over before the Compositions that are there are known.
        feed.take_all(&self);
        let functions = self.functions.clone();
        let definitions = Definitions::new(Arc::clone(&engine), self.xrds.clone());
        let revisions = Revisions::new(Arc::clone(&engine), places);
        let controllers = async {
            tokio::join!(
                definitions.run(),
                revisions.run(subjects),
                function::watch_over(engine, functions, annotated),
            )
        };
        tokio::select! {
            _ = controllers => {}
            () = feed.run(&self) => {}
        }
    }
}

/// Takes changes in and names who is to be gone over because of them.
struct Feed {
    engine: Arc<Engine>,
    places: Arc<Places>,
    compositions: Changes,
    revisions: Changes,
    functions: Changes,
    function_revisions: Changes,
    subjects: Work<Subject>,
    annotated: Work<String>,
}

/// A change of one of the kinds.
enum Changed {
    Composition(crate::store::Change),
    Revision(crate::store::Change),
    Function(crate::store::Change),
    FunctionRevision(crate::store::Change),
}

impl Feed {
    /// Takes in all that is there already.
    fn take_all(&mut self, stores: &Stores) {
        while let Ok(change) = self.compositions.try_recv() {
            self.take(&Changed::Composition(change), stores);
        }
        while let Ok(change) = self.revisions.try_recv() {
            self.take(&Changed::Revision(change), stores);
        }
    }

    /// Takes changes in for as long as there are any.
    async fn run(mut self, stores: &Stores) {
        loop {
            let changed = tokio::select! {
                Some(change) = self.compositions.recv() => Changed::Composition(change),
                Some(change) = self.revisions.recv() => Changed::Revision(change),
                Some(change) = self.functions.recv() => Changed::Function(change),
                Some(change) = self.function_revisions.recv() => Changed::FunctionRevision(change),
                // The stores live as long as this does, so there is always more to come.
                else => std::future::pending().await,
            };
            self.take(&changed, stores);
        }
    }

    fn take(&self, changed: &Changed, stores: &Stores) {
        match changed {
            Changed::Composition(change) => {
                self.engine.catalogue.composition_changed(change);
                self.subjects.now(Subject::Composition(change.key.name.clone()));
            }
            Changed::Revision(change) => {
                self.engine.catalogue.revision_changed(change);
                self.subjects.now(Subject::Revision(change.key.name.clone()));
                let named = [&change.before, &change.after].into_iter().flatten();
                for composition in named.filter_map(|revision| catalogue::composition_named(revision)) {
                    self.subjects.now(Subject::Composition(composition));
                }
            }
            Changed::Function(change) => {
                self.places.take(&stores.function_revisions, &stores.functions);
                self.annotated.now(change.key.name.clone());
            }
            Changed::FunctionRevision(change) => {
                self.places.take(&stores.function_revisions, &stores.functions);
                for package in function::packages(change) {
                    for revision in self.engine.catalogue.revisions_with(&package) {
                        self.subjects.now(Subject::Revision(revision));
                    }
                }
            }
        }
    }
}
