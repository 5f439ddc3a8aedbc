//! XRs that a change does not reach, and those for which it fails.

use cluster::{Delete, Write};
use serde_json::json;

use crate::fixture::{Platform, apply, in_one_line, map, reference, until};

fn input(value: &str) -> serde_json::Value {
    json!({"resources": {"settings": map(&json!({"v": value}))}})
}

#[tokio::test]
async fn a_function_that_fails_for_one_xr_does_not_hide_the_others() {
    let platform = Platform::new("fails", &input("1")).await;
    for name in ["a", "b", "c"] {
        platform.composed(name, "small").await;
    }
    let mut changed = input("2");
    changed["failFor"] = "b".into();
    changed["warnFor"] = "c".into();
    let changed = platform.composition("main", &changed);
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(shown.contains("0 of 3 XRs unchanged; 2 change ConfigMap.data.v; 1 fails\n"), "{shown}");
    assert!(shown.contains("! XApp NS/b: could not be composed\n"), "{shown}");
    let line = in_one_line(&shown);
    assert!(line.contains("error[composite-fails]: XApp NS/b could not be composed"), "{shown}");
    assert!(line.contains("there is no room for b"), "{shown}");
    assert!(line.contains("warning[function-result]: a function warns about XApp NS/c"), "{shown}");
    assert!(line.contains("c is almost full"), "{shown}");
}

#[tokio::test]
async fn paused_deleted_and_pinned_xrs_are_named_and_others_are_not_concerned() {
    let platform = Platform::new("states", &input("1")).await;
    let session = &platform.session;
    platform.composed("changes", "small").await;
    let mut paused = platform.composed("paused", "small").await;
    let mut pinned = platform.xr("pinned", "small");
    pinned["spec"]["crossplane"]["compositionUpdatePolicy"] = "Manual".into();
    platform.settled(&pinned).await;
    // A finalizer of another keeps it.
    let mut going = platform.xr("going", "small");
    going["metadata"]["finalizers"] = json!(["example.org/hold"]);
    platform.settled(&going).await;
    apply(session, &platform.composition("other", &input("1"))).await;
    let mut other = platform.xr("other", "small");
    other["spec"]["crossplane"] = json!({"compositionSelector": {"matchLabels": {"of": "other"}}});
    platform.settled(&other).await;

    paused = json!({
        "apiVersion": paused["apiVersion"], "kind": paused["kind"],
        "metadata": {"namespace": platform.ns.name(), "name": "paused", "annotations": {"crossplane.io/paused": "true"}},
    });
    session.apply(&reference(&paused), &paused, Write::by("person").force()).await.unwrap();
    let how = Delete { timeout: std::time::Duration::ZERO, ..Delete::of(&reference(&going)) };
    session.delete(&reference(&going), &how).await.unwrap();

    let changed = platform.composition("main", &input("2"));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    let summary = shown.lines().nth(2).unwrap_or_default();
    assert_eq!(
        summary,
        "0 of 4 XRs unchanged; 1 changes ConfigMap.data.v; 1 stays with its revision; 1 is paused; 1 is being deleted",
        "{shown}"
    );
    assert!(shown.contains("~ XApp NS/changes\n"), "{shown}");
    for other in ["paused", "pinned", "going", "other"] {
        assert!(!shown.contains(&format!("XApp NS/{other}")), "{other}: {shown}");
    }
    // The other Composition concerns the one that selects it.
    let changed = platform.composition("other", &input("2"));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.contains("the only XR changes ConfigMap.data.v\n"), "{shown}");
    assert!(shown.contains("~ XApp NS/other\n"), "{shown}");
    let released = json!({
        "apiVersion": going["apiVersion"], "kind": going["kind"],
        "metadata": {"namespace": platform.ns.name(), "name": "going", "finalizers": []},
    });
    platform.ns.merge_as("person", &released, &json!({"metadata": {"finalizers": null}})).await;
}

#[tokio::test]
async fn what_the_api_server_would_reject_is_an_error_of_its_xr() {
    let platform = Platform::new("rejects", &input("1")).await;
    platform.composed("a", "small").await;
    let mut changed = input("1");
    changed["resources"]["settings"]["object"]["data"] = json!({"v": {"not": "text"}});
    let changed = platform.composition("main", &changed);
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(shown.contains("the only XR has a ConfigMap that the API server rejects\n"), "{shown}");
    assert!(shown.contains("    ! ConfigMap NS/a-HASH\n"), "{shown}");
    assert!(shown.contains("error[composed-refused]"), "{shown}");
}

#[tokio::test]
async fn an_xr_that_failed_before_and_recovers_is_concerned() {
    let mut failing = input("1");
    failing["failFor"] = "a".into();
    let platform = Platform::new("recovers", &failing).await;
    let xr = platform.xr("a", "small");
    apply(&platform.session, &xr).await;
    let failed = |xr: &serde_json::Value| {
        xr["status"]["conditions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["type"] == "Synced" && one["status"] == "False"))
    };
    until(&platform.session, &xr, "it has failed", failed).await;
    let changed = platform.composition("main", &input("1"));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.contains("the only XR gains a ConfigMap\n"), "{shown}");
}

#[tokio::test]
async fn xrs_are_left_out_on_request() {
    let platform = Platform::new("without", &input("1")).await;
    platform.composed("a", "small").await;
    let changed = platform.composition("main", &input("2"));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-", "--without-xrs"], &[&changed]));
    assert!(shown.starts_with("exit 2\n--- stdout\n~ Composition"), "{shown}");
    assert!(!shown.contains("XApp"), "{shown}");
}
