//! Reconciles of real objects, with a real API server and the Oracle Cloud emulator.

use diag::Diagnostic;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use operations::{
    Call, CallError, ConditionStatus, ConditionType, ExternalService, FinalizeReason, Jitter, Kind,
    LocalState, Now, Policy, Resource, Response, Schedule, Scope, Status,
};
use operator::api::{Queue, QueueSpec, Stream};
use operator::operations::{
    ExternalObject, FINALIZER, Finished, QueueService, Reconcile, Report, StepError, StreamService,
};
use operator::runtime::client::ObjectClient;
use oraclecloud_emulator::{Operation, Server};
use serde_json::{Value, json};
use testkit::Namespace;

use super::bench::{client, server, session};
use super::namespace;

/// Reconciles one object again and again, as if every wait were over at once.
struct Driver<'a, S, O> {
    /// With the rights of a person.
    api: Api<O>,
    /// With the rights of the operator.
    operator: ObjectClient,
    service: &'a S,
    memory: LocalState,
    recorded: std::sync::Mutex<Vec<String>>,
}

impl<'a, O: ExternalObject, S: ExternalService<Spec = O::Spec>> Driver<'a, S, O> {
    async fn new(namespace: &Namespace, service: &'a S) -> Self {
        let api = Api::namespaced(namespace.client().clone(), namespace.name());
        let operator = ObjectClient::new(session(namespace).await);
        Self { api, operator, service, memory: LocalState::default(), recorded: std::sync::Mutex::default() }
    }

    async fn reconcile(&mut self) -> Report {
        let report = self.reconcile_object(self.api.get("orders").await.unwrap()).await.unwrap();
        self.memory = report.memory.clone();
        report
    }

    async fn reconcile_object(&self, object: O) -> Result<Report, StepError> {
        let moment = || Now { time: Timestamp::now(), jitter: Jitter::default() };
        let record =
            |diagnostic: &Diagnostic| self.recorded.lock().unwrap().push(diagnostic.code.to_string());
        let settings = &Schedule::default();
        let reconcile = Reconcile {
            client: &self.operator,
            service: self.service,
            identity: None,
            policy: &Policy::default(),
            endpoint: None,
            settings,
            moment: &moment,
            record: &record,
        };
        Box::pin(reconcile.run(object, self.memory.clone())).await
    }

    /// Reconciles until the object is ready for its generation; how often that took.
    async fn until_ready(&mut self) -> usize {
        for passes in 1..=20 {
            assert!(matches!(self.reconcile().await.finished, Finished::Wait(_)));
            let object = self.api.get("orders").await.unwrap();
            let status = status_of(&object);
            let ready = status.condition(ConditionType::Ready).unwrap();
            if ready.status == ConditionStatus::True
                && ready.observed_generation == object.meta().generation
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

fn status_of(object: &impl ExternalObject) -> Status {
    object.recorded(Timestamp::now())
}

#[tokio::test]
async fn a_queue_is_created_changed_left_alone_and_deleted() {
    let namespace = namespace("passes").await;
    let server = server().await;
    let service = QueueService::new(client(&server));
    let mut driver = Driver::<_, Queue>::new(&namespace, &service).await;
    let api = driver.api.clone();
    driver.create(orders(&server)).await;

    driver.reconcile().await;
    let queue = api.get("orders").await.unwrap();
    assert_eq!(queue.finalizers(), [FINALIZER]);
    let status = queue.status.clone().unwrap();
    let in_flight = status.progress.current().unwrap();
    assert!(in_flight.record.work_request_id.is_some(), "{in_flight:?}");
    assert_eq!(status.mirrors.create_work_request_id, in_flight.record.work_request_id);

    driver.until_ready().await;
    let queue = api.get("orders").await.unwrap();
    let status = queue.status.clone().unwrap();
    assert_eq!(status.observed.id.as_deref(), status.progress.ocid());
    assert_eq!(status.observed.visibility_in_seconds, Some(45));
    assert_eq!(status.observed.freeform_tags["plimsoll-uid"], queue.uid().unwrap());
    assert_eq!(status.mirrors, operations::LegacyWorkRequestIds::default());

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
    let service = StreamService::new(client(&server));
    let mut driver = Driver::<_, Stream>::new(&namespace, &service).await;
    let api = driver.api.clone();
    driver
        .create(json!({
            "apiVersion": "streaming.oracle.com/v1beta1", "kind": "Stream", "metadata": {"name": "orders"},
            "spec": {"name": "orders", "compartmentId": server.compartment(), "partitions": 2},
        }))
        .await;
    driver.until_ready().await;
    let stream = api.get("orders").await.unwrap();
    let observed = stream.status.clone().unwrap().observed;
    assert_eq!((observed.partitions, observed.retention_in_hours), (Some(2), Some(24)));
    assert_eq!(observed.id.as_deref(), status_of(&stream).ocid());

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
    let service = QueueService::new(client(&server));
    let driver = Driver::<_, Queue>::new(&namespace, &service).await;
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
    queues: QueueService,
    api: Api<Queue>,
    change: Value,
}

impl ExternalService for Meddled {
    type Spec = QueueSpec;

    const KIND: Kind = QueueService::KIND;

    fn create_body(spec: &QueueSpec, uid: &str) -> Value {
        QueueService::create_body(spec, uid)
    }

    fn scope(spec: &QueueSpec) -> Scope {
        QueueService::scope(spec)
    }

    fn read(spec: &QueueSpec, uid: &str, body: &Value) -> Option<Resource> {
        QueueService::read(spec, uid, body)
    }

    async fn call(&self, spec: &QueueSpec, uid: &str, call: &Call) -> Result<Response, CallError> {
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
    let api: Api<Queue> = Api::namespaced(namespace.client().clone(), namespace.name());
    let queues = QueueService::new(client(&server));
    let service = Meddled { queues, api: api.clone(), change: json!({"spec": {"visibilityInSeconds": 50}}) };
    let mut driver = Driver::<_, Queue>::new(&namespace, &service).await;
    driver.create(orders(&server)).await;
    driver.reconcile().await;
    let status = status_of(&api.get("orders").await.unwrap());
    assert!(status.current().unwrap().record.work_request_id.is_some(), "{status:?}");
    driver.until_ready().await;
    assert_eq!(server.resources()[0]["visibilityInSeconds"], 50);
    assert_eq!(server.journal().count(Operation::CreateQueue), 1);
}

#[tokio::test]
async fn a_status_that_another_leader_wrote_is_not_overwritten() {
    let namespace = namespace("leaders").await;
    let server = server().await;
    let api: Api<Queue> = Api::namespaced(namespace.client().clone(), namespace.name());
    let queues = QueueService::new(client(&server));
    let change = json!({"status": {"status": {"message": "written by another"}}});
    let service = Meddled { queues, api: api.clone(), change };
    let driver = Driver::<_, Queue>::new(&namespace, &service).await;
    driver.create(orders(&server)).await;
    let error = driver.reconcile_object(api.get("orders").await.unwrap()).await.unwrap_err();
    assert!(matches!(error, StepError::Conflict { .. }), "{error}");
    let status = status_of(&api.get("orders").await.unwrap());
    assert_eq!(status.status.message.as_deref(), Some("written by another"));
}
