use serde_json::json;

use super::*;

fn xrd(finalizers: &Value) -> Object {
    object::from_value(
        json!({"metadata": {"name": "xapps.example.org", "generation": 3, "finalizers": finalizers}}),
    )
}

#[test]
fn a_status_is_written_only_when_it_changes() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let kind = "example.org/v1/XApp".parse().unwrap();
    let report = |xrd: &Object| {
        let mut status = Status::of(xrd, now);
        status.watching(Role::Composite, &kind);
        status.changed(xrd)
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
    assert_eq!(status::watched_generation(&written, Role::Composite), Some(3));
    assert_eq!(status::watched_generation(&written, Role::Claim), None);
}

#[test]
fn what_was_established_before_outlives_an_invalid_change() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let failed = |xrd: &Object| {
        let mut status = Status::of(xrd, now);
        status.failed(Role::Composite, "RenderCRD", "no");
        status.changed(xrd)
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
