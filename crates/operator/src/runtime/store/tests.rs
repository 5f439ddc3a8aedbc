//! Stores on a fake server, with tokio's paused time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::runtime::testing::{Journal, Response, Seen, client, refusal};

const MAPS: &str = "GET /api/v1/configmaps";

fn object(name: &str, version: u32) -> Value {
    let metadata = json!({
        "namespace": "shop", "name": name, "uid": format!("uid-{name}"),
        "resourceVersion": version.to_string(), "managedFields": [{ "manager": "kubectl" }],
    });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })
}

fn list(version: u32, items: &[Value]) -> Response {
    let metadata = json!({ "resourceVersion": version.to_string() });
    Response::Json(
        200,
        json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items }),
    )
}

fn key(name: &str) -> Key {
    Key { namespace: Some("shop".to_owned()), name: name.to_owned() }
}

fn event(kind: &str, object: &Value) -> Value {
    json!({ "type": kind, "object": object })
}

/// A store of all ConfigMaps, whose server answers the n-th list and the n-th watch by these functions.
fn store(
    mut lists: impl FnMut(usize) -> Response + Send + 'static,
    mut watches: impl FnMut(usize) -> Response + Send + 'static,
) -> (Store, Journal, CancellationToken) {
    let (mut listed, mut watched) = (0, 0);
    let (client, journal) = client(move |seen: &Seen| {
        assert_eq!(seen.line, MAPS);
        if seen.query.contains("watch=true") {
            watched += 1;
            watches(watched)
        } else {
            listed += 1;
            lists(listed)
        }
    });
    let stop = CancellationToken::new();
    let source = Source::of(GroupVersionKind::new("v1".parse().unwrap(), "ConfigMap").unwrap())
        .without_managed_fields();
    (Store::start(Session::new(client), source, &Metrics::new(), &stop), journal, stop)
}

fn text(change: &Change) -> String {
    let version = |object: &Option<Arc<Value>>| {
        object.as_ref().map_or("-".to_owned(), |object| {
            object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
        })
    };
    format!("{} {} {}", change.key, version(&change.before), version(&change.after))
}

