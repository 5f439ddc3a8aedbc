//! Reconciles of real objects, with a real API server and the Oracle Cloud emulator.

use std::sync::Arc;

use cluster::Session;
use diag::Diagnostic;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use operations::{
    Call, CallError, ConditionStatus, ConditionType, ExternalService, FinalizeReason, Jitter, LocalState,
    Now, Policy, Resource, Response, Schedule, Scope, Status,
};
use operator::operations::{Described, FINALIZER, Finished, Reconcile, Report, StepError, recorded};
use operator::runtime::client::ObjectClient;
use operator::runtime::metrics::Metrics;
use oraclecloud::{Catalogue, Kind};
use oraclecloud_emulator::{Operation, Server};
use serde_json::{Value, json};
use testkit::Namespace;

use super::bench::{client, server, session};
use super::namespace;

/// Reconciles one object again and again, as if every wait were over at once.
struct Driver<'a, S> {
    kind: Kind,
    /// With the rights of a person.
    api: Api<DynamicObject>,
    /// With the rights of the operator.
    operator: ObjectClient,
    service: &'a S,
    memory: LocalState,
    recorded: std::sync::Mutex<Vec<String>>,
}

impl<'a, S: ExternalService<Spec = Value>> Driver<'a, S> {
    async fn new(namespace: &Namespace, kind: Kind, service: &'a S) -> Self {
        let api = api(namespace, kind);
        let operator = ObjectClient::new(session(namespace).await);
        Self {
            kind,
            api,
            operator,
            service,
            memory: LocalState::default(),
            recorded: std::sync::Mutex::default(),
        }
    }

    async fn reconcile(&mut self) -> Report {
        self.reconcile_object(self.api.get("orders").await.unwrap()).await.unwrap()
    }

    async fn reconcile_object(&mut self, object: DynamicObject) -> Result<Report, StepError> {
        let moment = || Now { time: Timestamp::now(), jitter: Jitter::default() };
        let record =
            |diagnostic: &Diagnostic| self.recorded.lock().unwrap().push(diagnostic.code.to_string());
        let settings = &Schedule::default();
        let reconcile = Reconcile {
            kind: self.kind,
            client: &self.operator,
            service: self.service,
            identity: None,
            policy: &Policy::default(),
            began: Timestamp::UNIX_EPOCH,
            endpoint: None,
            settings,
            moment: &moment,
            record: &record,
        };
        Box::pin(reconcile.run(object, &mut self.memory)).await
    }

    /// Reconciles until the object is ready for its generation; how often that took.
    async fn until_ready(&mut self) -> usize {
        for passes in 1..=20 {
            assert!(matches!(self.reconcile().await.finished, Finished::Wait(_)));
            let object = self.api.get("orders").await.unwrap();
            let status = status_of(self.kind, &object);
            let ready = status.condition(ConditionType::Ready).unwrap();
            if ready.status == ConditionStatus::True
                && ready.observed_generation == object.metadata.generation
                && status.current().is_none()
            {
                return passes;
            }
        }
        panic!("not ready: {:#?}", self.api.get("orders").await.unwrap());
    }

    async fn until_released(&mut self) -> FinalizeReason {
        for _ in 0..20 {
            if let Finished::Released(evidence) = self.reconcile().await.finished {
                return evidence;
            }
        }
        panic!("not released: {:#?}", self.api.get("orders").await.unwrap());
    }

    async fn create(&self, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        self.api.create(&PostParams::default(), &object).await.unwrap();
    }

    async fn change(&self, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.api.patch("orders", &PatchParams::default(), &patch).await.unwrap();
    }
}

fn status_of(kind: Kind, object: &DynamicObject) -> Status {
    recorded(kind, object, Timestamp::now()).unwrap()
}

fn kind(path: &str) -> Kind {
    Catalogue::standard().get(path).unwrap()
}

fn api(namespace: &Namespace, kind: Kind) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(&kind.group(), "v1beta1", &kind.name);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &kind.plural);
    Api::namespaced_with(namespace.client().clone(), namespace.name(), &resource)
}

fn service(kind: Kind, server: &Server) -> Described {
    Described::new(kind, Ok(client(server)), &Metrics::new())
}

