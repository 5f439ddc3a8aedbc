//! Composes XRs again with a changed platform, without writing anything.

use std::collections::BTreeMap;
use std::pin::Pin;

use cluster::Write;
use composition::composite::Composite;
use composition::event::EventType;
use composition::health::{ReconcileFailure, Stage};
use composition::naming::composed_manager;
use composition::object;
use composition::observed::observe;
use composition::platform::Platform;
use composition::preview::{Fate, fates};
use composition::protocol::Object;
use functions::Functions;
use futures::stream::{self, StreamExt as _};
use manifest::ObjectRef;
use manifest::secret::{self, MaskKey};
use serde_json::Value;

use super::live::Live;
use super::outcome::{ComposedOutcome, ComposedPreview, XrPreview};
use super::resolver::{ReadResolver, RightfulResolver};
use crate::composition::pass::{Actor, SecretRights, Steps, observed_state, render};
use crate::composition::recording::Finding;
use crate::runtime::client::{ApiError, ObjectClient};
use crate::runtime::shard::Shard;

/// Max concurrent previews.
const MAX_CONCURRENT: usize = 16;

/// Who may read what a preview shows.
pub trait Readers: Send + Sync {
    fn may_read<'a>(&'a self, target: &'a ObjectRef) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
}

/// Composes XRs with a changed platform.
pub struct Previewer<'a> {
    client: ObjectClient,
    functions: &'a Functions,
    platform: &'a Platform,
    /// Masks the values of Secrets.
    key: MaskKey,
    shard: Shard,
    default_service_account: Option<String>,
    readers: Option<&'a dyn Readers>,
}

impl<'a> Previewer<'a> {
    /// Whatever `client` may read is shown.
    pub fn new(client: ObjectClient, functions: &'a Functions, platform: &'a Platform, key: MaskKey) -> Self {
        let (shard, default_service_account, readers) = (Shard::default(), None, None);
        Self { client, functions, platform, key, shard, default_service_account, readers }
    }

    /// The same, as an operator with these settings composes, for readers with fewer rights.
    pub(crate) fn by_operator(
        self,
        shard: Shard,
        default_service_account: Option<String>,
        readers: &'a dyn Readers,
    ) -> Self {
        Self { shard, default_service_account, readers: Some(readers), ..self }
    }

    /// What would happen to each of these XRs.
    pub async fn preview(&self, xrs: &[Object]) -> Vec<XrPreview> {
        let mut references = Vec::new();
        for xr in xrs {
            if let Some(definition) = self.platform.definition_of(xr) {
                references.extend(Composite::new(xr, definition.scope.layout()).resource_refs());
            }
        }
        let live = Live::of(&self.client, references).await;
        let resolver = ReadResolver::new(self.client.clone());
        let mut previews = Vec::new();
        for xr in xrs {
            previews.push(self.preview_one(xr, &live, &resolver));
        }
        stream::iter(previews).buffered(MAX_CONCURRENT).collect().await
    }

    async fn preview_one(&self, xr: &Object, live: &Live, resolver: &ReadResolver) -> XrPreview {
        let mut preview = XrPreview::default();
        if let Err(failure) = self.compose(xr, live, resolver, &mut preview).await {
            preview.composed.clear();
            preview.failure = Some(failure.text());
        }
        preview
    }

