//! Runs the pipeline of a revision for an XR, with required resources from stores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use composition::composition::Composition;
use composition::protocol::{Requirements, State};
use composition::requeue::ContentHash;

use super::Composer;
use super::required::StoreResolver;
use crate::composition::pass::{Actor, Steps, StepsRun};
use crate::composition::recording::Recorder;
use crate::composition::watches::{Scope, Watched};

/// The result of a pipeline, and what it depended on.
pub(super) struct PipelineRun {
    pub(super) run: StepsRun,
    /// The scopes of what was required, including those that matched nothing.
    pub(super) scopes: BTreeSet<Scope>,
    /// The objects of these scopes that functions were given, in the order of the scopes.
    pub(super) given: Vec<ContentHash>,
    /// The stores of `scopes`, to be kept until the XR depends on them.
    pub(super) stores: Vec<Arc<Watched>>,
}

impl Composer {
    /// Runs the steps until one fails. `before` is what each step required last time.
    pub(super) async fn run_pipeline(
        &self,
        revision: &Composition,
        observed: &Arc<State>,
        before: &BTreeMap<String, Requirements>,
        actor: &Actor,
        recorder: Option<&Recorder>,
    ) -> PipelineRun {
        let engine = &self.engine;
        let resolver = StoreResolver::new(engine, actor, revision);
        let steps = Steps::new(&engine.functions, &resolver, &engine.client);
        let steps = steps.reported(&engine.counts, recorder);
        let run = steps.run(revision, self.layout, observed, before).await;
        let (scopes, opened) = resolver.into_opened().into_iter().unzip::<_, _, BTreeSet<_>, Vec<_>>();
        let (stores, given) = opened.into_iter().unzip::<_, Vec<_>, Vec<_>, Vec<_>>();
        let given = given.into_iter().flatten().collect();
        PipelineRun { run, scopes, given, stores }
    }
}
