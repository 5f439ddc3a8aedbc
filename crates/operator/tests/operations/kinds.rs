//! The committed definitions on a real API server: what they accept, what they refuse, and what they keep.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use operator::api::definition;
use oraclecloud::kind::Embedded;
use oraclecloud::{Catalogue, Kind};
use serde_json::{Value, json};
use testkit::{Namespace, seed};

use super::namespace;

/// Creates and changes objects of one kind without keeping the outcome.
struct Admission {
    resource: ApiResource,
    api: Api<DynamicObject>,
}

impl Admission {
    fn of(kind: &str, namespace: &Namespace) -> Self {
        let kind = Catalogue::standard().get(kind).unwrap();
        let gvk = GroupVersionKind::gvk(&kind.group(), "v1beta1", &kind.name);
        let resource = ApiResource::from_gvk_with_plural(&gvk, &kind.plural);
        let api = Api::namespaced_with(namespace.client().clone(), namespace.name(), &resource);
        Self { resource, api }
    }

    /// The refusal of a new object with this spec; nothing when it is accepted.
    async fn create(&self, spec: &Value) -> Option<String> {
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        refusal(self.api.create(&parameters, &self.object("tried", spec)).await)
    }

    /// The refusal of a change of the object `name`; nothing when it is accepted.
    async fn change(&self, name: &str, spec: &Value) -> Option<String> {
        let parameters = PatchParams { dry_run: true, ..PatchParams::default() };
        refusal(self.api.patch(name, &parameters, &Patch::Merge(json!({ "spec": spec }))).await)
    }

    async fn keep(&self, name: &str, spec: &Value) {
        self.api.create(&PostParams::default(), &self.object(name, spec)).await.unwrap();
    }

    fn object(&self, name: &str, spec: &Value) -> DynamicObject {
        DynamicObject::new(name, &self.resource).data(json!({ "spec": spec }))
    }
}

fn refusal(result: kube::Result<DynamicObject>) -> Option<String> {
    match result {
        Ok(_) => None,
        Err(kube::Error::Api(status)) if status.code == 422 => Some(status.message),
        Err(other) => panic!("neither accepted nor refused: {other}"),
    }
}

#[track_caller]
fn assert_refusal(case: &Value, refusal: Option<&str>, expected: Option<&str>) {
    match (refusal, expected) {
        (None, None) => {}
        (Some(refusal), Some(expected)) if refusal.contains(expected) => {}
        _ => panic!("{case}: refused with {refusal:?}, expected {expected:?}"),
    }
}

/// A sample of all kinds, and those whose rules have to escape the name of a field.
#[tokio::test]
async fn an_api_server_accepts_the_definitions_of_derived_kinds() {
    let namespace = namespace("definitions").await;
    let definitions = Api::<CustomResourceDefinition>::all(namespace.client().clone());
    let all: Vec<Kind> = Embedded::all().iter().flat_map(|embedded| embedded.read().kinds()).collect();
    let whole = seed::is_whole();
    let mut random = fastrand::Rng::with_seed(seed::usual("definitions"));
    let chosen: Vec<(Kind, Value)> = all
        .into_iter()
        .map(|kind| (kind, definition(kind)))
        .filter(|(_, definition)| whole || definition.to_string().contains(".__") || random.usize(..40) == 0)
        .collect();
    for path in ["capacitymanagement/OccCapacityRequest", "capacitymanagement/OccAvailabilityCatalog"] {
        assert!(chosen.iter().any(|(kind, _)| kind.path() == path), "{path}");
    }
    for (kind, definition) in chosen {
        let name = definition["metadata"]["name"].as_str().unwrap();
        let parameters = PatchParams { dry_run: true, force: true, ..PatchParams::apply("test") };
        let applied = definitions.patch(name, &parameters, &Patch::Apply(&definition)).await;
        applied.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    }
}

