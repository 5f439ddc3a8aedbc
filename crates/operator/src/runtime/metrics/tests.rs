//! What Prometheus would read.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The samples whose names contain `name`, sorted.
fn samples(metrics: &Metrics, name: &str) -> String {
    let text = metrics.text(at(1000));
    let mut lines: Vec<&str> =
        text.lines().filter(|line| line.contains(name) && !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn operations_are_counted_by_kind_and_phase_and_the_age_of_the_oldest_is_shown() {
    let metrics = Metrics::new();
    metrics.operation("Queue", "u1", Some(("create", at(900))));
    metrics.operation("Queue", "u2", Some(("create", at(990))));
    metrics.operation("Queue", "u3", Some(("delete", at(700))));
    metrics.operation("Stream", "u4", Some(("create", at(1500))));
    insta::assert_snapshot!(samples(&metrics, "operation"), @r#"
    plimsoll_operation_oldest_seconds{kind="Queue"} 300
    plimsoll_operation_oldest_seconds{kind="Stream"} 0
    plimsoll_operations_in_flight{kind="Queue",phase="create"} 2
    plimsoll_operations_in_flight{kind="Queue",phase="delete"} 1
    plimsoll_operations_in_flight{kind="Stream",phase="create"} 1
    "#);
    for uid in ["u1", "u2", "u3", "u4", "unknown"] {
        metrics.operation("Queue", uid, None);
    }
    assert_eq!(samples(&metrics, "operation"), "");
}

fn standing(condition: &'static str, status: &'static str, reason: &str) -> Standing {
    Standing { xrd: "xqueues.example.com".to_owned(), condition, status, reason: reason.to_owned() }
}

#[test]
fn claims_and_xrs_are_counted_by_condition_and_reason() {
    let metrics = Metrics::new();
    let healthy = || standing("Healthy", "True", "Available");
    let broken = || standing("Healthy", "False", "InternalError");
    metrics.claim("u1", vec![broken(), standing("Ready", "True", "Available")]);
    metrics.claim("u2", vec![healthy()]);
    metrics.claim("u2", vec![broken()]);
    metrics.claim("u3", vec![healthy()]);
    metrics.claim("u3", Vec::new());
    metrics.composite("u4", vec![standing("Healthy", "False", "FunctionNotFound")]);
    insta::assert_snapshot!(samples(&metrics, "xqueues"), @r#"
    plimsoll_claims{xrd="xqueues.example.com",condition="Healthy",status="False",reason="InternalError"} 2
    plimsoll_claims{xrd="xqueues.example.com",condition="Ready",status="True",reason="Available"} 1
    plimsoll_composites{xrd="xqueues.example.com",condition="Healthy",status="False",reason="FunctionNotFound"} 1
    "#);
}

#[test]
fn reconciles_are_timed_and_queues_counted_together() {
    let metrics = Metrics::new();
    metrics.reconciled("composite", "ok", Duration::from_millis(20));
    let queue = Arc::new(3);
    let weak = Arc::downgrade(&queue);
    metrics.queue("composite", move || weak.upgrade().map(|depth| *depth));
    metrics.queue("composite", || Some(2));
    assert_eq!(samples(&metrics, "queue_depth"), r#"plimsoll_queue_depth{controller="composite"} 5"#);
    drop(queue);
    assert_eq!(samples(&metrics, "queue_depth"), r#"plimsoll_queue_depth{controller="composite"} 2"#);
    let count = r#"plimsoll_reconcile_seconds_count{controller="composite",outcome="ok"} 1"#;
    assert_eq!(samples(&metrics, "reconcile_seconds_count"), count);
}

#[test]
fn calls_are_timed_and_retries_counted() {
    let metrics = Metrics::new();
    metrics.cloud_call("GetQueue", "ok", Duration::from_millis(20));
    metrics.cloud_call("GetQueue", "ok", Duration::from_secs(60));
    metrics.function_call("function-auto-ready", "ok", Duration::from_millis(1));
    metrics.retry("Queue");
    metrics.retry("Queue");
    insta::assert_snapshot!(samples(&metrics, "retries"), @r#"plimsoll_retries_total{kind="Queue"} 2"#);
    let calls = samples(&metrics, "cloud_call_seconds");
    for line in [
        r#"plimsoll_cloud_call_seconds_bucket{le="0.025",operation="GetQueue",outcome="ok"} 1"#,
        r#"plimsoll_cloud_call_seconds_bucket{le="+Inf",operation="GetQueue",outcome="ok"} 2"#,
        r#"plimsoll_cloud_call_seconds_count{operation="GetQueue",outcome="ok"} 2"#,
    ] {
        assert!(calls.lines().any(|found| found == line), "{line} is not in\n{calls}");
    }
    let calls = samples(&metrics, "function_call_seconds_count");
    assert_eq!(
        calls,
        r#"plimsoll_function_call_seconds_count{function="function-auto-ready",outcome="ok"} 1"#
    );
}

#[test]
fn a_copy_that_does_not_lead_reports_no_objects() {
    let metrics = Metrics::new();
    metrics.leading(true);
    metrics.operation("Queue", "u1", Some(("create", at(900))));
    metrics.claim("u2", vec![standing("Healthy", "True", "Available")]);
    metrics.composite("u3", vec![standing("Healthy", "True", "Available")]);
    assert_eq!(samples(&metrics, "leader"), "plimsoll_leader 1");
    metrics.leading(false);
    assert_eq!(samples(&metrics, ""), "plimsoll_leader 0");
}
