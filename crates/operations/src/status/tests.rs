use super::*;
use crate::operation::{Class, OperationRecord, Percent, Phase, Source};
use crate::{ConditionStatus, ConditionType, SharedConditionType};
use serde_json::json;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Every field set, so that the test below covers every published name.
fn full() -> Status {
    let now = at("2026-01-02T03:04:05Z");
    let operation = Operation {
        record: OperationRecord {
            phase: Phase::Create,
            normalized_class: Class::Pending,
            work_request_id: Some("wr-7".into()),
            raw_status: Some("IN_PROGRESS".into()),
            raw_operation_type: Some("CREATE_QUEUE".into()),
            message: Some("Queue create work request wr-7 is IN_PROGRESS".into()),
            generation: Some(2),
            attempt: Some(1),
            body_hash: Some("ab".into()),
            started_at: Some(now),
        },
        source: Source::WorkRequest,
        percent_complete: Percent::reported(40.0),
        updated_at: now,
        token: Some("uid-2-1".into()),
        sent: [("adminPassword".into(), "0a1b".into())].into(),
        deadline: Some(now),
    };
    let record = OperationRecord {
        phase: Phase::Create,
        normalized_class: Class::Failed,
        work_request_id: Some("wr-6".into()),
        raw_status: Some("FAILED".into()),
        raw_operation_type: Some("CREATE_QUEUE".into()),
        message: Some("OCI create failed".into()),
        generation: Some(1),
        attempt: Some(1),
        body_hash: Some("aa".into()),
        started_at: Some(now),
    };
    let last = LastOperation { record, finished_at: now, fruitless: 1 };
    Status {
        observed_generation: Some(2),
        conditions: vec![Condition {
            kind: ConditionType::Ready,
            status: ConditionStatus::False,
            observed_generation: Some(2),
            last_transition_time: now,
            reason: "Provisioning".into(),
            message: "m".into(),
        }],
        status: SharedStatus {
            conditions: vec![SharedCondition {
                kind: SharedConditionType::Provisioning,
                status: ConditionStatus::True,
                last_transition_time: Some(now),
                message: "m".into(),
                reason: String::new(),
            }],
            tracker: Tracker { current: Some(operation), last_operation: Some(last) },
            opc_request_id: Some("A/B/C".into()),
            ocid: Some("ocid1.queue".into()),
            binding: Some(Binding {
                region: Some("us-phoenix-1".into()),
                tenancy: Some("ocid1.tenancy".into()),
                secret: Some("ocicredentials".into()),
                scope: [("compartmentId".into(), "c1".into())].into(),
            }),
            sent: Some([("adminPassword".into(), "0a1b".into())].into()),
            message: Some("m".into()),
            reason: Some("Provisioning".into()),
            requested_at: Some(now),
            created_at: Some(now),
            updated_at: Some(now),
            deleted_at: Some(now),
        },
    }
}

#[test]
fn every_name_is_the_published_one() {
    let time = "2026-01-02T03:04:05Z";
    let json = json!({
        "observedGeneration": 2,
        "conditions": [{
            "type": "Ready", "status": "False", "observedGeneration": 2, "lastTransitionTime": time,
            "reason": "Provisioning", "message": "m",
        }],
        "status": {
            "conditions": [{"type": "Provisioning", "status": "True", "lastTransitionTime": time, "message": "m"}],
            "async": {
                "current": {
                    "source": "workrequest", "phase": "create", "workRequestId": "wr-7",
                    "rawStatus": "IN_PROGRESS", "rawOperationType": "CREATE_QUEUE",
                    "normalizedClass": "pending", "percentComplete": 40.0,
                    "message": "Queue create work request wr-7 is IN_PROGRESS", "updatedAt": time,
                    "startedAt": time, "generation": 2, "attempt": 1, "token": "uid-2-1", "bodyHash": "ab",
                    "sent": {"adminPassword": "0a1b"}, "deadline": time,
                },
                "lastOperation": {
                    "phase": "create", "normalizedClass": "failed", "workRequestId": "wr-6",
                    "rawStatus": "FAILED", "rawOperationType": "CREATE_QUEUE", "message": "OCI create failed",
                    "generation": 1, "attempt": 1, "bodyHash": "aa", "startedAt": time, "finishedAt": time,
                    "fruitless": 1,
                },
            },
            "binding": {
                "region": "us-phoenix-1", "tenancy": "ocid1.tenancy", "secret": "ocicredentials",
                "scope": {"compartmentId": "c1"},
            },
            "sent": {"adminPassword": "0a1b"},
            "opcRequestId": "A/B/C", "ocid": "ocid1.queue", "message": "m", "reason": "Provisioning",
            "requestedAt": time, "createdAt": time, "updatedAt": time, "deletedAt": time,
        },
    });
    assert_eq!(serde_json::to_value(full()).unwrap(), json);
    assert_eq!(serde_json::from_value::<Status>(json).unwrap(), full());
}

