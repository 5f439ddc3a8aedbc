//! What is sent for a Queue and what is made of the answers, as tables.

use operations::{Drift, ExternalService as _, Lifecycle, Phase};
use serde_json::{Value, json};

use super::{kind, shown_in_status, with};
use crate::operations::body::sent;
use crate::operations::described::Described;
use oraclecloud::kind::Shape;

fn queues() -> Described {
    super::service("queue/Queue")
}

const UID: &str = "uid-1";

fn spec(fields: Value) -> Value {
    with(json!({"displayName": "orders", "compartmentId": "c1"}), fields)
}

/// A queue as a read shows it, with `fields` changed.
fn shown(fields: Value) -> Value {
    let queue = json!({
        "id": "ocid1.queue.oc1..q", "compartmentId": "c1", "displayName": "orders", "lifecycleState": "ACTIVE",
        "retentionInSeconds": 86400, "visibilityInSeconds": 30, "timeoutInSeconds": 30,
        "deadLetterQueueDeliveryCount": 5, "channelConsumptionLimit": 100,
        "freeformTags": {"plimsoll-uid": UID, "billing": "b7"},
        "definedTags": {"Oracle-Tags": {"CreatedBy": "us"}, "ops": {"tier": 2}},
    });
    with(queue, fields)
}

#[test]
fn a_create_sends_what_the_spec_sets_and_the_owner() {
    let check = |fields: Value, expected: Value| {
        let body =
            json!({"displayName": "orders", "compartmentId": "c1", "freeformTags": {"plimsoll-uid": UID}});
        assert_eq!(queues().create_body(&spec(fields), UID), with(body, expected));
    };
    check(json!({}), json!({}));
    check(
        json!({"retentionInSeconds": 0, "visibilityInSeconds": 0, "timeoutInSeconds": 0,
               "channelConsumptionLimit": 0, "deadLetterQueueDeliveryCount": 0}),
        json!({"retentionInSeconds": 0, "visibilityInSeconds": 0, "timeoutInSeconds": 0,
               "channelConsumptionLimit": 0, "deadLetterQueueDeliveryCount": 0}),
    );
    check(json!({"customEncryptionKeyId": "key"}), json!({"customEncryptionKeyId": "key"}));
    check(json!({"customEncryptionKeyId": ""}), json!({}));
    check(json!({"capabilities": [], "definedTags": {}}), json!({}));
    check(
        json!({"freeformTags": {"team": "checkout", "plimsoll-uid": "another-owner"}}),
        json!({"freeformTags": {"team": "checkout", "plimsoll-uid": UID}}),
    );
    check(json!({"definedTags": {"ops": {"tier": "2"}}}), json!({"definedTags": {"ops": {"tier": "2"}}}));
}