#[tokio::test]
async fn a_queue_keeps_its_ranges() {
    let queues = Admission::of("queue/Queue", &namespace("queue_ranges").await);
    for (fields, expected) in [
        (json!({}), None),
        (json!({"retentionInSeconds": 604_800, "visibilityInSeconds": 0, "timeoutInSeconds": 0}), None),
        (json!({"channelConsumptionLimit": 0, "deadLetterQueueDeliveryCount": 0}), None),
        (json!({"channelConsumptionLimit": 100, "customEncryptionKeyId": ""}), None),
        (json!({"capabilities": [{"type": "LARGE_MESSAGES"}, {"jsonData": "{\"type\": \"NEW\"}"}]}), None),
        (json!({"definedTags": {"ops": {"tier": "2"}}, "freeformTags": {}}), None),
        (json!({"retentionInSeconds": 604_801}), Some("spec.retentionInSeconds")),
        (json!({"retentionInSeconds": -1}), Some("spec.retentionInSeconds")),
        (json!({"visibilityInSeconds": -1}), Some("spec.visibilityInSeconds")),
        (json!({"timeoutInSeconds": -1}), Some("spec.timeoutInSeconds")),
        (json!({"deadLetterQueueDeliveryCount": -1}), Some("spec.deadLetterQueueDeliveryCount")),
        (json!({"channelConsumptionLimit": 101}), Some("spec.channelConsumptionLimit")),
        (json!({"displayName": ""}), Some("spec.displayName")),
        (json!({"compartmentId": ""}), Some("spec.compartmentId")),
        (json!({"compartmentId": null}), Some("spec.compartmentId")),
    ] {
        let mut spec = json!({"displayName": "orders", "compartmentId": "c1"});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_refusal(&fields, queues.create(&spec).await.as_deref(), expected);
    }
}

#[tokio::test]
async fn a_queue_keeps_what_cannot_be_changed() {
    let queues = Admission::of("queue/Queue", &namespace("queue_changes").await);
    let spec = json!({"displayName": "orders", "compartmentId": "c1"});
    queues.keep("plain", &spec).await;
    let mut spec = spec;
    spec["retentionInSeconds"] = json!(3600);
    spec["visibilityInSeconds"] = json!(45);
    queues.keep("full", &spec).await;
    let fixed = "retentionInSeconds can be neither changed nor removed";
    for (name, fields, expected) in [
        ("full", json!({"displayName": "renamed", "visibilityInSeconds": null}), None),
        ("full", json!({"retentionInSeconds": 3600}), None),
        ("full", json!({"retentionInSeconds": 3601}), Some(fixed)),
        ("full", json!({"retentionInSeconds": 0}), Some(fixed)),
        ("full", json!({"retentionInSeconds": null}), Some(fixed)),
        ("full", json!({"compartmentId": "c2"}), None),
        ("full", json!({"compartmentId": null}), Some("spec.compartmentId")),
        ("plain", json!({"retentionInSeconds": 86_400}), None),
    ] {
        assert_refusal(&fields, queues.change(name, &fields).await.as_deref(), expected);
    }
}

#[tokio::test]
async fn a_stream_keeps_its_ranges_and_has_one_home() {
    let streams = Admission::of("streaming/Stream", &namespace("stream_ranges").await);
    let one_home = Some("exactly one of compartmentId and streamPoolId must be set");
    for (fields, expected) in [
        (json!({"compartmentId": "c1"}), None),
        (json!({"streamPoolId": "p1", "retentionInHours": 24}), None),
        (json!({"compartmentId": "c1", "retentionInHours": 168}), None),
        (json!({}), one_home),
        (json!({"compartmentId": "c1", "streamPoolId": "p1"}), one_home),
        (json!({"compartmentId": "c1", "retentionInHours": 23}), Some("spec.retentionInHours")),
        (json!({"compartmentId": "c1", "retentionInHours": 169}), Some("spec.retentionInHours")),
        (json!({"compartmentId": "c1", "partitions": 0}), Some("spec.partitions")),
        (json!({"compartmentId": "c1", "name": ""}), Some("spec.name")),
        (json!({"compartmentId": ""}), Some("spec.compartmentId")),
    ] {
        let mut spec = json!({"name": "clicks", "partitions": 2});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_refusal(&fields, streams.create(&spec).await.as_deref(), expected);
    }
}