#[test]
fn the_inner_status_and_its_async_object_are_always_there() {
    assert_eq!(serde_json::to_value(Status::default()).unwrap(), json!({"status": {"async": {}}}));
    assert_eq!(serde_json::from_value::<Status>(json!({})).unwrap(), Status::default());
}

#[test]
fn a_status_left_by_osok_is_read() {
    let left: Status = serde_json::from_value(json!({
        "createWorkRequestId": "wr-7",
        "lifecycleState": "CREATING",
        "status": {
            "reason": "Provisioning",
            "updatedAt": "2026-01-02T03:04:05Z",
            "conditions": [
                {"type": "Provisioning", "status": "True", "lastTransitionTime": "2026-01-02T03:03:05Z"},
                {"type": "Provisioning", "status": "True", "message": "again"},
                {"type": "Failed", "status": "False"},
            ],
            "async": {"current": {
                "source": "workrequest", "phase": "create", "workRequestId": "wr-7", "rawStatus": "IN_PROGRESS",
                "normalizedClass": "pending", "percentComplete": 40, "updatedAt": "2026-01-02T03:04:05Z",
            }},
        },
    }))
    .unwrap();
    let current = left.current().unwrap();
    assert_eq!(
        (current.record.phase, current.record.work_request_id.as_deref()),
        (Phase::Create, Some("wr-7"))
    );
    assert_eq!(current.percent_complete.map(Percent::get), Some(40.0));
    assert_eq!(left.status.conditions.len(), 3);
}

#[test]
fn enums_have_exactly_the_published_values() {
    use Class::{Attention, Canceled, Failed, Pending, Succeeded, Unknown};
    fn check<T: Serialize>(values: &[T], words: &[&str]) {
        assert_eq!(serde_json::to_value(values).unwrap(), json!(words));
    }
    check(&[Source::None, Source::Lifecycle, Source::WorkRequest], &["none", "lifecycle", "workrequest"]);
    let phases = [Phase::Create, Phase::Update, Phase::Delete];
    check(&phases, &phases.map(Phase::as_str));
    check(&phases, &["create", "update", "delete"]);
    check(
        &[Pending, Succeeded, Failed, Canceled, Attention, Unknown],
        &["pending", "succeeded", "failed", "canceled", "attention", "unknown"],
    );
}

#[test]
fn percent_is_clamped_and_not_a_number_is_dropped() {
    let check = |reported: f64, expected: Option<f64>| {
        assert_eq!(Percent::reported(reported).map(Percent::get), expected, "{reported}");
    };
    check(0.0, Some(0.0));
    check(42.5, Some(42.5));
    check(100.0, Some(100.0));
    check(140.0, Some(100.0));
    check(-3.0, Some(0.0));
    check(f64::INFINITY, Some(100.0));
    check(f64::NEG_INFINITY, Some(0.0));
    check(f64::NAN, None);
}

#[test]
fn updated_at_changes_only_with_another_field() {
    let before = full();
    let later = at("2026-01-02T04:00:00Z");
    let mut same = before.clone();
    same.stamp(&before, later);
    assert_eq!(same, before);

    let mut moved = before.clone();
    moved.status.tracker.current.as_mut().unwrap().percent_complete = Percent::reported(60.0);
    moved.stamp(&before, later);
    assert_eq!(moved.current().unwrap().updated_at, later);
    assert_eq!(moved.status.updated_at, Some(later));

    let mut outer = before.clone();
    outer.status.ocid = Some("other".into());
    outer.stamp(&before, later);
    assert_eq!(outer.current().unwrap().updated_at, before.current().unwrap().updated_at);
    assert_eq!(outer.status.updated_at, Some(later));
}

#[test]
fn a_blank_request_id_does_not_replace_the_last_one() {
    let mut status = full();
    for (id, expected) in
        [(None, "A/B/C"), (Some("  "), "A/B/C"), (Some(" D/E/F "), "D/E/F"), (Some(""), "D/E/F")]
    {
        status.set_request_id(id);
        assert_eq!(status.status.opc_request_id.as_deref(), Some(expected), "{id:?}");
    }
}
