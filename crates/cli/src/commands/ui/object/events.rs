//! The Events about an object.

use cluster::Selection;
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};

use crate::support::connect::Cluster;
use crate::support::exit::Failure;
use crate::support::informer::{Informer, Objects};

pub(super) struct Events {
    pub(super) target: ObjectRef,
    informer: Informer<Objects>,
}

impl Events {
    pub(super) async fn of(cluster: &Cluster, target: &ObjectRef) -> Result<Self, Failure> {
        // Events about cluster-scoped objects are in this namespace.
        let namespace = target.namespace.clone().or_else(|| Namespace::new("default"));
        let (kind, name) = (target.kind(), &target.name);
        let fields = Some(format!("involvedObject.kind={kind},involvedObject.name={name}"));
        let selection = Selection { namespace, fields, ..Selection::default() };
        let gvk = "v1/Event".parse().expect("a fixed kind");
        let resource = cluster.session.resource(&gvk).await.map_err(|error| error.diagnostic("Read"))?;
        let informer = cluster.informers.list([(resource, selection)]).await;
        Ok(Self { target: target.clone(), informer })
    }

    pub(super) async fn changed(&mut self) {
        self.informer.changed().await;
    }

    /// Whether they may not be read.
    pub(super) fn is_hidden(&self) -> bool {
        !self.informer.unreadable().is_empty()
    }

    /// Those about the object with this uid, newest first: an earlier one may have had the same name.
    pub(super) fn to_json(&self, uid: &str) -> Vec<Value> {
        let objects = self.informer.objects();
        let about = objects.iter().filter(|event| event["involvedObject"]["uid"] == uid);
        let mut events: Vec<Value> = about.map(|event| event_json(event)).collect();
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
        "from": event["source"]["component"].as_str().or(event["reportingComponent"].as_str()).unwrap_or_default(),
    })
}
