//! What Prometheus would read.

use super::*;
use crate::runtime::metrics::Metrics;

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
    let all = Metrics::new();
    let metrics = all.part::<CloudMetrics>();
    metrics.operation("queue/Queue", "u1", Some(("create", at(900))));
    metrics.operation("queue/Queue", "u2", Some(("create", at(990))));
    metrics.operation("queue/Queue", "u3", Some(("delete", at(700))));
    metrics.operation("streaming/Stream", "u4", Some(("create", at(1500))));
    insta::assert_snapshot!(samples(&all, "operation"), @r#"
    plimsoll_operation_oldest_seconds{kind="queue/Queue"} 300
    plimsoll_operation_oldest_seconds{kind="streaming/Stream"} 0
    plimsoll_operations_in_flight{kind="queue/Queue",phase="create"} 2
    plimsoll_operations_in_flight{kind="queue/Queue",phase="delete"} 1
    plimsoll_operations_in_flight{kind="streaming/Stream",phase="create"} 1
    "#);
    metrics.operation("mysql/DbSystem", "u5", Some(("create", at(400))));
    metrics.operation("psql/DbSystem", "u6", Some(("create", at(500))));
    let of_both = samples(&all, "oldest");
    for line in [r#"{kind="mysql/DbSystem"} 600"#, r#"{kind="psql/DbSystem"} 500"#] {
        assert!(of_both.contains(line), "{line}: {of_both}");
    }
    metrics.operation("queue/Queue", "u3", None);
    assert_eq!(samples(&all, "oldest"), samples(&all, "oldest").replace("300", "100"));
    all.leading(false);
    assert_eq!(samples(&all, "operation"), "", "another copy counts them");
}

#[test]
fn calls_are_timed_and_retries_counted() {
    let all = Metrics::new();
    let metrics = all.part::<CloudMetrics>();
    metrics.call("GetQueue", "ok", Duration::from_millis(20));
    metrics.call("GetQueue", "ok", Duration::from_secs(60));
    metrics.retry("queue/Queue");
    metrics.retry("queue/Queue");
    insta::assert_snapshot!(samples(&all, "retries"), @r#"plimsoll_retries_total{kind="queue/Queue"} 2"#);
    let calls = samples(&all, "cloud_call_seconds");
    for line in [
        r#"plimsoll_cloud_call_seconds_bucket{le="0.025",operation="GetQueue",outcome="ok"} 1"#,
        r#"plimsoll_cloud_call_seconds_bucket{le="+Inf",operation="GetQueue",outcome="ok"} 2"#,
        r#"plimsoll_cloud_call_seconds_count{operation="GetQueue",outcome="ok"} 2"#,
    ] {
        assert!(calls.lines().any(|found| found == line), "{line} is not in\n{calls}");
    }
}