#[tokio::test]
async fn a_queue_is_created_changed_left_alone_and_deleted() {
    let namespace = namespace("passes").await;
    let server = server().await;
    let kind = kind("queue/Queue");
    let service = service(kind, &server);
    let mut driver = Driver::new(&namespace, kind, &service).await;
    let api = driver.api.clone();
    driver.create(orders(&server)).await;

    driver.reconcile().await;
    let queue = api.get("orders").await.unwrap();
    assert_eq!(queue.finalizers(), [FINALIZER]);
    let status = status_of(kind, &queue);
    let in_flight = status.current().unwrap();
    assert!(in_flight.record.work_request_id.is_some(), "{in_flight:?}");
    assert_eq!(queue.data["status"]["createWorkRequestId"], json!(in_flight.record.work_request_id));

    driver.until_ready().await;
    let queue = api.get("orders").await.unwrap();
    let shown = &queue.data["status"];
    assert_eq!(shown["id"].as_str(), status_of(kind, &queue).ocid());
    assert_eq!(shown["visibilityInSeconds"], 45);
    assert_eq!(shown["freeformTags"]["plimsoll-uid"], queue.uid().unwrap());
    assert_eq!(shown.get("createWorkRequestId"), None);

    let version = queue.resource_version();
    driver.reconcile().await;
    assert_eq!(api.get("orders").await.unwrap().resource_version(), version, "nothing new, nothing written");

    driver.change(json!({"visibilityInSeconds": 0})).await;
    driver.until_ready().await;
    assert_eq!(server.resources()[0]["visibilityInSeconds"], 0);
    assert_eq!(server.journal().effects(Operation::CreateQueue), 1);
    assert_eq!(server.journal().effects(Operation::UpdateQueue), 1);

    api.delete("orders", &DeleteParams::default()).await.unwrap();
    assert_eq!(driver.until_released().await, FinalizeReason::WorkRequestSucceeded);
    assert_eq!(api.get_opt("orders").await.unwrap(), None);
    assert_eq!(server.journal().effects(Operation::DeleteQueue), 1);
    assert_eq!(
        *driver.recorded.lock().unwrap(),
        ["operation-started", "operation-available", "operation-started", "operation-started"],
        "a queue stays available while it is changed"
    );
}

#[tokio::test]
async fn a_stream_is_created_changed_and_deleted() {
    let namespace = namespace("passes").await;
    let server = server().await;
    let kind = kind("streaming/Stream");
    let service = service(kind, &server);
    let mut driver = Driver::new(&namespace, kind, &service).await;
    let api = driver.api.clone();
    driver
        .create(json!({
            "apiVersion": "streaming.oracle.com/v1beta1", "kind": "Stream", "metadata": {"name": "orders"},
            "spec": {"name": "orders", "compartmentId": server.compartment(), "partitions": 2},
        }))
        .await;
    driver.until_ready().await;
    let stream = api.get("orders").await.unwrap();
    let shown = &stream.data["status"];
    assert_eq!((&shown["partitions"], &shown["retentionInHours"]), (&json!(2), &json!(24)));
    assert_eq!(shown["id"].as_str(), status_of(kind, &stream).ocid());

    driver.change(json!({"freeformTags": {"team": "web"}})).await;
    driver.until_ready().await;
    let tags = &server.resources()[0]["freeformTags"];
    assert_eq!(*tags, json!({"team": "web", "plimsoll-uid": stream.uid().unwrap()}));

    api.delete("orders", &DeleteParams::default()).await.unwrap();
    assert_eq!(driver.until_released().await, FinalizeReason::ObservedDeleted);
    assert_eq!(api.get_opt("orders").await.unwrap(), None);
    assert_eq!(server.journal().effects(Operation::CreateStream), 1);
}

fn orders(server: &Server) -> Value {
    json!({
        "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue", "metadata": {"name": "orders"},
        "spec": {"displayName": "orders", "compartmentId": server.compartment(), "visibilityInSeconds": 45},
    })
}

#[tokio::test]
async fn nothing_is_sent_for_an_object_that_was_changed_since_it_was_read() {
    let namespace = namespace("stale").await;
    let server = server().await;
    let kind = kind("queue/Queue");
    let service = service(kind, &server);
    let mut driver = Driver::new(&namespace, kind, &service).await;
    driver.create(orders(&server)).await;
    let stale = driver.api.get("orders").await.unwrap();
    driver.change(json!({"displayName": "renamed"})).await;
    let error = driver.reconcile_object(stale).await.unwrap_err();
    assert!(matches!(error, StepError::Conflict { .. }), "{error}");
    assert_eq!(error.to_string(), format!("{}/orders was changed by another writer", namespace.name()));
    assert_eq!(server.journal().entries().len(), 0);
}

