//! A third kind, added by implementing one trait for its service: everything else is inherited.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::{CustomResource, CustomResourceExt as _};
use operations::{
    Body, Call, CallError, Drift, ExternalService, Kind, OWNER_TAG, Resource, Response, STREAM_STATES, Scope,
    Strategy,
};
use operator::api::{Tracked, definition};
use operator::operations::{Connected, ExternalController, ExternalObject, FINALIZER, source};
use operator::runtime::events::Events;
use operator::runtime::metrics::Metrics;
use operator::runtime::store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use testkit::Namespace;
use tokio_util::sync::CancellationToken;

use super::bench::{condition, quick, session, shared_types};
use super::namespace;

#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "third.plimsoll.dev", version = "v1", kind = "Topic", namespaced, status = "TopicStatus")]
#[kube(derive = "PartialEq")]
struct TopicSpec {
    title: String,
}

impl ExternalObject for Topic {}

type TopicStatus = Tracked<ObservedTopic>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct ObservedTopic {
    title: Option<String>,
}

impl From<&Value> for ObservedTopic {
    fn from(body: &Value) -> Self {
        Self { title: body["title"].as_str().map(str::to_owned) }
    }
}

/// Topics at a provider that is no more than a map.
#[derive(Clone, Default)]
struct Topics(Arc<Mutex<BTreeMap<String, Value>>>);

impl ExternalService for Topics {
    type Spec = TopicSpec;

    const KIND: Kind =
        Kind { name: "Topic", strategy: Strategy::Lifecycle, states: STREAM_STATES, retry_tokens: false };

    fn create_body(spec: &TopicSpec, uid: &str) -> Value {
        json!({"title": spec.title, "tags": {OWNER_TAG: uid}})
    }

    fn scope(_spec: &TopicSpec) -> Scope {
        Scope::new()
    }

    fn read(spec: &TopicSpec, _uid: &str, body: &Value) -> Option<Resource> {
        let state = body["state"].as_str();
        let is_same = body["title"] == json!(spec.title);
        Some(Resource {
            id: body["id"].as_str()?.to_owned(),
            raw_state: state.map(str::to_owned),
            details: None,
            owner: body["tags"][OWNER_TAG].as_str().map(str::to_owned),
            drift: if is_same { Drift::None } else { Drift::Update(json!({"title": spec.title})) },
            scope: Scope::new(),
            etag: None,
        })
    }

    async fn call(&self, _spec: &TopicSpec, uid: &str, call: &Call) -> Result<Response, CallError> {
        let mut topics = self.0.lock().unwrap();
        let body = match call {
            Call::Create { body, .. } => {
                let id = format!("topic-{}", topics.len() + 1);
                let mut topic = body.clone();
                topic["id"] = json!(id);
                topic["state"] = json!("CREATING");
                topics.insert(id, topic.clone());
                Body::Json(topic)
            }
            Call::Get { id, .. } => {
                let topic = topics.get_mut(id).ok_or_else(not_found)?;
                let shown = topic.clone();
                // Every operation ends with the first read.
                let next = match topic["state"].as_str() {
                    Some("DELETING" | "DELETED") => "DELETED",
                    _ => "ACTIVE",
                };
                topic["state"] = json!(next);
                Body::Json(shown)
            }
            Call::Update { id, body, .. } => {
                let topic = topics.get_mut(id).ok_or_else(not_found)?;
                topic["title"] = body["title"].clone();
                topic["state"] = json!("UPDATING");
                Body::Empty
            }
            Call::Delete { id, .. } => {
                topics.get_mut(id).ok_or_else(not_found)?["state"] = json!("DELETING");
                Body::Empty
            }
            Call::Find { .. } => {
                let ours = topics.values().filter(|topic| topic["tags"][OWNER_TAG] == json!(uid));
                Body::Listing { resources: ours.cloned().collect(), creating: Vec::new() }
            }
            Call::GetWorkRequest { .. } | Call::ExplainFailure { .. } => return Err(not_found()),
        };
        let request_id = Some(format!("request-{}", call.name()));
        Ok(Response { body, request_id, ..Response::default() })
    }
}

