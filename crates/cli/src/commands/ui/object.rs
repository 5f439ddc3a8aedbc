//! One object for the page: its tree and its cause, its managers, its status, and what has changed since a page looks.

use std::sync::Arc;

use cluster::{Selection, Session};
use jiff::Timestamp;
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};
use ui::{Answer, Target};

use super::Page;
use super::timeline::Timeline;
use crate::support::cause::Cause;
use crate::support::connect::Cluster;
use crate::support::exit::Failure;
use crate::support::informer::{Informer, uid};
use crate::support::managed_object::ManagedObject;
use crate::support::object_json;
use crate::support::owner_tree::{self, Node, OwnerTree, reference_of};

pub(super) async fn follow(page: &Page, target: &Target, publish: &dyn Fn(Answer)) -> Result<(), Failure> {
    let cluster = &page.cluster;
    let target = page.locate(target).await?;
    let mut tree = OwnerTree::list(cluster, &target, "Read").await?;
    let mut timeline = Timeline::new(Timestamp::now());
    let mut events = Events::of(cluster, &tree.object).await?;
    let mut platform_events: Option<Events> = None;
    loop {
        let root = tree.root()?;
        let members = root.uids().into_iter().filter_map(|uid| tree.member(uid));
        timeline.record(members, Timestamp::now());
        let composite = composite_of(&tree, &root);
        if composite.as_deref().map(uid) != platform_events.as_ref().map(|events| events.uid.clone()) {
            platform_events = match &composite {
                Some(composite) => Some(Events::of(cluster, composite).await?),
                None => None,
            };
        }
        let platform = composite.zip(platform_events.as_ref());
        let platform = platform.map(|(composite, events)| platform_status(&composite, events));
        publish(Ok(json!({
            "tree": root.to_json(),
            "why": why(&cluster.session, &root).await,
            "parent": owner_tree::parent(&tree.object),
            "owners": owners(&target, &tree.object),
            "status": status(&tree.object, &events),
            "platform": platform,
            "changes": timeline.to_json(),
            "since": timeline.since.to_string(),
            "unreadable": tree.unreadable(),
            "trouble": tree.trouble(),
        })));
        tokio::select! {
            () = tree.changed() => {}
            () = events.informer.changed() => {}
            () = changed(platform_events.as_mut()) => {}
        }
        tree.refresh().await?;
    }
}

async fn changed(events: Option<&mut Events>) {
    match events {
        Some(events) => events.informer.changed().await,
        None => std::future::pending().await,
    }
}

async fn why(session: &Session, root: &Node) -> Value {
    Cause::find(session, root).await.to_json()
}

/// Nothing if the managers of the object cannot be read.
fn owners(target: &ObjectRef, object: &Value) -> Option<Value> {
    let object = ManagedObject::of(target, object.clone()).ok()?;
    Some(object.to_json(&object.lines().ok()?))
}

/// The composite resource of a claim.
fn composite_of(tree: &OwnerTree, root: &Node) -> Option<Arc<Value>> {
    let claim = &tree.object;
    claim["spec"]["resourceRef"].as_object()?;
    let children = root.children.iter().filter_map(|child| tree.member(&child.uid));
    let is_composite = |object: &Arc<Value>| {
        let claimed = &object["spec"]["claimRef"];
        claimed["kind"] == claim["kind"] && claimed["name"] == claim["metadata"]["name"]
    };
    children.into_iter().find(is_composite)
}

/// The Events about an object.
struct Events {
    uid: String,
    informer: Informer,
}

impl Events {
    async fn of(cluster: &Cluster, object: &Value) -> Result<Self, Failure> {
        let uid = uid(object);
        // Events about cluster-scoped objects are in this namespace.
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let fields = Some(format!("involvedObject.uid={uid}"));
        let selection = Selection { namespace: Namespace::new(namespace), fields, ..Selection::default() };
        let gvk = "v1/Event".parse().expect("a fixed kind");
        let resource = cluster.session.resource(&gvk).await.map_err(|error| error.diagnostic("Read"))?;
        Ok(Self { uid, informer: cluster.informers.list(vec![resource], &selection).await })
    }

    /// Newest first.
    fn to_json(&self) -> Vec<Value> {
        let mut events: Vec<Value> = self.informer.objects().iter().map(|event| event_json(event)).collect();
        events.sort_by(|left, right| right["time"].as_str().cmp(&left["time"].as_str()));
        events
    }
}

fn event_json(event: &Value) -> Value {
    let times = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
    let time = times.into_iter().filter_map(Value::as_str).max();
    let count = event["series"]["count"].as_u64().or(event["count"].as_u64()).unwrap_or(1);
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    json!({
        "type": text("type"), "reason": text("reason"), "message": text("message"),
        "time": time.unwrap_or_default(), "count": count,
    })
}

/// What an object says about itself.
fn status(object: &Value, events: &Events) -> Value {
    // OSOK's kinds have their conditions one level deeper.
    let places = ["/status/conditions", "/status/status/conditions"];
    let conditions = places.into_iter().find_map(|place| object.pointer(place)?.as_array());
    let conditions = conditions.into_iter().flatten().map(condition_json).collect::<Vec<_>>();
    json!({
        "object": reference_of(object).map(|target| object_json(&target, json!({}))),
        "generation": object["metadata"]["generation"].as_i64(),
        "conditions": conditions,
        "events": events.to_json(),
    })
}

fn condition_json(condition: &Value) -> Value {
    let text = |name: &str| condition[name].as_str().unwrap_or_default();
    json!({
        "type": text("type"), "status": text("status"), "reason": text("reason"), "message": text("message"),
        "lastTransitionTime": condition["lastTransitionTime"].as_str(),
        "observedGeneration": condition["observedGeneration"].as_i64(),
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
