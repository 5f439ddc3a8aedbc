//! Installs the package of a Function: writes its revisions, and runs the active one.

use std::time::Duration;

use cluster::Propagation;
use composition::intent::Applied;
use composition::object;
use composition::package::health::{NOT_DONE, Standing, revision_status, unavailable};
use composition::package::revisions::Revisions;
use composition::package::runtime::Runtime;
use composition::protocol::Object;
use diag::error_chain;
use manifest::ObjectRef;
use serde_json::Value;
use tokio::time::Instant;

use super::{FunctionController, locations};
use crate::composition::MANAGER;
use crate::runtime::client::{self, ApiError};
use crate::runtime::controller::ReconcileError;
use crate::runtime::store::Key;

/// How often to check that what runs is as it should be, though nothing is known to have changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(3600);

/// What one reconcile of a Function leaves for the next.
#[derive(Default)]
pub(in crate::composition) struct Installed {
    /// The runtime that was found to be in place, and when.
    checked: Option<(Runtime, Instant)>,
}

/// Why a function does not run.
enum NotRunning {
    Conflict,
    Because(String),
}

impl From<ApiError> for NotRunning {
    fn from(error: ApiError) -> Self {
        if error.is_conflict() { Self::Conflict } else { Self::Because(error.text()) }
    }
}

impl FunctionController {
    pub(super) async fn install(
        &self,
        name: &str,
        function: &Object,
        planned: &Revisions,
        memory: &mut Installed,
    ) -> Result<Standing, ReconcileError<String>> {
        let active = self.write_revisions(planned).await?;
        self.remove_deployments(name, active.as_ref()).await?;
        let Some(active) = active else {
            memory.checked = None;
            return Ok(Standing::Inactive { current: planned.current.clone() });
        };
        let active_name = object::name(&active).unwrap_or_default();
        let about = if active_name == planned.current {
            NOT_DONE.to_owned()
        } else {
            format!(
                "revision {active_name} is active; {} waits for its activation. {NOT_DONE}",
                planned.current
            )
        };
        let trouble = match self.run(function, &active, memory).await {
            Ok(trouble) => trouble,
            Err(NotRunning::Conflict) => return Err(ReconcileError::Conflict),
            Err(NotRunning::Because(why)) => Some(why),
        };
        Ok(Standing::Active { current: Some(planned.current.clone()), about, trouble })
    }

    /// Brings the revisions to what is planned; the active one.
    async fn write_revisions(&self, planned: &Revisions) -> Result<Option<Object>, ApiError> {
        let client = &self.engine.client;
        for revision in &planned.write {
            let written = match object::resource_version(revision) {
                Some(_) => client.replace(revision, MANAGER).await?,
                None => client.create(revision, MANAGER).await?,
            };
            self.revisions.record_write(Value::Object(written));
        }
        for name in &planned.delete {
            let Some(revision) = self.revisions.get(&Key::cluster_scoped(name)) else { continue };
            let Some(revision) = revision.as_object() else { continue };
            let target = ObjectRef::of(revision)?;
            client.delete(&target, object::uid(revision), None, Propagation::Background).await?;
        }
        let active = planned.active.as_ref().and_then(|name| self.revisions.get(&Key::cluster_scoped(name)));
        Ok(active.and_then(|active| active.as_object().cloned()))
    }

