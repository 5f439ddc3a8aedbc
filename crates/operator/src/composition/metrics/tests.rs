//! What Prometheus would read.

use super::*;
use crate::runtime::metrics::Metrics;

/// The samples whose names contain `name`, sorted.
fn samples(metrics: &Metrics, name: &str) -> String {
    let text = metrics.text(Timestamp::UNIX_EPOCH);
    let mut lines: Vec<&str> =
        text.lines().filter(|line| line.contains(name) && !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn standing(condition: &'static str, status: &'static str, reason: &str) -> Standing {
    Standing { xrd: "xqueues.example.com".to_owned(), condition, status, reason: reason.to_owned() }
}

#[test]
fn claims_and_xrs_are_counted_by_condition_and_reason() {
    let all = Metrics::new();
    let metrics = all.part::<CompositionMetrics>();
    let healthy = || standing("Healthy", "True", "Available");
    let broken = || standing("Healthy", "False", "InternalError");
    metrics.claim("u1", vec![broken(), standing("Ready", "True", "Available")]);
    metrics.claim("u2", vec![healthy()]);
    metrics.claim("u2", vec![broken()]);
    metrics.claim("u3", vec![healthy()]);
    metrics.claim("u3", Vec::new());
    metrics.composite("u4", vec![standing("Healthy", "False", "FunctionNotFound")]);
    insta::assert_snapshot!(samples(&all, "xqueues"), @r#"
    plimsoll_claims{xrd="xqueues.example.com",condition="Healthy",status="False",reason="InternalError"} 2
    plimsoll_claims{xrd="xqueues.example.com",condition="Ready",status="True",reason="Available"} 1
    plimsoll_composites{xrd="xqueues.example.com",condition="Healthy",status="False",reason="FunctionNotFound"} 1
    "#);
    all.leading(false);
    assert_eq!(samples(&all, "xqueues"), "", "another copy counts them");
}

#[test]
fn calls_of_functions_are_timed() {
    let all = Metrics::new();
    let metrics = all.part::<CompositionMetrics>();
    metrics.function_call("function-auto-ready", "ok", Duration::from_millis(1));
    assert_eq!(
        samples(&all, "function_call_seconds_count"),
        r#"plimsoll_function_call_seconds_count{function="function-auto-ready",outcome="ok"} 1"#
    );
}