#[test]
fn a_capability_is_sent_with_its_fields_on_top_of_its_json() {
    let check = |capability: Value, expected: Value| {
        let shape = Shape::Model("QueueCapability".to_owned());
        assert_eq!(sent(kind("queue/Queue"), &shape, &capability), expected);
    };
    check(json!({"type": "LARGE_MESSAGES"}), json!({"type": "LARGE_MESSAGES"}));
    check(
        json!({"type": "CONSUMER_GROUPS", "isPrimaryConsumerGroupEnabled": false,
               "primaryConsumerGroupDeadLetterQueueDeliveryCount": 0}),
        json!({"type": "CONSUMER_GROUPS", "isPrimaryConsumerGroupEnabled": false,
               "primaryConsumerGroupDeadLetterQueueDeliveryCount": 0}),
    );
    check(
        json!({"jsonData": r#"{"type": "NEW", "depth": 3}"#, "primaryConsumerGroupFilter": "f"}),
        json!({"type": "NEW", "depth": 3, "primaryConsumerGroupFilter": "f"}),
    );
    check(json!({"type": "NEWER", "jsonData": r#"{"type": "NEW"}"#}), json!({"type": "NEWER"}));
    check(json!({"type": "NEW", "jsonData": " "}), json!({"type": "NEW"}));
    check(json!({"type": "NEW", "jsonData": "depth: 3"}), json!({"type": "NEW", "jsonData": "depth: 3"}));
}

fn drift(fields: Value, observed: Value) -> Drift {
    queues().read(&spec(fields), UID, &shown(observed)).unwrap().drift
}

#[test]
fn a_field_that_the_spec_does_not_set_cannot_drift() {
    assert_eq!(drift(json!({}), json!({})), Drift::None);
    assert_eq!(
        drift(
            json!({}),
            json!({"visibilityInSeconds": 45, "customEncryptionKeyId": "key", "freeformTags": {"a": "b"},
               "capabilities": [{"type": "LARGE_MESSAGES"}]})
        ),
        Drift::None
    );
    assert_eq!(
        drift(
            json!({"freeformTags": {}, "definedTags": {}, "capabilities": []}),
            json!({"capabilities": [{"type": "LARGE_MESSAGES"}]})
        ),
        Drift::None
    );
}

#[test]
fn only_what_differs_is_sent_and_zero_is_a_value() {
    let update = |body: Value| Drift::Update(body);
    assert_eq!(
        drift(
            json!({"visibilityInSeconds": 30, "timeoutInSeconds": 30, "deadLetterQueueDeliveryCount": 5,
               "channelConsumptionLimit": 100, "retentionInSeconds": 86400}),
            json!({})
        ),
        Drift::None
    );
    assert_eq!(drift(json!({"visibilityInSeconds": 30}), json!({"visibilityInSeconds": 30.0})), Drift::None);
    for name in
        ["visibilityInSeconds", "timeoutInSeconds", "deadLetterQueueDeliveryCount", "channelConsumptionLimit"]
    {
        assert_eq!(drift(json!({name: 0}), json!({})), update(json!({name: 0})));
        assert_eq!(drift(json!({name: 7}), json!({name: null})), update(json!({name: 7})));
    }
    assert_eq!(drift(json!({"displayName": "new"}), json!({})), update(json!({"displayName": "new"})));
}

#[test]
fn a_key_is_set_changed_and_cleared() {
    let key = |key: &str| json!({"customEncryptionKeyId": key});
    assert_eq!(drift(key("k1"), key("k1")), Drift::None);
    assert_eq!(drift(key("k1"), json!({})), Drift::Update(key("k1")));
    assert_eq!(drift(key("k2"), key("k1")), Drift::Update(key("k2")));
    assert_eq!(drift(key(""), key("k1")), Drift::Update(key("")));
    assert_eq!(drift(key(""), json!({})), Drift::None);
    assert_eq!(drift(key(""), json!({"customEncryptionKeyId": null})), Drift::None);
}

#[test]
fn tags_are_merged_and_the_owners_is_never_cleared() {
    assert_eq!(drift(json!({"freeformTags": {"billing": "b7"}}), json!({})), Drift::None);
    assert_eq!(
        drift(json!({"freeformTags": {"team": "checkout", "plimsoll-uid": "x"}}), json!({})),
        Drift::Update(json!({"freeformTags": {"team": "checkout", "billing": "b7", "plimsoll-uid": UID}}))
    );
    assert_eq!(
        drift(json!({"freeformTags": {"team": "checkout"}}), json!({"freeformTags": null})),
        Drift::Update(json!({"freeformTags": {"team": "checkout"}}))
    );
    assert_eq!(
        drift(json!({}), json!({"freeformTags": {"plimsoll-uid": "another", "a": "b"}})),
        Drift::Update(json!({"freeformTags": {"plimsoll-uid": UID, "a": "b"}}))
    );
    assert_eq!(drift(json!({"definedTags": {"Ops": {"Tier": "2"}}}), json!({})), Drift::None);
    assert_eq!(
        drift(json!({"definedTags": {"OPS": {"tier": "3"}, "cost": {"centre": "9"}}}), json!({})),
        Drift::Update(json!({"definedTags": {
            "Oracle-Tags": {"CreatedBy": "us"}, "ops": {"tier": "3"}, "cost": {"centre": "9"}
        }}))
    );
}

#[test]
fn a_capability_is_added_once_and_compared_as_far_as_it_is_shown() {
    let groups = json!({"type": "CONSUMER_GROUPS", "primaryConsumerGroupDisplayName": "main"});
    let asked = json!({"capabilities": [groups]});
    assert_eq!(drift(asked.clone(), json!({})), Drift::Update(asked.clone()));
    assert_eq!(drift(asked.clone(), json!({"capabilities": [{"type": "consumer_groups"}]})), Drift::None);
    assert_eq!(drift(asked.clone(), json!({"capabilities": ["CONSUMER_GROUPS"]})), Drift::None);
    assert_eq!(drift(asked.clone(), asked.clone()), Drift::None);
    let other =
        json!({"capabilities": [{"type": "CONSUMER_GROUPS", "primaryConsumerGroupDisplayName": "old"}]});
    assert_eq!(drift(asked.clone(), other), Drift::Update(asked.clone()));
    assert_eq!(
        drift(asked.clone(), json!({"capabilities": [{"type": "LARGE_MESSAGES"}]})),
        Drift::Update(asked)
    );
}

#[test]
fn what_cannot_be_changed_is_named_and_nothing_is_sent() {
    let fixed = |names: &[&str]| Drift::Immutable(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(drift(json!({"retentionInSeconds": 60}), json!({})), fixed(&["retentionInSeconds"]));
    assert_eq!(
        drift(json!({"retentionInSeconds": 60, "visibilityInSeconds": 1}), json!({"compartmentId": "c2"})),
        fixed(&["retentionInSeconds"])
    );
    assert_eq!(
        drift(json!({"visibilityInSeconds": 1}), json!({"compartmentId": "c2"})),
        Drift::Move(json!({"compartmentId": "c1"})),
        "a queue is moved before anything else is changed"
    );
    assert_eq!(drift(json!({"retentionInSeconds": 60}), json!({"retentionInSeconds": 60})), Drift::None);
}

#[test]
fn a_queue_is_read_with_its_state_and_owner() {
    let read = |body: Value| queues().read(&spec(json!({})), UID, &body);
    let resource = read(shown(json!({"lifecycleState": "creating", "lifecycleDetails": "soon"}))).unwrap();
    assert_eq!(resource.id, "ocid1.queue.oc1..q");
    assert_eq!(resource.raw_state.as_deref(), Some("creating"));
    assert_eq!(
        queues().kind().lifecycle(resource.raw_state.as_deref()),
        Some(Lifecycle::Pending(Phase::Create))
    );
    assert_eq!(resource.details.as_deref(), Some("soon"));
    assert_eq!(resource.owner.as_deref(), Some(UID));
    let strange = read(shown(json!({"lifecycleState": "DREAMING", "freeformTags": ["x"]}))).unwrap();
    assert_eq!(
        (strange.raw_state.as_deref(), queues().kind().lifecycle(strange.raw_state.as_deref())),
        (Some("DREAMING"), None)
    );
    assert_eq!(strange.owner, None);
    for nothing in [json!({}), json!({"id": 7}), json!({"id": " "}), json!([]), json!(null)] {
        assert_eq!(read(nothing), None);
    }
}

#[test]
fn status_shows_the_queue_and_survives_a_strange_one() {
    let observed = shown_in_status(
        "queue/Queue",
        &shown(json!({
            "messagesEndpoint": "https://cell-1.queue.example", "timeCreated": "2026-01-02T03:04:05.123Z",
            "systemTags": {"orcl-cloud": {"free-tier-retained": true}},
            "capabilities": [{"type": "CONSUMER_GROUPS", "isPrimaryConsumerGroupEnabled": true}, "LARGE_MESSAGES", 7],
        })),
    );
    assert_eq!(
        observed,
        shown(json!({
            "messagesEndpoint": "https://cell-1.queue.example", "timeCreated": "2026-01-02T03:04:05.123Z",
            "definedTags": {"Oracle-Tags": {"CreatedBy": "us"}, "ops": {"tier": "2"}},
            "systemTags": {"orcl-cloud": {"free-tier-retained": "true"}},
            "capabilities": [
                {"type": "CONSUMER_GROUPS", "isPrimaryConsumerGroupEnabled": true}, {"type": "LARGE_MESSAGES"}
            ],
        }))
    );
    let strange = json!({
        "id": "q", "retentionInSeconds": "long", "lifecycleState": 3, "freeformTags": {"a": {}, "b": 1},
        "definedTags": [], "capabilities": {"type": "X"}, "messagesEndpoint": null,
    });
    assert_eq!(shown_in_status("queue/Queue", &strange), json!({"id": "q", "freeformTags": {"b": "1"}}));
}
