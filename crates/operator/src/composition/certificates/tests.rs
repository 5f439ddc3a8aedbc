use serde_json::json;

use super::*;

#[test]
fn a_secret_is_read_whole_or_not_at_all() {
    let whole = json!({"data": {"tls.crt": "Yw==", "tls.key": "aw==", "ca.crt": "YQ=="}});
    let pem = read(&whole).unwrap();
    assert_eq!((pem.certificate, pem.key, pem.authority), (b"c".into(), b"k".into(), b"a".into()));
    assert!(read(&json!({"data": {"tls.crt": "Yw==", "tls.key": "aw=="}})).is_none());
    assert!(read(&json!({"data": {"tls.crt": "!", "tls.key": "aw==", "ca.crt": "YQ=="}})).is_none());
    assert!(read(&json!({})).is_none());
}

#[test]
fn crossplanes_certificate_is_beside_its_functions() {
    let check = |endpoint: &str, annotations: Value, expected: Option<&str>| {
        let revision = json!({
            "metadata": {"annotations": annotations},
            "spec": {"desiredState": "Active"}, "status": {"endpoint": endpoint},
        });
        assert_eq!(installed_by_crossplane(revision.as_object().unwrap()).as_deref(), expected, "{endpoint}");
    };
    check("dns:///fn.crossplane-system:9443", json!({}), Some("crossplane-system"));
    check("dns:///fn.crossplane-system.svc:9443", json!({}), Some("crossplane-system"));
    check("127.0.0.1:9443", json!({}), None);
    let ours = json!({package::ANNOTATION_RUNTIME_NAMESPACE: "plimsoll-system"});
    check("dns:///fn.plimsoll-system:9443", ours, None);
}
