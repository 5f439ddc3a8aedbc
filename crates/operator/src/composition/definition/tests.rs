use serde_json::json;

use super::*;

fn xrd(finalizers: &Value) -> Object {
    object::from_value(
        json!({"metadata": {"name": "xapps.example.org", "generation": 3, "finalizers": finalizers}}),
    )
}

#[test]
fn finalizers_are_written_only_when_they_change() {
    let check = |before: Value, names: &[&str], held: bool, expected: Option<Value>| {
        let changed = with_finalizers(&xrd(&before), names, held);
        let finalizers = changed.map(|changed| changed["metadata"]["finalizers"].clone());
        assert_eq!(finalizers, expected, "{before} {names:?} {held}");
    };
    check(json!([]), &["a", "b"], true, Some(json!(["a", "b"])));
    check(json!(["x", "a"]), &["a", "b"], true, Some(json!(["x", "a", "b"])));
    check(json!(["a", "b"]), &["a", "b"], true, None);
    check(json!(["a", "x", "b"]), &["a", "b"], false, Some(json!(["x"])));
    check(json!(["x"]), &["a"], false, None);
    let mut none = xrd(&Value::Null);
    object::nested_mut(&mut none, &["metadata"]).remove("finalizers");
    assert_eq!(with_finalizers(&none, &["a"], false), None);
}

#[test]
fn a_report_is_news_once() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let kind = "example.org/v1/XApp".parse().unwrap();
    let report = |xrd: &Object| {
        let mut report = Report::on(xrd, now);
        report.watching(Role::Composite, &kind);
        report.news(xrd)
    };
    let written = report(&xrd(&json!([]))).unwrap();
    let expected = json!({
        "conditions": [{
            "type": "Established", "status": "True", "reason": "WatchingCompositeResource",
            "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 3,
        }],
        "controllers": {"compositeResourceType": {"apiVersion": "example.org/v1", "kind": "XApp"}},
    });
    assert_eq!(written["status"], expected);
    assert_eq!(report(&written), None);
    assert_eq!(report::watched_generation(&written, Role::Composite), Some(3));
    assert_eq!(report::watched_generation(&written, Role::Claim), None);
}

#[test]
fn what_was_established_before_outlives_an_xrd_that_makes_no_sense() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let failed = |xrd: &Object| {
        let mut report = Report::on(xrd, now);
        report.failed(Role::Composite, "RenderCRD", "no");
        report.news(xrd)
    };
    let new = xrd(&json!([]));
    assert_eq!(failed(&new).unwrap()["status"]["conditions"][0]["reason"], "RenderCRD");
    let mut established = new;
    established.insert(
        "status".to_owned(),
        json!({"conditions": [{
            "type": "Established", "status": "True", "reason": "WatchingCompositeResource",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}),
    );
    assert_eq!(failed(&established), None);
}
