//! What is sent for a Stream and what is made of the answers, as tables.

use operations::{Drift, ExternalService as _, Lifecycle};
use serde_json::{Value, json};

use super::{shown_in_status, with};
use crate::operations::described::Described;

fn streams() -> Described {
    super::service("streaming/Stream")
}

const UID: &str = "uid-1";

fn spec(fields: Value) -> Value {
    with(json!({"name": "clicks", "partitions": 2}), fields)
}

fn shown(fields: Value) -> Value {
    let stream = json!({
        "id": "ocid1.stream.oc1..s", "name": "clicks", "partitions": 2, "retentionInHours": 24,
        "compartmentId": "c1", "streamPoolId": "p1", "lifecycleState": "ACTIVE",
        "timeCreated": "2026-01-02T03:04:05Z", "messagesEndpoint": "https://cell-1.streaming.example",
        "freeformTags": {"plimsoll-uid": UID}, "definedTags": {},
    });
    with(stream, fields)
}

#[test]
fn a_create_sends_what_the_spec_sets_and_the_owner() {
    let check = |fields: Value, expected: Value| {
        let body = json!({"name": "clicks", "partitions": 2, "freeformTags": {"plimsoll-uid": UID}});
        assert_eq!(streams().create_body(&spec(fields), UID), with(body, expected));
    };
    check(json!({"compartmentId": "c1"}), json!({"compartmentId": "c1"}));
    check(
        json!({"streamPoolId": "p1", "retentionInHours": 48, "definedTags": {"ops": {"tier": "2"}}}),
        json!({"streamPoolId": "p1", "retentionInHours": 48, "definedTags": {"ops": {"tier": "2"}}}),
    );
}

#[test]
fn pool_and_tags_can_change_and_the_rest_is_named() {
    let check = |fields: Value, observed: Value, expected: Drift| {
        let resource = streams().read(&spec(fields.clone()), UID, &shown(observed)).unwrap();
        assert_eq!(resource.drift, expected, "{fields}");
    };
    let fixed = |name: &str| Drift::Immutable(vec![name.to_owned()]);
    check(json!({"compartmentId": "c1"}), json!({}), Drift::None);
    check(
        json!({"compartmentId": "c1"}),
        json!({"retentionInHours": 168, "streamPoolId": "p9"}),
        Drift::None,
    );
    check(json!({"streamPoolId": "p1"}), json!({}), Drift::None);
    check(json!({"streamPoolId": "p2"}), json!({}), Drift::Update(json!({"streamPoolId": "p2"})));
    check(
        json!({"freeformTags": {"team": "web"}}),
        json!({}),
        Drift::Update(json!({"freeformTags": {"team": "web", "plimsoll-uid": UID}})),
    );
    check(json!({"name": "other"}), json!({}), fixed("name"));
    check(json!({"partitions": 3}), json!({}), fixed("partitions"));
    check(json!({"retentionInHours": 48}), json!({}), fixed("retentionInHours"));
    check(json!({"compartmentId": "c2"}), json!({}), fixed("compartmentId"));
    check(json!({"streamPoolId": "p2", "partitions": 3}), json!({}), fixed("partitions"));
}

#[test]
fn a_stream_is_read_with_its_state_and_owner() {
    let read = |body: Value| streams().read(&spec(json!({})), UID, &body);
    let resource =
        read(shown(json!({"lifecycleState": "FAILED", "lifecycleStateDetails": "no room"}))).unwrap();
    assert_eq!(
        (streams().kind().lifecycle(resource.raw_state.as_deref()), resource.details.as_deref()),
        (Some(Lifecycle::Failed), Some("no room"))
    );
    assert_eq!(resource.owner.as_deref(), Some(UID));
    let inactive = read(shown(json!({"lifecycleState": "INACTIVE"}))).unwrap();
    assert_eq!(streams().kind().lifecycle(inactive.raw_state.as_deref()), None);
    assert_eq!(read(json!({"name": "clicks"})), None);
}

#[test]
fn status_shows_the_stream() {
    let observed = shown_in_status("streaming/Stream", &shown(json!({"lifecycleStateDetails": "fine"})));
    let mut expected = shown(json!({"lifecycleStateDetails": "fine"}));
    expected.as_object_mut().unwrap().remove("definedTags");
    assert_eq!(observed, expected);
}