/// Queues, with another writer that changes the object while its create is in flight.
struct Meddled {
    queues: Described,
    api: Api<DynamicObject>,
    change: Value,
}

impl ExternalService for Meddled {
    type Spec = Value;

    fn kind(&self) -> operations::Kind {
        self.queues.kind()
    }

    fn create_body(&self, spec: &Value, uid: &str) -> Value {
        self.queues.create_body(spec, uid)
    }

    fn scope(&self, spec: &Value) -> Scope {
        self.queues.scope(spec)
    }

    fn read(&self, spec: &Value, uid: &str, body: &Value) -> Option<Resource> {
        self.queues.read(spec, uid, body)
    }

    async fn call(&self, spec: &Value, uid: &str, call: &Call) -> Result<Response, CallError> {
        let answer = self.queues.call(spec, uid, call).await;
        if matches!(call, Call::Create { .. }) {
            let (parameters, patch) = (PatchParams::default(), Patch::Merge(&self.change));
            if self.change.get("status").is_some() {
                self.api.patch_status("orders", &parameters, &patch).await.unwrap();
            } else {
                self.api.patch("orders", &parameters, &patch).await.unwrap();
            }
        }
        answer
    }
}

#[tokio::test]
async fn the_response_to_a_create_is_stored_even_if_the_object_changed_meanwhile() {
    let namespace = namespace("meddled").await;
    let server = server().await;
    let kind = kind("queue/Queue");
    let (api, queues) = (api(&namespace, kind), service(kind, &server));
    let service = Meddled { queues, api: api.clone(), change: json!({"spec": {"visibilityInSeconds": 50}}) };
    let mut driver = Driver::new(&namespace, kind, &service).await;
    driver.create(orders(&server)).await;
    driver.reconcile().await;
    let status = status_of(kind, &api.get("orders").await.unwrap());
    assert!(status.current().unwrap().record.work_request_id.is_some(), "{status:?}");
    driver.until_ready().await;
    assert_eq!(server.resources()[0]["visibilityInSeconds"], 50);
    assert_eq!(server.journal().count(Operation::CreateQueue), 1);
}

/// A restore of the cluster's data may undo what was stored before.
#[tokio::test]
async fn what_is_known_of_an_object_outlives_a_response_that_cannot_be_stored() {
    let namespace = namespace("unstored").await;
    let server = Arc::new(server().await);
    let kind = kind("queue/Queue");
    let service = service(kind, &server);
    let mut driver = Driver::new(&namespace, kind, &service).await;
    driver.create(orders(&server)).await;
    let object = driver.api.get("orders").await.unwrap();
    // The API server is away once the create is sent.
    let (own, cloud) = (session(&namespace).await.client().clone(), Arc::clone(&server));
    let failing = tower::service_fn(move |request: http::Request<Body>| {
        let is_status = *request.method() == http::Method::PUT && request.uri().path().ends_with("/status");
        let is_away = is_status && cloud.journal().effects(Operation::CreateQueue) > 0;
        let own = own.clone();
        async move {
            if is_away {
                return Err(kube::Error::Service("the API server is away".into()));
            }
            own.send(request).await
        }
    });
    driver.operator = ObjectClient::new(Session::new(kube::Client::new(failing, "default")));
    let error = driver.reconcile_object(object).await.unwrap_err();
    assert!(matches!(error, StepError::Cluster { .. }), "{error}");
    assert_eq!(server.journal().effects(Operation::CreateQueue), 1);
    assert_ne!(driver.memory, LocalState::default());
}

#[tokio::test]
async fn a_status_that_another_leader_wrote_is_not_overwritten() {
    let namespace = namespace("leaders").await;
    let server = server().await;
    let kind = kind("queue/Queue");
    let (api, queues) = (api(&namespace, kind), service(kind, &server));
    let change = json!({"status": {"status": {"message": "written by another"}}});
    let service = Meddled { queues, api: api.clone(), change };
    let mut driver = Driver::new(&namespace, kind, &service).await;
    driver.create(orders(&server)).await;
    let error = driver.reconcile_object(api.get("orders").await.unwrap()).await.unwrap_err();
    assert!(matches!(error, StepError::Conflict { .. }), "{error}");
    let status = status_of(kind, &api.get("orders").await.unwrap());
    assert_eq!(status.status.message.as_deref(), Some("written by another"));
}