    async fn compose(
        &self,
        xr: &Object,
        live: &Live,
        resolver: &ReadResolver,
        preview: &mut XrPreview,
    ) -> Result<(), ReconcileFailure> {
        let Some(definition) = self.platform.definition_of(xr) else { return Ok(()) };
        let layout = definition.scope.layout();
        let mut xr = xr.clone();
        preview.pruned = self.platform.redefine(&mut xr);
        let selected = self.platform.select(Composite::new(&xr, layout), definition);
        let selected = selected.map_err(|not_selected| not_selected.failure)?;
        let xr = selected.configured.unwrap_or(xr);
        let composite = Composite::new(&xr, layout);

        let mut read = Vec::new();
        for reference in composite.resource_refs() {
            let found = live.read(&self.client, &reference).await.map_err(|error| unreadable(&error))?;
            read.push((reference, found));
        }
        let observed = observe(&xr, read).map_err(|error| {
            let text = format!("cannot get existing composed resources: {error}");
            ReconcileFailure::engine(Stage::Compose, "AnonymousResource", text)
        })?;
        let composition = composite.composition_ref().and_then(|name| self.platform.composition(name));
        let composition = composition.map(|composition| &composition.object);
        let default = self.default_service_account.as_deref();
        let actor = Actor::of(composite, composition, default, &self.client)?;
        let mut events = Vec::new();
        let state = observed_state(composite, &observed, &self.client, &actor, &mut events).await?;

        let client = &self.client;
        let resolver =
            RightfulResolver { all: resolver, rights: SecretRights::new(&actor, &selected.revision) };
        let steps = Steps::new(self.functions, &resolver, client);
        let run = steps.run(&selected.revision, layout, &state, &BTreeMap::new()).await;
        preview.findings = run.outcome.results.iter().map(|it| Finding::of_result(&it.output)).collect();
        if let Some(failure) = run.failure {
            return Err(failure);
        }
        let rendered =
            render(client.session(), &self.shard, &xr, &observed.resources, &run.outcome.desired).await?;
        events.extend(rendered.events);
        let warnings = events.iter().filter(|event| event.kind == EventType::Warning);
        preview.findings.extend(warnings.map(Finding::of_event));
        preview.manager = composed_manager(object::name(&xr).unwrap_or_default(), &definition.composite);
        let uid = object::uid(&xr).unwrap_or_default();
        let fates = fates(uid, &observed.resources, rendered.resources, &preview.manager);
        let fates = fates.map_err(|error| {
            let text =
                format!("cannot garbage collect composed resources that are no longer desired: {error}");
            ReconcileFailure::engine(Stage::Compose, "ControlledByOther", text)
        })?;
        let manager = preview.manager.as_str();
        // All at once: the number of XRs limits them.
        let mut composed = Vec::new();
        for (key, fate) in fates {
            composed.push(self.composed(key, fate, live, &actor, manager));
        }
        preview.composed = futures::future::join_all(composed).await.into_iter().flatten().collect();
        Ok(())
    }

    /// What would become of one composed resource; nothing if it is on its way out already.
    async fn composed(
        &self,
        key: String,
        fate: Fate,
        live: &Live,
        actor: &Actor,
        manager: &str,
    ) -> Option<ComposedPreview> {
        let (target, outcome) = match fate {
            Fate::Keep(target) => (target, ComposedOutcome::Unchanged),
            Fate::Delete(target) => {
                let found = live.read(&self.client, &target).await.ok().flatten();
                if found.as_ref().is_some_and(object::is_being_deleted) {
                    return None;
                }
                let found = if self.may_read(&target).await { found } else { None };
                let finalizers = found.as_ref().map(|live| object::texts(live, &["metadata", "finalizers"]));
                let (before, finalizers) = (found.map(|it| self.shown(it)), finalizers.unwrap_or_default());
                (target, ComposedOutcome::Deleted { before, finalizers })
            }
            Fate::Apply(composed) => {
                let target = composed.reference;
                let outcome = if self.may_read(&target).await {
                    self.dry_run(&target, composed.intent, live, actor, manager).await
                } else {
                    ComposedOutcome::Hidden
                };
                (target, outcome)
            }
        };
        Some(ComposedPreview { key, object: (&target).into(), outcome })
    }

    async fn dry_run(
        &self,
        target: &ObjectRef,
        intent: Object,
        live: &Live,
        actor: &Actor,
        manager: &str,
    ) -> ComposedOutcome {
        let before = match live.read(&self.client, target).await {
            Ok(before) => before,
            Err(error) => return refused(&error),
        };
        let mut intent = Value::Object(intent);
        let write = Write::by(manager).force().strict_scope().dry_run();
        match actor.client.session().apply(target, &intent, write).await {
            Ok(reply) => {
                secret::normalise(&mut intent);
                ComposedOutcome::Applied {
                    intent: secret::masked_within(&intent, &self.key),
                    before: before.map(|before| self.shown(before)),
                    after: self.shown(object::from_value(reply.object)),
                    warnings: reply.warnings,
                }
            }
            Err(error) => refused(&error.into()),
        }
    }

    async fn may_read(&self, target: &ObjectRef) -> bool {
        match self.readers {
            Some(readers) => readers.may_read(target).await,
            None => true,
        }
    }

    /// An object without its status, and without the values of a Secret.
    fn shown(&self, mut object: Object) -> Value {
        object.remove("status");
        secret::masked_within(&Value::Object(object), &self.key)
    }
}

fn unreadable(error: &ApiError) -> ReconcileFailure {
    let what = "cannot get existing composed resources: cannot get composed resource";
    ReconcileFailure::engine(Stage::Compose, error.class(), format!("{what}: {}", error.text()))
}

fn refused(error: &ApiError) -> ComposedOutcome {
    match error {
        ApiError::Cluster(error) => {
            let found = error.diagnostic("Plan");
            ComposedOutcome::Refused { summary: found.summary, detail: found.detail, hint: found.hint }
        }
        error => ComposedOutcome::Refused { summary: error.text(), detail: String::new(), hint: None },
    }
}