#[tokio::test]
async fn a_stream_keeps_what_cannot_be_changed() {
    let streams = Admission::of("streaming/Stream", &namespace("stream_changes").await);
    streams
        .keep(
            "homed",
            &json!({"name": "clicks", "partitions": 2, "compartmentId": "c1", "retentionInHours": 48}),
        )
        .await;
    streams.keep("pooled", &json!({"name": "clicks", "partitions": 2, "streamPoolId": "p1"})).await;
    let fixed = "retentionInHours can be neither changed nor removed";
    let one_home = "exactly one of compartmentId and streamPoolId must be set";
    for (name, fields, expected) in [
        ("homed", json!({"freeformTags": {"team": "web"}}), None),
        ("homed", json!({"name": "other"}), Some("name cannot be changed")),
        ("homed", json!({"partitions": 3}), Some("partitions cannot be changed")),
        ("homed", json!({"retentionInHours": 49}), Some(fixed)),
        ("homed", json!({"retentionInHours": null}), Some(fixed)),
        ("homed", json!({"compartmentId": "c2"}), Some("compartmentId cannot be changed")),
        ("homed", json!({"compartmentId": null}), Some(one_home)),
        ("homed", json!({"compartmentId": null, "streamPoolId": "p1"}), None),
        ("pooled", json!({"streamPoolId": "p2"}), None),
        ("pooled", json!({"streamPoolId": null}), Some(one_home)),
        ("pooled", json!({"streamPoolId": null, "compartmentId": "c1"}), Some("but not removed")),
        ("pooled", json!({"retentionInHours": 24}), None),
    ] {
        assert_refusal(&fields, streams.change(name, &fields).await.as_deref(), expected);
    }
}

#[tokio::test]
async fn an_object_of_several_types_has_the_fields_of_its_type() {
    let connections = Admission::of("databasemigration/Connection", &namespace("types").await);
    let oracle = json!({
        "connectionType": "ORACLE", "technologyType": "ORACLE_DATABASE", "displayName": "a", "compartmentId": "c1",
        "vaultId": "v1", "keyId": "k1", "username": "u", "password": {"secret": {"secretName": "login"}},
    });
    for (fields, expected) in [
        (json!({}), None),
        (json!({"sshHost": "h"}), None),
        (json!({"connectionType": "MONGO"}), Some("spec.connectionType: Unsupported value")),
        (json!({"password": "hunter2"}), Some("spec.password")),
        (
            json!({"securityProtocol": "TLS"}),
            Some("securityProtocol is allowed only if connectionType is MYSQL"),
        ),
        (json!({"connectionType": "MYSQL"}), Some("databaseName is required if connectionType is MYSQL")),
        (json!({"keyId": null}), Some("spec.keyId: Required value")),
    ] {
        let mut spec = oracle.clone();
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_refusal(&fields, connections.create(&spec).await.as_deref(), expected);
    }
    let databases = Admission::of("database/AutonomousDatabase", &namespace("adb").await);
    for (fields, expected) in [
        (json!({"compartmentId": "c1"}), None),
        (json!({"compartmentId": "c1", "sourceId": "d1"}), Some("sourceId is allowed only if source is")),
        (json!({"compartmentId": "c1", "source": "DATABASE"}), Some("sourceId is required if source is")),
    ] {
        assert_refusal(&fields, databases.create(&fields).await.as_deref(), expected);
    }
}