fn not_found() -> CallError {
    CallError {
        status: Some(404),
        code: "NotAuthorizedOrNotFound".to_owned(),
        message: "no such topic".to_owned(),
        ..CallError::default()
    }
}

/// What `deploy/` grants for a kind, for this one: a kind brings no rights of its own.
fn grant(namespace: &Namespace) {
    let account = "--serviceaccount=plimsoll-system:plimsoll-operator";
    for (role, verbs, resource) in [
        ("topics", "--verb=get,list,watch,patch", "--resource=topics.third.plimsoll.dev"),
        ("topics-status", "--verb=update", "--resource=topics.third.plimsoll.dev/status"),
    ] {
        namespace.kubectl(&["create", "role", role, verbs, resource]).unwrap();
        namespace.kubectl(&["create", "rolebinding", role, &format!("--role={role}"), account]).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_third_kind_inherits_everything() {
    let namespace = namespace("third").await;
    let crd = definition(Topic::crd(), "Title", ".spec.title");
    let crds = Api::<CustomResourceDefinition>::all(namespace.client().clone());
    crds.patch(Topic::crd_name(), &PatchParams::apply("test").force(), &Patch::Apply(&crd)).await.unwrap();
    let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd/topics.third.plimsoll.dev"];
    namespace.kubectl(&wait).unwrap();
    grant(&namespace);
    let (session, topics, metrics) = (session(&namespace).await, Topics::default(), Metrics::new());
    let connected = topics.clone();
    let stop = CancellationToken::new();
    let recorder = Events::start(session.client().clone(), "third", metrics.clone()).recorder("third");
    let source = source::<Topic>(manifest::Namespace::new(namespace.name()));
    let store = Store::start(session.clone(), source, &stop);
    let connect = move |_: &Topic| std::future::ready(Ok(Connected::from(connected.clone())));
    let controller = ExternalController::new(session, store, connect, quick(), recorder, metrics.clone());
    let running = tokio::spawn(controller.run(stop.clone()));

    let topic = json!({
        "apiVersion": "third.plimsoll.dev/v1", "kind": "Topic", "metadata": {"name": "news"},
        "spec": {"title": "News"},
    });
    namespace.apply_as("person", &topic).await;
    let ready = |title: &'static str| {
        move |topic: Option<&Value>| {
            topic.is_some_and(|topic| {
                condition(topic, "Ready")["status"] == "True"
                    && condition(topic, "Progressing")["status"] == "False"
                    && topic["status"]["title"] == title
            })
        }
    };
    let made = namespace.until(&topic, "ready", ready("News")).await.unwrap();
    assert_eq!(made["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(made["status"]["status"]["ocid"], "topic-1");
    assert_eq!(made["status"]["status"]["opcRequestId"], "request-create");
    assert_eq!(shared_types(&made), ["Provisioning", "Active"]);
    let columns = namespace.kubectl(&["get", "topics"]).unwrap();
    assert!(columns.lines().nth(1).unwrap().contains("True"), "{columns}");

    namespace.merge_as("person", &topic, &json!({"spec": {"title": "Olds"}})).await;
    let changed = namespace.until(&topic, "changed", ready("Olds")).await.unwrap();
    assert_eq!(changed["status"]["status"]["async"]["lastOperation"]["phase"], "update");
    namespace.kubectl(&["delete", "--wait", "--timeout=60s", "topic/news"]).unwrap();
    assert_eq!(topics.0.lock().unwrap()["topic-1"]["state"], "DELETED");
    let text = metrics.text(jiff::Timestamp::now());
    assert!(text.contains(r#"operation="create""#), "{text}");
    stop.cancel();
    running.await.unwrap();
    let events = namespace.kubectl(&["events", "--for=topic/news"]).unwrap();
    assert!(events.contains("Started") && events.contains("Available"), "{events}");
}
