use serde_json::json;

use super::*;

#[test]
fn an_engine_runs_while_its_lease_is_held_and_renewed() {
    let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    let check = |holder: Option<&str>, renewed: Option<&str>, expected: bool| {
        let lease = json!({
            "metadata": { "namespace": "osok", "name": "40558063.oci" },
            "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15 },
        });
        let found = held(Engine::rival_of(Half::Oci), &serde_json::from_value(lease).unwrap(), now);
        assert_eq!(found.is_some(), expected, "{holder:?} {renewed:?}");
        assert!(found.is_none_or(|rival| rival.lease == "osok/40558063.oci" && rival.holder == "pod-1"));
    };
    check(Some("pod-1"), Some("2026-11-15T11:59:50.000000Z"), true);
    check(Some("pod-1"), Some("2026-11-15T12:00:07.000000Z"), true);
    check(Some("pod-1"), Some("2026-11-15T11:59:44.000000Z"), false);
    check(Some("pod-1"), None, false);
    check(Some(""), Some("2026-11-15T11:59:59.000000Z"), false);
    check(None, None, false);
}
