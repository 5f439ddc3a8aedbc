//! One object for the page: its tree and its cause, its managers, its status, and what has changed since a page looks.

mod events;

use std::sync::Arc;

use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::{Value, json};
use ui::{Answer, Target};

use self::events::Events;
use super::Page;
use super::timeline::Timeline;
use crate::support::cause::{Cause, related};
use crate::support::exit::Failure;
use crate::support::informer::uid;
use crate::support::managed_object::ManagedObject;
use crate::support::object_json;
use crate::support::owner_tree::{self, Detail, OwnerTree, reference_of};

pub(super) async fn follow(page: &Page, target: &Target, publish: &dyn Fn(Answer)) -> Result<(), Failure> {
    let cluster = &page.cluster;
    let target = page.locate(target).await?;
    let listed = OwnerTree::list(cluster, &target, "Read", Detail::Everything);
    let (tree, events) = tokio::join!(listed, Events::of(cluster, &target));
    let (mut tree, mut events) = (tree?, events?);
    let mut timeline = Timeline::new(Timestamp::now());
    let mut platform_events: Option<Events> = None;
    loop {
        let members = tree.root.uids().into_iter().filter_map(|uid| tree.member(uid));
        timeline.record(members, Timestamp::now());
        let composite = composite_of(&tree);
        let of_composite = composite.as_deref().and_then(reference_of);
        if of_composite.as_ref() != platform_events.as_ref().map(|events| &events.target) {
            platform_events = match &of_composite {
                Some(composite) => Some(Events::of(cluster, composite).await?),
                None => None,
            };
        }
        let platform = composite.zip(platform_events.as_ref());
        let platform = platform.map(|(composite, events)| platform_status(&composite, events));
        let trouble = tree.trouble();
        // The last event of the cause cannot be asked for while the server does not answer.
        let session = Some(&cluster.session).filter(|_| trouble.is_none());
        let blamed = match session {
            Some(session) => related(session, tree.root.clone()).await,
            None => tree.root.clone(),
        };
        publish(Ok(json!({
            "tree": tree.root.to_json(),
            "why": Cause::find(session, &blamed).await.to_json(),
            "parents": owner_tree::parents(&tree.object, |gvk| tree.is_namespaced(gvk)),
            "owners": owners(&target, &tree.object),
            "status": status(&tree.object, &events),
            "platform": platform,
            "changes": timeline.to_json(),
            "since": timeline.since.to_string(),
            "unreadable": tree.unreadable(),
            "unwatched": tree.unwatched(),
            "trouble": trouble,
        })));
        tokio::select! {
            () = tree.changed() => {}
            () = events.changed() => {}
            () = changed(platform_events.as_mut()) => {}
        }
        tree.refresh().await?;
    }
}

async fn changed(events: Option<&mut Events>) {
    match events {
        Some(events) => events.changed().await,
        None => std::future::pending().await,
    }
}

/// Nothing if the managers of the object cannot be read.
fn owners(target: &ObjectRef, object: &Value) -> Option<Value> {
    let object = ManagedObject::of(target, object.clone()).ok()?;
    Some(object.to_json(&object.lines().ok()?))
}

/// The composite resource of a claim.
fn composite_of(tree: &OwnerTree<'_>) -> Option<Arc<Value>> {
    let claim = &tree.object;
    claim["spec"]["resourceRef"].as_object()?;
    let children = tree.root.children.iter().filter_map(|child| tree.member(&child.uid));
    let is_composite = |object: &Arc<Value>| {
        let claimed = &object["spec"]["claimRef"];
        claimed["kind"] == claim["kind"] && claimed["name"] == claim["metadata"]["name"]
    };
    children.into_iter().find(is_composite)
}

/// What an object says about itself.
fn status(object: &Value, events: &Events) -> Value {
    let conditions = owner_tree::CONDITIONS.iter().find_map(|place| object.pointer(place)?.as_array());
    let conditions = conditions.into_iter().flatten().map(condition_json).collect::<Vec<_>>();
    json!({
        "object": reference_of(object).map(|target| object_json(&target, json!({}))),
        "generation": object["metadata"]["generation"].as_i64(),
        "conditions": conditions,
        "events": events.to_json(&uid(object)),
        "eventsAreHidden": events.is_hidden(),
    })
}

fn condition_json(condition: &Value) -> Value {
    let text = |name: &str| condition[name].as_str().unwrap_or_default();
    json!({
        "type": text("type"), "status": text("status"), "reason": text("reason"), "message": text("message"),
        "lastTransitionTime": condition["lastTransitionTime"].as_str(),
        "observedGeneration": condition["observedGeneration"].as_i64(),
        "isMet": owner_tree::is_met(condition),
    })
}

/// The same for the composite resource of a claim, with the conditions that the user of the claim reads, too.
fn platform_status(composite: &Value, events: &Events) -> Value {
    let mut status = status(composite, events);
    let shared = composite["status"]["claimConditionTypes"].as_array();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        let reaches = shared.is_some_and(|types| types.contains(&condition["type"]));
        condition["reachesUser"] = reaches.into();
    }
    status
}
