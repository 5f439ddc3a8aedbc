//! Installs the operator's custom resource definitions, with what makes requests of users safe, and waits until the API server serves
//! them.

use std::time::Duration;

use cluster::{Check, Class, Error, Session, WaitOutcome, Write};
use manifest::ObjectRef;
use oraclecloud::Catalogue;
use ownership::{FieldManager, Observed};
use plan::{Intervention, LastAnswer, Question};
use serde_json::Value;

use crate::api;
use crate::composition::crds;
use crate::options::Half;
use crate::runtime::client::MANAGER;

/// How long a definition may take to be served.
const SERVED_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a definition is not served.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("cannot install a definition")]
    Cluster(#[from] Error),
    #[error("definition {name} is not served: {why}")]
    NotServed { name: String, why: String },
}

/// The definitions of the kinds of one half; of the kinds at Oracle Cloud, those of the catalogue.
pub fn definitions(half: Half, kinds: &Catalogue) -> Vec<Value> {
    match half {
        Half::Oci => api::definitions(kinds),
        Half::Composition => crds::definitions(),
    }
}

/// Grants the operator's account what it needs for these kinds.
pub async fn grant(session: &Session, kinds: &Catalogue) -> Result<(), InstallError> {
    for object in kinds.kinds().iter().flat_map(|kind| api::rights(*kind)) {
        let Some(target) = object.as_object().and_then(|object| ObjectRef::of(object).ok()) else { continue };
        apply(session, &target, &object).await?;
    }
    Ok(())
}

/// Installs the definitions of `halves`, with force: the operator owns them.
pub async fn install(
    session: &Session,
    halves: &[Half],
    kinds: &Catalogue,
) -> Result<Vec<ObjectRef>, InstallError> {
    let mut installed = Vec::new();
    if halves.contains(&Half::Composition) {
        // Before the kind of requests exists, so that none is ever uncertified.
        for policy in crds::policies() {
            let target = policy.as_object().and_then(|policy| ObjectRef::of(policy).ok());
            let target = target.expect("a test reads the manifest");
            match apply(session, &target, &policy).await {
                // An operator with the rights of `deploy/` has been installed with them.
                Err(error) if error.class() == Class::InsufficientPermissions => {
                    tracing::info!(object = %target, "left to those who install the operator: it may not write this");
                }
                applied => _ = applied?,
            }
        }
    }
    for definition in halves.iter().flat_map(|half| definitions(*half, kinds)) {
        let name = definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let kind = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a valid kind");
        let target = ObjectRef::new(kind, None, name);
        let live = apply(session, &target, &definition).await?;
        installed.push((target, served(Some(&live))));
    }
    for (target, _) in installed.iter().filter(|(_, served)| *served != Check::Met(())) {
        match session.wait_until(target, SERVED_TIMEOUT, served).await? {
            WaitOutcome::Met { .. } => {}
            WaitOutcome::Never { why, .. } | WaitOutcome::TimedOut { why, .. } => {
                return Err(InstallError::NotServed { name: target.name.clone(), why });
            }
        }
    }
    // Earlier discovery lacks them.
    session.invalidate_discovery();
    Ok(installed.into_iter().map(|(target, _)| target).collect())
}

/// Applies an object that is not as an earlier start has left it: a restart writes nothing. Returns the live object.
async fn apply(session: &Session, target: &ObjectRef, body: &Value) -> Result<Value, Error> {
    // What may be applied and not read is applied.
    if let Ok(Some(live)) = session.read(target).await
        && let Ok(live) = Observed::new(live.object)
    {
        let is_applied = || plan::is_applied(body, &FieldManager::new(MANAGER), &live);
        if plan::question(LastAnswer::Forgotten, is_applied, Intervention::Disregarded) == Question::Needless
        {
            return Ok(live.into_object());
        }
    }
    Ok(session.apply(target, body, Write::by(MANAGER).force()).await?.object)
}

/// Whether the API server serves the kind of a definition.
fn served(definition: Option<&Value>) -> Check<()> {
    let Some(definition) = definition else { return Check::Never("it was deleted".to_owned()) };
    let names_accepted = |status| readiness::condition(definition, "NamesAccepted", status);
    if let (Ok(()), Err(why)) = (names_accepted("False"), names_accepted("True")) {
        return Check::Never(why);
    }
    match readiness::condition(definition, "Established", "True") {
        Ok(()) => Check::Met(()),
        Err(why) => Check::NotYet(why),
    }
}

#[cfg(test)]
mod tests;
