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
