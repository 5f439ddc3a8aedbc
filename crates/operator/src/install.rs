//! Installs the operator's custom resource definitions, and waits until the API server serves them.

use std::time::Duration;

use cluster::{Error, Selection, Session, Write};
use manifest::{GroupVersionKind, ObjectRef};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::api;
use crate::composition::crds;
use crate::options::Half;
use crate::runtime::store::{Source, Store};

const MANAGER: &str = "plimsoll-operator";
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

/// The definitions of the kinds of one half.
pub fn definitions(half: Half) -> Vec<Value> {
    match half {
        Half::Oci => {
            let definitions = api::definitions().into_iter();
            definitions
                .map(|definition| serde_json::to_value(definition).expect("a definition is valid JSON"))
                .collect()
        }
        Half::Composition => crds::definitions(),
    }
}

/// Installs the definitions of `halves`, with force: the operator owns them.
pub async fn install(session: &Session, halves: &[Half]) -> Result<Vec<ObjectRef>, InstallError> {
    let mut installed = Vec::new();
    let mut pending = Vec::new();
    for definition in halves.iter().flat_map(|half| definitions(*half)) {
        let name = definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let target = ObjectRef::new(definition_kind(), None, name);
        let reply = session.apply(&target, &definition, Write::by(MANAGER).force()).await?;
        if Serving::of(&reply.object) != Serving::Served {
            pending.push(target.name.clone());
        }
        installed.push(target);
    }
    for name in pending {
        wait_until_served(session, &name).await?;
    }
    // Earlier discovery lacks them.
    session.forget_kinds();
    Ok(installed)
}

async fn wait_until_served(session: &Session, name: &str) -> Result<(), InstallError> {
    let stop = CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let selection = Selection { fields: Some(format!("metadata.name={name}")), ..Selection::default() };
    let source = Source { selection, ..Source::of(definition_kind()) };
    let store = Store::start(session.clone(), source, &stop);
    let mut changes = store.subscribe();
    let mut missing = "the API server has not processed it yet".to_owned();
    let watched = tokio::time::timeout(SERVED_TIMEOUT, async {
        while let Some(change) = changes.recv().await {
            match change.after.as_deref().map(Serving::of) {
                Some(Serving::Served) => return Ok(()),
                Some(Serving::NotYet(why)) => missing = why,
                Some(Serving::Never(why)) => return Err(why),
                None => return Err("it was deleted".to_owned()),
            }
        }
        Ok(())
    });
    let failed = |why| InstallError::NotServed { name: name.to_owned(), why };
    match watched.await {
        Ok(outcome) => outcome.map_err(failed),
        Err(_) => Err(failed(store.error().map_or(missing, |error| error.to_string()))),
    }
}

fn definition_kind() -> GroupVersionKind {
    let version = "apiextensions.k8s.io/v1".parse().expect("a valid version");
    GroupVersionKind::new(version, "CustomResourceDefinition").expect("a valid kind")
}

#[derive(Debug, PartialEq, Eq)]
enum Serving {
    Served,
    NotYet(String),
    Never(String),
}

impl Serving {
    fn of(definition: &Value) -> Self {
        let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
        let condition = |kind: &str| {
            conditions.into_iter().flatten().find(|condition| condition["type"] == kind).map(|condition| {
                (condition["status"] == "True", condition["message"].as_str().unwrap_or_default().to_owned())
            })
        };
        match (condition("NamesAccepted"), condition("Established")) {
            (Some((false, why)), _) => Self::Never(why),
            (_, Some((true, _))) => Self::Served,
            (_, Some((false, why))) => Self::NotYet(why),
            (_, None) => Self::NotYet("the API server has not processed it yet".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
