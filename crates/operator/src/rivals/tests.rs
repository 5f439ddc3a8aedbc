use serde_json::json;

use super::*;

fn lease(holder: Option<&str>, renewed: Option<&str>) -> Option<Held> {
    let lease = json!({
        "metadata": { "namespace": "osok", "name": "40558063.oci" },
        "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15 },
    });
    Held::of(Engine::rival_of(Half::Oci), &serde_json::from_value(lease).unwrap())
}

#[test]
fn an_engine_seems_to_run_while_its_lease_is_held_and_renewed() {
    let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    let check = |holder: Option<&str>, renewed: Option<&str>, expected: bool| {
        let found = lease(holder, renewed).filter(|held| held.is_current(now)).map(|held| held.rival);
        assert_eq!(found.is_some(), expected, "{holder:?} {renewed:?}");
        assert!(found.is_none_or(|rival| rival.lease == "osok/40558063.oci" && rival.holder == "pod-1"));
    };
    check(Some("pod-1"), Some("2026-11-15T11:59:50.000000Z"), true);
    check(Some("pod-1"), Some("2026-11-15T12:00:07.000000Z"), true);
    check(Some("pod-1"), Some("2026-11-15T11:59:44.000000Z"), false);
    // No leader renews a lease once an hour: one of the clocks is wrong.
    check(Some("pod-1"), Some("2026-11-15T13:00:00.000000Z"), false);
    check(Some("pod-1"), None, false);
    check(Some(""), Some("2026-11-15T11:59:59.000000Z"), false);
    check(None, None, false);
}

#[test]
fn an_engine_runs_while_its_lease_changes_whatever_its_clock_shows() {
    let began = Instant::now();
    let at = |seconds: u64| began + Duration::from_secs(seconds);
    let renewed = |second: u64| {
        // Its clock is hours behind ours.
        let time = format!("2026-11-15T08:00:{second:02}.000000Z");
        lease(Some("pod-1"), Some(&time)).into_iter().collect::<Vec<_>>()
    };
    let mut seen = Seen::default();
    seen.know(renewed(0), at(0));
    assert_eq!(seen.running(renewed(0), at(5)), None, "what was there before may be of an engine that ended");
    assert!(seen.running(renewed(9), at(10)).is_some());
    assert!(seen.running(renewed(9), at(25)).is_some());
    assert_eq!(seen.running(renewed(9), at(26)), None, "it was not renewed within its duration");
    assert!(seen.running(renewed(27), at(28)).is_some());
    assert_eq!(seen.running(Vec::new(), at(29)), None, "it was released");
    assert!(seen.running(renewed(30), at(31)).is_some(), "a lease that is new");
}
