//! Reads the live objects, with as few requests as possible.

use std::collections::{BTreeMap, HashMap};

use cluster::{Class, Error, Selection, Session};
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::resolve::ResolvedObject;
use crate::support::concurrency::MAX_CONCURRENT;

/// The number of objects of a kind in a namespace from which the whole kind is listed. Fewer are read one by one: a
/// namespace may contain many more than are needed.
const WORTH_LISTING: usize = 4;

/// What is known of the objects that exist, or why they cannot be read: one that may not be read hides no other.
pub(crate) type Found = Vec<(ObjectRef, Result<Value, Error>)>;

pub(crate) async fn read(session: &Session, objects: &[ResolvedObject]) -> Found {
    let mut groups: BTreeMap<(&GroupVersionKind, Option<&Namespace>), Vec<&ObjectRef>> = BTreeMap::new();
    for object in objects.iter().filter(|object| object.pending.is_none()) {
        let target = &object.target;
        groups.entry((&target.gvk, target.namespace.as_ref())).or_default().push(target);
    }
    let read = groups.into_iter().map(|((gvk, namespace), targets)| async move {
        if targets.len() >= WORTH_LISTING {
            match list(session, gvk, namespace, &targets).await {
                // The user may be allowed to get objects by name but not to list them.
                Err(error) if error.class() == Class::InsufficientPermissions => {}
                Err(error) => {
                    return targets.into_iter().map(|target| (target.clone(), Err(error.clone()))).collect();
                }
                Ok(listed) => return listed,
            }
        }
        one_by_one(session, targets).await
    });
    let found: Vec<Found> = stream::iter(read).buffer_unordered(MAX_CONCURRENT).collect().await;
    found.into_iter().flatten().collect()
}

async fn list(
    session: &Session,
    gvk: &GroupVersionKind,
    namespace: Option<&Namespace>,
    targets: &[&ObjectRef],
) -> Result<Found, Error> {
    let selection = Selection { namespace: namespace.cloned(), ..Selection::default() };
    let listing = session.list(gvk, &selection).await?;
    let wanted: HashMap<&str, &ObjectRef> =
        targets.iter().map(|target| (target.name.as_str(), *target)).collect();
    let found = listing.items.into_iter().filter_map(|item| {
        let target = *wanted.get(item["metadata"]["name"].as_str()?)?;
        Some((target.clone(), Ok(item)))
    });
    Ok(found.collect())
}

async fn one_by_one(session: &Session, targets: Vec<&ObjectRef>) -> Found {
    let read = targets.into_iter().map(|target| async move {
        match session.read(target).await {
            Ok(reply) => reply.map(|reply| (target.clone(), Ok(reply.object))),
            // Problems with the kind are reported when the object is written.
            Err(error) if matches!(error.class(), Class::KindMissing | Class::InvalidGroup) => None,
            Err(error) => Some((target.clone(), Err(error))),
        }
    });
    stream::iter(read).buffer_unordered(MAX_CONCURRENT).filter_map(async |found| found).collect().await
}