/// An object as OSOK leaves it, with piled-up conditions and a create in flight.
fn from_osok() -> Value {
    json!({
        "apiVersion": "queue.oracle.com/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "orders", "finalizers": ["finalizers.oci.oracle.com/oci-resources"]},
        "spec": {
            "displayName": "orders", "compartmentId": "c1", "retentionInSeconds": 3600, "visibilityInSeconds": 45,
            "timeoutInSeconds": 20, "channelConsumptionLimit": 10, "deadLetterQueueDeliveryCount": 3,
            "customEncryptionKeyId": "key",
            "capabilities": [{
                "type": "CONSUMER_GROUPS", "jsonData": "{}", "isPrimaryConsumerGroupEnabled": true,
                "primaryConsumerGroupDisplayName": "main", "primaryConsumerGroupFilter": "a = 'b'",
                "primaryConsumerGroupDeadLetterQueueDeliveryCount": 2,
            }],
            "freeformTags": {"team": "checkout"}, "definedTags": {"ops": {"tier": "2"}},
        },
        "status": {
            "id": "ocid1.queue.oc1..q", "compartmentId": "c1", "timeCreated": "2026-01-02T03:04:05.123Z",
            "timeUpdated": "2026-01-02T03:04:06Z", "lifecycleState": "UPDATING", "lifecycleDetails": "soon",
            "messagesEndpoint": "https://cell-1.queue.example", "retentionInSeconds": 3600,
            "visibilityInSeconds": 45, "timeoutInSeconds": 20, "channelConsumptionLimit": 10,
            "deadLetterQueueDeliveryCount": 3, "displayName": "orders", "customEncryptionKeyId": "key",
            "freeformTags": {"team": "checkout"}, "definedTags": {"ops": {"tier": "2"}},
            "systemTags": {"orcl-cloud": {"free-tier-retained": "true"}},
            "capabilities": [{"type": "CONSUMER_GROUPS"}],
            "updateWorkRequestId": "wr-7",
            "status": {
                "conditions": [
                    {"type": "Provisioning", "status": "True", "lastTransitionTime": "2026-01-02T03:03:05Z"},
                    {"type": "Failed", "status": "False", "message": "no", "reason": "odd"},
                    {"type": "Provisioning", "status": "True", "message": "again"},
                ],
                "async": {"current": {
                    "source": "workrequest", "phase": "update", "workRequestId": "wr-7", "rawStatus": "IN_PROGRESS",
                    "rawOperationType": "UPDATE_QUEUE", "normalizedClass": "pending", "percentComplete": 40.5,
                    "message": "going on", "updatedAt": "2026-01-02T03:04:05Z",
                }},
                "opcRequestId": "0A/1B/2C", "ocid": "ocid1.queue.oc1..q", "message": "going on",
                "reason": "Updating", "createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T03:04:05Z",
                "requestedAt": "2026-01-02T03:04:05Z", "deletedAt": "2026-01-02T03:04:05Z",
            },
        },
    })
}

#[tokio::test]
async fn an_object_of_osok_survives_our_definition_unchanged() {
    let namespace = namespace("osok").await;
    let wanted = from_osok();
    let queues = Admission::of("queue/Queue", &namespace).api;
    let object: DynamicObject = serde_json::from_value(wanted.clone()).unwrap();
    let created = queues.create(&PostParams::default(), &object).await.unwrap();
    let object = DynamicObject { metadata: created.metadata, ..object };
    queues.replace_status("orders", &PostParams::default(), &object).await.unwrap();

    let stored = namespace.get(&wanted).await.unwrap();
    assert_eq!(stored["spec"], wanted["spec"]);
    assert_eq!(stored["status"], wanted["status"]);
}

#[tokio::test]
async fn a_status_is_shown_in_columns_and_found_by_kubectl_wait() {
    let namespace = namespace("columns").await;
    let queues = Admission::of("queue/Queue", &namespace).api;
    let mut queue: DynamicObject = serde_json::from_value(from_osok()).unwrap();
    queue.metadata.finalizers = None;
    queue.data["status"]["conditions"] = json!([
        {"type": "Progressing", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "Updating"},
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "Available"},
    ]);
    let created = queues.create(&PostParams::default(), &queue).await.unwrap();
    queue.metadata = created.metadata;
    queues.replace_status("orders", &PostParams::default(), &queue).await.unwrap();
    let shown = namespace.kubectl(&["get", "queues.queue.oracle.com", "--output=wide"]).unwrap();
    let rows: Vec<Vec<&str>> =
        shown.lines().map(|line| line.split_whitespace().rev().skip(1).collect()).collect();
    assert_eq!(rows[0], ["OCID", "PERCENT", "OPERATION", "READY", "STATUS", "DISPLAYNAME", "NAME"]);
    assert_eq!(rows[1], ["ocid1.queue.oc1..q", "40.5", "update", "True", "Provisioning", "orders", "orders"]);
    namespace
        .kubectl(&["wait", "--for=condition=Ready", "--timeout=30s", "queue.queue.oracle.com/orders"])
        .unwrap();
}
