//! Reads the live objects: with as few requests as possible, and page by page, so that few of them have to be in memory.

use std::collections::{BTreeMap, HashMap};

use cluster::{Class, Error, Selection, Session, is_worth_listing};
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::resolve::ResolvedObject;
use crate::support::concurrency::MAX_CONCURRENT;

/// From how many objects on pages are smaller, and how large they are then: a page in memory is many times as large as what is
/// kept of it, and among so many requests a few more do not matter.
const MANY: usize = 1_000;
const SMALL_PAGE: usize = 200;
/// How often a list begins anew because the server has forgotten where it was.
const ATTEMPTS: usize = 3;

/// An object that exists, by its place among the objects, or why it cannot be read: one that may not be read hides no
/// other.
pub(crate) type Found = (usize, Result<Value, Error>);

/// The objects of a kind in a namespace, with their places.
type Group<'o> = Vec<(usize, &'o ObjectRef)>;

/// Gives those of `objects` that exist to `see`, some at a time.
pub(crate) async fn read(session: &Session, objects: &[ResolvedObject], see: &impl AsyncFn(Vec<Found>)) {
    let mut groups: BTreeMap<(&GroupVersionKind, Option<&Namespace>), Group<'_>> = BTreeMap::new();
    for (place, object) in objects.iter().enumerate().filter(|(_, object)| object.pending.is_none()) {
        let target = &object.target;
        groups.entry((&target.gvk, target.namespace.as_ref())).or_default().push((place, target));
    }
    let read = groups.into_iter().map(|((gvk, namespace), group)| async move {
        if !is_worth_listing(gvk, group.len(), None) {
            return one_by_one(session, group, see).await;
        }
        let mut unseen = group.iter().map(|(place, target)| (target.name.as_str(), *place)).collect();
        match list(session, gvk, namespace, &mut unseen, see).await {
            Ok(()) => {}
            // The user may be allowed to get objects by name but not to list them.
            Err(error) if error.class() == Class::InsufficientPermissions => {
                one_by_one(session, group, see).await;
            }
            Err(error) => see(unseen.into_values().map(|place| (place, Err(error.clone()))).collect()).await,
        }
    });
    stream::iter(read).buffer_unordered(MAX_CONCURRENT).collect::<()>().await;
}

/// Lists a kind and takes those that were seen out of `unseen`, which are by name.
async fn list(
    session: &Session,
    gvk: &GroupVersionKind,
    namespace: Option<&Namespace>,
    unseen: &mut HashMap<&str, usize>,
    see: &impl AsyncFn(Vec<Found>),
) -> Result<(), Error> {
    let limit = (unseen.len() >= MANY).then_some(SMALL_PAGE);
    let selection = Selection { namespace: namespace.cloned(), limit, ..Selection::default() };
    let (mut next, mut attempts) = (String::new(), 0);
    loop {
        let page = match session.list_page(gvk, &selection, &next).await {
            Err(error) if error.status().is_some_and(|it| it.code == 410) && attempts < ATTEMPTS => {
                next.clear();
                attempts += 1;
                continue;
            }
            page => page?,
        };
        let found = page.items.into_iter().filter_map(|item| {
            let place = unseen.remove(item["metadata"]["name"].as_str()?)?;
            Some((place, Ok(item)))
        });
        see(found.collect()).await;
        next = page.next;
        if next.is_empty() {
            return Ok(());
        }
    }
}

async fn one_by_one(session: &Session, group: Group<'_>, see: &impl AsyncFn(Vec<Found>)) {
    let read = group.into_iter().map(|(place, target)| async move {
        let found = match session.read(target).await {
            Ok(reply) => reply.map(|reply| Ok(reply.object)),
            // Problems with the kind are reported when the object is written.
            Err(error) if matches!(error.class(), Class::KindMissing | Class::InvalidGroup) => None,
            Err(error) => Some(Err(error)),
        };
        if let Some(found) = found {
            see(vec![(place, found)]).await;
        }
    });
    stream::iter(read).buffer_unordered(MAX_CONCURRENT).collect::<()>().await;
}
