//! Reads the platform of a cluster, as far as a change concerns it.

use std::collections::BTreeSet;

use cluster::{Error, Selection, Session};
use composition::object;
use composition::platform::{ENGINE, Objects, PACKAGES, Platform, Relevance};
use composition::protocol::Object;
use jiff::Timestamp;
use manifest::GroupVersionKind;
use serde_json::Value;

/// The platform of a cluster, and what `changed` would make of it: Compositions, XRDs and Functions as the API server would
/// store them. The functions `moved` are found elsewhere, too.
pub async fn read_platform(
    session: &Session,
    changed: &[Object],
    moved: BTreeSet<String>,
    now: Timestamp,
) -> Result<Platform, Error> {
    let relevance = Relevance::of(changed, &moved);
    let all = |_: &Value| true;
    let relevant = |object: &Value| relevance.concerns(object);
    let (definitions, compositions, revisions, functions, function_revisions) = futures::try_join!(
        list(session, ENGINE, "CompositeResourceDefinition", &all),
        list(session, ENGINE, "Composition", &relevant),
        list(session, ENGINE, "CompositionRevision", &relevant),
        list(session, PACKAGES, "Function", &all),
        list(session, PACKAGES, "FunctionRevision", &all),
    )?;
    let objects = Objects { definitions, compositions, revisions, functions, function_revisions };
    Ok(Platform::new(objects, changed, moved, now))
}

/// The objects of a kind that are relevant; none if there is no such kind. The others are dropped page by page.
async fn list(
    session: &Session,
    group: &str,
    kind: &str,
    is_relevant: &(dyn Fn(&Value) -> bool + Send + Sync),
) -> Result<Vec<Object>, Error> {
    let kind: GroupVersionKind = format!("{group}/v1/{kind}").parse().expect("a fixed kind");
    let keep = |mut object: Value| {
        let ownership = manifest::server_metadata::OWNERSHIP;
        is_relevant(&object).then(|| {
            manifest::server_metadata::remove(object.get_mut("metadata"), ownership);
            object::from_value(object)
        })
    };
    match session.list_kept(&kind, &Selection::default(), &keep).await {
        Err(error) if error.is_kind_absent() => Ok(Vec::new()),
        listed => Ok(listed?.items.into_iter().flatten().collect()),
    }
}
