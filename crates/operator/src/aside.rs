//! Steps aside for another engine: says so on everything that was served, and removes what only this operator keeps true.

use cluster::{Error, Selection, Session, Write};
use composition::condition::{Condition, Conditions, HEALTHY};
use composition::definition::Definition;
use composition::object;
use composition::protocol::{ConditionStatus, Object};
use jiff::Timestamp;
use manifest::{GroupVersionKind, ObjectRef};
use serde_json::Value;

use crate::operations::{gvk, installed_kinds};
use crate::options::Half;
use crate::rivals::Rival;
use crate::run::Context;

/// The condition on XRDs and cloud resources that another engine serves. It is absent while this operator serves them.
pub(crate) const CONDITION: &str = "ServedByPlimsoll";
const MANAGER: &str = "plimsoll-operator";

/// Reports on what `half` served that `rival` serves it now.
pub(crate) async fn step_aside(context: &Context, half: Half, rival: &Rival) {
    let session = &context.session;
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
                release_health(session).await?;
                edit_conditions(session, &xrd_kind(), set).await
            }
            .await
        }
        Half::Oci => edit_cloud_resources(context, set).await,
    };
    if let Err(error) = marked {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "cannot report that another engine is running"
        );
    }
}

/// Removes the report. XRDs lose it when they are reconciled.
pub(crate) async fn resume(context: &Context, half: Half) {
    if half == Half::Oci {
        let cleared = edit_cloud_resources(context, |conditions| conditions.remove(CONDITION)).await;
        if let Err(error) = cleared {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot remove the condition {CONDITION}"
            );
        }
    }
}

/// Removes the condition `Healthy` from all XRs and claims, which no other engine would keep true; how many had it.
pub async fn release_health(session: &Session) -> Result<usize, Error> {
    let mut released = 0;
    for kind in composed_kinds(session).await? {
        released += edit_conditions(session, &kind, |conditions| conditions.remove(HEALTHY)).await?;
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

async fn edit_cloud_resources(context: &Context, edit: impl Fn(&mut Conditions)) -> Result<usize, Error> {
    let mut edited = 0;
    for kind in installed_kinds(&context.session, &context.options.kinds).await? {
        edited += edit_conditions(&context.session, &gvk(kind), &edit).await?;
    }
    Ok(edited)
}

/// Edits the conditions of all objects of a kind; how many have changed. A kind that is not served has no objects.
async fn edit_conditions(
    session: &Session,
    kind: &GroupVersionKind,
    edit: impl Fn(&mut Conditions),
) -> Result<usize, Error> {
    let listed = match session.list(kind, &Selection::default()).await {
        Err(error) if error.is_kind_absent() => return Ok(0),
        listed => listed?.items,
    };
    let mut changed = 0;
    for item in listed {
        let mut current = Some(item);
        // Another engine is starting, so its writes may come in between.
        while let Some(item) = current.take() {
            let found = object::from_value(item);
            let Some(edited) = edited(&found, &edit) else { break };
            let Ok(target) = ObjectRef::of(&found) else { break };
            match session.replace(&target, &Value::Object(edited), Write::by(MANAGER).status()).await {
                Ok(_) => changed += 1,
                Err(error) if error.class() == cluster::Class::Outdated => {
                    current = session.read(&target).await?.map(|reply| reply.object);
                }
                Err(error) if error.class() == cluster::Class::NotFound => {}
                Err(error) => return Err(error),
            }
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