async fn next(changes: &mut Changes) -> String {
    text(&changes.recv().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_store_has_what_was_listed_and_watched() {
    let (store, journal, _stop) = store(
        |_| list(5, &[object("a", 3), object("b", 4)]),
        |number| match number {
            1 => Response::Lines(vec![
                event("MODIFIED", &object("a", 6)),
                event("ADDED", &object("c", 7)),
                event("DELETED", &object("b", 8)),
            ]),
            _ => Response::Silence,
        },
    );
    let mut changes = store.subscribe();
    store.wait_until_synced().await;
    for expected in ["shop/a - 3", "shop/b - 4", "shop/a 3 6", "shop/c - 7", "shop/b 4 -"] {
        assert_eq!(next(&mut changes).await, expected);
    }
    let names: Vec<_> = store.state().map(|object| object["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["a", "c"]);
    let found = store.get(&key("a")).unwrap();
    assert_eq!(found["metadata"]["resourceVersion"], "6");
    assert_eq!(found["metadata"].get("managedFields"), None, "left out on the way in");
    assert_eq!(store.by_uid("uid-a").unwrap(), found);
    assert!(store.get(&Key::cluster_scoped("a")).is_none());
    assert!(store.get(&key("b")).is_none());
    assert_eq!(journal.count(MAPS, "resourceVersion=5"), 1, "the watch begins where the list ends");
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_costs_one_list_and_changes_only_what_differs() {
    let expired = json!({ "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired" });
    let (store, journal, _stop) = store(
        |number| match number {
            1 => list(5, &[object("a", 3), object("b", 4)]),
            _ => list(20, &[object("b", 4), object("c", 12)]),
        },
        move |number| match number {
            1 => Response::Lines(vec![event("ERROR", &expired)]),
            2 => Response::Lines(vec![event("MODIFIED", &object("c", 21))]),
            _ => Response::Silence,
        },
    );
    let mut changes = store.subscribe();
    for expected in ["shop/a - 3", "shop/b - 4", "shop/a 3 -", "shop/c - 12", "shop/c 12 21"] {
        assert_eq!(next(&mut changes).await, expected);
    }
    assert_eq!(journal.count(MAPS, "resourceVersion=20"), 1);
    assert_eq!(store.error(), None, "an expired watch is not an error");
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_list_is_an_error_is_retried_with_a_backoff_and_recovers() {
    let (store, journal, _stop) = store(
        |number| if number <= 6 { refusal(403, "Forbidden") } else { list(1, &[]) },
        |_| Response::Silence,
    );
    let began = Instant::now();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!store.is_synced());
    let error = store.error().unwrap();
    assert_eq!(&*error, "cannot list objects of kind ConfigMap: the server says: the test says Forbidden");
    store.wait_until_synced().await;
    // 1, 2, 4, 8, 10 and 10 seconds, each up to a tenth less.
    assert!((31..=35).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(journal.count(MAPS, "limit="), 7);
    tokio::time::sleep(SILENCE * 2).await;
    assert_eq!(store.error(), None);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_watch_stays_an_error_while_lists_succeed() {
    let (store, journal, _stop) =
        store(|number| list(u32::try_from(number).unwrap(), &[]), |_| refusal(403, "Forbidden"));
    store.wait_until_synced().await;
    store.shared.when(|sync| sync.error.clone()).await;
    let change = tokio::time::timeout(Duration::from_secs(100), store.shared.sync_changed.notified()).await;
    assert!(change.is_err(), "the same cause is published once");
    assert!((9..=15).contains(&journal.count(MAPS, "watch=true")), "{}", journal.count(MAPS, "watch=true"));
}

/// As behind a proxy that passes short requests and breaks long ones.
#[tokio::test(start_paused = true)]
async fn a_store_whose_watch_is_dead_says_so_and_lists_instead() {
    let works = Arc::new(AtomicBool::new(false));
    let is_repaired = Arc::clone(&works);
    let (store, journal, _stop) = store(
        |number| list(u32::try_from(number).unwrap(), &[object(&format!("a{}", number.min(2)), 1)]),
        move |_| {
            if works.load(Ordering::SeqCst) { Response::Silence } else { refusal(503, "ServiceUnavailable") }
        },
    );
    store.wait_until_synced().await;
    tokio::time::sleep(SILENCE * 3).await;
    let error = store.ready().await.unwrap_err();
    assert!(error.starts_with("cannot watch objects of kind ConfigMap: "), "{error}");
    assert!(error.contains("the test says ServiceUnavailable"), "{error}");
    tokio::time::sleep(POLL_INTERVAL * 2).await;
    assert!(store.get(&key("a2")).is_some(), "what has changed is found by a list");
    assert!(store.error().is_some(), "a list does not repair the watch");
    assert!((2..=4).contains(&journal.count(MAPS, "limit=100")), "{}", journal.count(MAPS, "limit=100"));
    is_repaired.store(true, Ordering::SeqCst);
    tokio::time::sleep(SILENCE * 4).await;
    assert_eq!(store.ready().await, Ok(()));
}

/// These changes come long before everything is listed again anyway.
async fn soon(store: &Store, expected: &[&str]) {
    let mut changes = store.subscribe();
    for expected in expected {
        let next = tokio::time::timeout(POLL_INTERVAL, next(&mut changes)).await;
        assert_eq!(next.as_deref(), Ok(*expected));
    }
}

/// A watch from a version that the server does not know yet is silent until it does.
#[tokio::test(start_paused = true)]
async fn a_server_that_was_restored_from_a_backup_is_listed_again() {
    let (store, _, _stop) = store(
        |number| match number {
            1 => list(20, &[object("a", 3), object("b", 4)]),
            _ => list(10, &[object("a", 3)]),
        },
        |number| match number {
            1 => Response::Lines(vec![event("MODIFIED", &object("a", 21))]),
            _ => Response::Silence,
        },
    );
    soon(&store, &["shop/a - 3", "shop/b - 4", "shop/a 3 21", "shop/b 4 -", "shop/a 21 3"]).await;
}

/// By then it may have reached the versions again that were seen before, with other content.
#[tokio::test(start_paused = true)]
async fn everything_is_listed_again_after_an_outage() {
    let (store, _, _stop) = store(
        |number| match number {
            1 => list(20, &[object("a", 18), object("b", 4)]),
            _ => list(30, &[object("a", 17), object("c", 25)]),
        },
        |number| match number {
            1 => Response::Broken,
            _ => Response::Silence,
        },
    );
    soon(&store, &["shop/a - 18", "shop/b - 4", "shop/b 4 -", "shop/a 18 17", "shop/c - 25"]).await;
}

#[tokio::test(start_paused = true)]
async fn everything_is_listed_again_every_few_hours() {
    let (store, journal, _stop) = store(|_| list(5, &[object("a", 3)]), |_| Response::Silence);
    store.wait_until_synced().await;
    tokio::time::sleep(RELIST_INTERVAL * 3).await;
    assert_eq!(journal.count(MAPS, "limit=100"), 4);
}

#[tokio::test(start_paused = true)]
async fn the_objects_of_a_kind_that_is_gone_are_gone() {
    let (client, _) = client(|_: &Seen| unreachable!("a kind that is unknown is never asked for"));
    let stop = CancellationToken::new();
    let source = Source::of(GroupVersionKind::new("shop.example/v1".parse().unwrap(), "Order").unwrap());
    let store = Store::start(Session::new(client), source, &Metrics::new(), &stop);
    store.shared.objects().set(&object("a", 1));
    let mut changes = store.subscribe();
    assert_eq!(next(&mut changes).await, "shop/a - 1");
    assert_eq!(next(&mut changes).await, "shop/a 1 -");
    assert!(store.error().unwrap().contains("no matches for kind"), "{:?}", store.error());
    assert!(!store.is_synced());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_says_so_until_it_has_listed_everything_again() {
    static TRIMMED: AtomicUsize = AtomicUsize::new(0);
    let (client, _) = client(|seen: &Seen| {
        let watches = seen.query.contains("watch=true");
        if watches { Response::Silence } else { list(5, &[object("a", 3)]) }
    });
    let trim = |_: &mut Value| assert!(TRIMMED.fetch_add(1, Ordering::Relaxed) > 0, "a bad object");
    let source = Source { trim, ..Source::of("v1/ConfigMap".parse().unwrap()) };
    let (metrics, stop) = (Metrics::new(), CancellationToken::new());
    let store = Store::start(Session::new(client), source, &metrics, &stop);
    let why = store.ready().await.unwrap_err();
    assert!(why.contains("panicked") && why.contains("a bad object"), "{why}");
    let text = metrics.text(Timestamp::UNIX_EPOCH);
    assert!(text.contains("plimsoll_controller_panics_total{controller=\"store\"} 1"), "{text}");
    store.wait_until_synced().await;
    while store.error().is_some() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(store.get(&key("a")).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_store_stops_watching() {
    let (kept, journal, stop) = store(|_| refusal(403, "Forbidden"), |_| Response::Silence);
    let clone = kept.clone();
    drop(kept);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(journal.count(MAPS, "") > 3, "one clone keeps it watching");
    drop(clone);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = journal.count(MAPS, "");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(journal.count(MAPS, ""), asked);
    assert!(!stop.is_cancelled(), "other stores go on");
}

#[test]
fn a_user_asks_by_a_new_object_a_new_spec_or_a_deletion() {
    let check = |before: Value, after: Value, expected: bool| {
        let side = |object: &Value| (!object.is_null()).then(|| Arc::new(object.clone()));
        let change = Change { key: Key::cluster_scoped("a"), before: side(&before), after: side(&after) };
        assert_eq!(change.is_request(), expected, "{before} {after}");
    };
    let object = |generation: u32| json!({"metadata": {"generation": generation}, "status": {}});
    let deleted =
        || json!({"metadata": {"generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {}});
    check(Value::Null, json!({"metadata": {"generation": 1}}), true);
    check(Value::Null, object(1), false);
    check(object(1), object(1), false);
    check(object(1), object(2), true);
    check(object(1), deleted(), true);
    check(deleted(), deleted(), false);
    check(deleted(), Value::Null, false);
}