    /// Runs a revision; why it does not serve.
    async fn run(
        &self,
        function: &Object,
        revision: &Object,
        memory: &mut Installed,
    ) -> Result<Option<String>, NotRunning> {
        let config = self.config(revision).map_err(NotRunning::Because)?;
        let runtime = Runtime::new(revision, config.as_ref(), &self.namespace);
        let is_checked = memory
            .checked
            .as_ref()
            .is_some_and(|(known, when)| *known == runtime && when.elapsed() < CHECK_INTERVAL);
        let mut trouble = None;
        if !is_checked {
            memory.checked = None;
            match self.ensure(function, revision, &runtime).await {
                Ok(()) => memory.checked = Some((runtime.clone(), Instant::now())),
                Err(NotRunning::Conflict) => return Err(NotRunning::Conflict),
                Err(NotRunning::Because(why)) => trouble = Some(why),
            }
        }
        if trouble.is_none() {
            let key = Key::of_object(&runtime.deployment);
            let deployment = self.deployments.get(&key);
            trouble = unavailable(deployment.as_ref().and_then(|deployment| deployment.as_object()));
        }
        let (endpoint, now) = (runtime.endpoint(), self.engine.clock.now());
        if let Some(reported) = revision_status(revision, &endpoint, &runtime.secret, trouble.as_deref(), now)
        {
            let written = self.engine.client.replace_status(&reported, MANAGER).await?;
            self.revisions.record_write(Value::Object(written));
            self.locations.update(&self.revisions, &self.functions);
        }
        Ok(match trouble {
            Some(why) => Some(format!("Package runtime health is \"False\" with message: {why}")),
            None => self.unreachable(object::name(function).unwrap_or_default(), &endpoint).await,
        })
    }

    /// The DeploymentRuntimeConfig of a revision. The one called `default` may be missing.
    fn config(&self, revision: &Object) -> Result<Option<Object>, String> {
        let name = object::text(revision, &["spec", "runtimeConfigRef", "name"]).unwrap_or("default");
        let config = self.configs.get(&Key::cluster_scoped(name));
        match config.and_then(|config| config.as_object().cloned()) {
            Some(config) => Ok(Some(config)),
            None if name == "default" && self.configs.is_synced() => Ok(None),
            None => {
                let why = self.configs.error().map_or_else(
                    || format!("DeploymentRuntimeConfig {name:?} not found"),
                    |error| error.to_string(),
                );
                Err(format!("cannot get referenced deployment runtime config: {why}"))
            }
        }
    }

    /// Makes sure that everything a revision needs is there.
    async fn ensure(
        &self,
        function: &Object,
        revision: &Object,
        runtime: &Runtime,
    ) -> Result<(), NotRunning> {
        let secret = runtime.secret_of(revision, &self.namespace);
        let target = ObjectRef::of(&secret).map_err(ApiError::from)?;
        let live = self.engine.client.read(&target).await?;
        if let Some(live) = &live {
            self.check_own(function, &target, live)?;
        }
        let certified = self.authority.certify(&self.engine, &self.identities, &secret, live, &runtime.host);
        if let Err(error) = certified.await {
            let conflict = error.is_conflict();
            return Err(if conflict {
                NotRunning::Conflict
            } else {
                NotRunning::Because(error_chain(&error))
            });
        }
        self.apply(function, &runtime.service).await?;
        if let Some(account) = &runtime.service_account {
            match self.apply(function, account).await {
                // Several functions may share one that their configs name.
                Err(NotRunning::Because(why)) => tracing::debug!(why, "using an existing ServiceAccount"),
                applied => applied?,
            }
        }
        self.apply(function, &runtime.deployment).await
    }

    /// Whether an object that exists was made for this Function.
    fn check_own(&self, function: &Object, target: &ObjectRef, live: &Object) -> Result<(), NotRunning> {
        let revisions = locations::objects(&self.revisions);
        let is_own = object::controller(live).is_some_and(|owner| {
            let of_function = |revision: &Object| object::is_controlled_by(revision, function);
            let is_owner = |revision: &&Object| object::uid(revision) == Some(owner.uid.as_str());
            revisions.iter().find(is_owner).is_some_and(of_function)
        });
        if is_own {
            return Ok(());
        }
        Err(NotRunning::Because(format!(
            "{target} exists and is not of this Function. Name another one in a DeploymentRuntimeConfig, or delete it"
        )))
    }

    /// Applies an object unless that changes nothing. One that is not of this Function is left alone.
    async fn apply(&self, function: &Object, intent: &Object) -> Result<(), NotRunning> {
        let target = ObjectRef::of(intent).map_err(ApiError::from)?;
        if let Some(live) = self.engine.client.read(&target).await? {
            self.check_own(function, &target, &live)?;
            if Applied::found(intent, &live, client::MANAGER).is_some() {
                return Ok(());
            }
        }
        self.engine.client.apply(intent, client::MANAGER).await?;
        Ok(())
    }
}
