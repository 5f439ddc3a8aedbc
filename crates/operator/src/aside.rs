//! Steps aside for another engine: says so on everything that was served, and removes what only this operator keeps true.

use cluster::{Error, Selection, Session};
use composition::condition::{Condition, Conditions, HEALTHY};
use composition::definition::Definition;
use composition::object;
use composition::protocol::{ConditionStatus, Object};
use jiff::Timestamp;
use manifest::GroupVersionKind;
use oraclecloud::Catalogue;

use crate::operations::{gvk, installed_kinds};
use crate::options::Half;
use crate::rivals::Rival;
use crate::runtime::client::{ApiError, MANAGER, ObjectClient, Part};

/// The condition on XRDs and cloud resources that another engine serves. It is absent while this operator serves them.
pub const CONDITION: &str = "ServedByPlimsoll";

/// Reports on what `half` served that `rival` serves it now.
pub(crate) async fn step_aside(client: &ObjectClient, half: Half, added: &Catalogue, rival: &Rival) {
    let message = format!(
        "{} is running: {} holds the lease {}. Plimsoll does nothing until it is gone",
        rival.engine, rival.holder, rival.lease
    );
    let aside =
        Condition::new(CONDITION, ConditionStatus::False, "RivalRunning", Timestamp::now()).message(message);
    let set = |conditions: &mut Conditions| conditions.set(aside.clone());
    let marked = match half {
        Half::Composition => {
            async {
                remove_health(client).await?;
                edit_conditions(client, &xrd_kind(), set).await
            }
            .await
        }
        Half::Oci => edit_cloud_resources(client, added, set).await,
    };
    if let Err(error) = marked {
        tracing::warn!(error = error.text(), "cannot report that another engine is running");
    }
}

/// Removes the report. XRDs lose it when they are reconciled.
pub(crate) async fn resume(client: &ObjectClient, half: Half, added: &Catalogue) {
    if half == Half::Oci {
        let cleared = edit_cloud_resources(client, added, |conditions| conditions.remove(CONDITION)).await;
        if let Err(error) = cleared {
            tracing::warn!(error = error.text(), "cannot remove the condition {CONDITION}");
        }
    }
}

/// Removes the condition `Healthy` from all XRs and claims, which no other engine would keep true; how many had it.
pub async fn release_health(session: &Session) -> Result<usize, Error> {
    match remove_health(&ObjectClient::new(session.clone())).await {
        Ok(released) => Ok(released),
        Err(ApiError::Cluster(error)) => Err(error),
        Err(ApiError::Identity(_) | ApiError::NotLeading(_)) => {
            unreachable!("what was listed has a name, and this client needs no lease")
        }
    }
}

async fn remove_health(client: &ObjectClient) -> Result<usize, ApiError> {
    let mut released = 0;
    for kind in composed_kinds(client.session()).await? {
        released += edit_conditions(client, &kind, |conditions| conditions.remove(HEALTHY)).await?;
    }
    Ok(released)
}

/// The kinds of XRs and claims that valid XRDs define.
pub async fn composed_kinds(session: &Session) -> Result<Vec<GroupVersionKind>, Error> {
    let xrds = match session.list(&xrd_kind(), &Selection::default()).await {
        Err(error) if error.is_kind_absent() => return Ok(Vec::new()),
        listed => listed?.items,
    };
    let definitions = xrds.into_iter().filter_map(|xrd| Definition::read(&object::from_value(xrd)).ok());
    Ok(definitions.flat_map(|(it, _)| std::iter::once(it.composite).chain(it.claim)).collect())
}

fn xrd_kind() -> GroupVersionKind {
    "apiextensions.crossplane.io/v1/CompositeResourceDefinition".parse().expect("a valid kind")
}

async fn edit_cloud_resources(
    client: &ObjectClient,
    added: &Catalogue,
    edit: impl Fn(&mut Conditions) + Send + Sync,
) -> Result<usize, ApiError> {
    let mut edited = 0;
    for kind in installed_kinds(client.session(), added).await? {
        edited += edit_conditions(client, &gvk(kind), &edit).await?;
    }
    Ok(edited)
}

/// Edits the conditions of all objects of a kind; how many have changed. A kind that is not served has no objects.
async fn edit_conditions(
    client: &ObjectClient,
    kind: &GroupVersionKind,
    edit: impl Fn(&mut Conditions) + Send + Sync,
) -> Result<usize, ApiError> {
    let listed = match client.list(kind).await {
        Err(error) if error.is_kind_absent() => return Ok(0),
        listed => listed?,
    };
    let mut changed = 0;
    for object in listed {
        match client.edit(object, Part::Status, MANAGER, |object| edited(object, &edit)).await {
            Ok(edited) => changed += usize::from(edited.is_some()),
            // The other engine is always first with this one.
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(changed)
}

/// The object with edited conditions, if that changes them.
fn edited(object: &Object, edit: impl Fn(&mut Conditions)) -> Option<Object> {
    let before = Conditions::of(object);
    let mut conditions = before.clone();
    edit(&mut conditions);
    (conditions != before).then(|| {
        let mut edited = object.clone();
        object::nested_mut(&mut edited, &["status"]).insert("conditions".to_owned(), conditions.to_value());
        edited
    })
}
