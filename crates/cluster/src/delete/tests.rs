use std::sync::Arc;
use std::sync::Mutex;

use super::*;
use crate::test_server::{
    Answer, Journal, Seen, core, kinds, ok, plain, raw_session, reply, session, status, stream,
};

fn target(gvk: &str, name: &str) -> ObjectRef {
    let namespace = if gvk.ends_with("Namespace") { "" } else { "shop" };
    ObjectRef::new(gvk.parse().unwrap(), manifest::Namespace::new(namespace), name)
}

fn map() -> ObjectRef {
    target("v1/ConfigMap", "a")
}

fn patient() -> Delete {
    Delete::of(&map())
}

fn success() -> Answer {
    ok(&json!({ "kind": "Status", "status": "Success" }))
}

fn absent(name: &str) -> Answer {
    status(404, "NotFound", "not found", &json!({ "name": name, "kind": "x" }))
}

fn going(finalizers: &[&str]) -> Value {
    json!({ "kind": "ConfigMap", "metadata": {
        "name": "a", "uid": "u1", "resourceVersion": "5", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers,
    } })
}

async fn deleted(
    target: &ObjectRef,
    how: &Delete,
    answer: impl FnMut(&Seen) -> Answer + Send + 'static,
) -> (Result<Deletion, Error>, Journal) {
    let (session, journal) = session(answer);
    (session.delete(target, how).await, journal)
}

#[tokio::test(start_paused = true)]
async fn a_resource_version_is_a_precondition() {
    let how = Delete { uid: Some("u1".to_owned()), version: Some("5".to_owned()), ..patient() };
    let conflict =
        || status(409, "Conflict", "the ResourceVersion in the precondition (5) does not match", &json!({}));
    let (outcome, journal) = deleted(&map(), &how, move |_| conflict()).await;
    assert_eq!(outcome.unwrap_err().status().unwrap().code, 409);
    let seen = journal.all().pop().unwrap();
    assert_eq!(seen.body["preconditions"], json!({ "uid": "u1", "resourceVersion": "5" }));
}

#[tokio::test(start_paused = true)]
async fn propagation_and_uid_are_always_sent() {
    let how = Delete { uid: Some("u1".to_owned()), propagation: Propagation::Foreground, ..patient() };
    let (outcome, journal) = deleted(&map(), &how, |_| success()).await;
    assert_eq!(outcome.unwrap(), Deletion::Gone { forced: vec![] });
    let seen = journal.all().pop().unwrap();
    assert_eq!(seen.line(), "DELETE /api/v1/namespaces/shop/configmaps/a");
    assert_eq!(
        seen.body,
        json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "propagationPolicy": "Foreground", "preconditions": { "uid": "u1" },
        })
    );
    let (_, journal) = deleted(&map(), &patient(), |_| success()).await;
    assert_eq!(journal.all().pop().unwrap().body["propagationPolicy"], "Background");
    assert_eq!(journal.all().pop().unwrap().body.get("preconditions"), None);
}

#[tokio::test(start_paused = true)]
async fn gone_requires_a_not_found_for_the_object() {
    let (outcome, _) = deleted(&map(), &patient(), |_| absent("a")).await;
    assert_eq!(outcome.unwrap(), Deletion::Gone { forced: vec![] });

    // A proxy's page, an expired token or an outage says nothing about the object.
    for answer in
        [plain(404, "404 page not found"), status(401, "Unauthorized", "", &json!({})), plain(502, "")]
    {
        let code = answer.status();
        let (outcome, _) = deleted(&map(), &patient(), move |_| plain(code.as_u16(), "")).await;
        assert!(outcome.is_err(), "{code}");
    }
    // According to a fresh discovery, its kind no longer exists.
    let (session, _) = raw_session(|seen| ok(&if seen.path == "/api" { core() } else { kinds(&[]) }));
    let outcome = session.delete(&target("example.com/v1/Widget", "w"), &patient()).await;
    assert_eq!(outcome.unwrap(), Deletion::Gone { forced: vec![] });
    // A failed discovery proves nothing.
    let (session, _) = raw_session(|_| status(401, "Unauthorized", "", &json!({})));
    assert!(session.delete(&target("example.com/v1/Widget", "w"), &patient()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_slow_deletion_is_watched() {
    let (outcome, journal) = deleted(&map(), &patient(), |seen| match seen.method.as_str() {
        "GET" if seen.query.contains("watch=true") => {
            stream(&(json!({ "type": "DELETED", "object": going(&[]) }).to_string() + "\n"))
        }
        _ => ok(&going(&["example.com/x"])),
    })
    .await;
    assert_eq!(outcome.unwrap(), Deletion::Gone { forced: vec![] });
    assert_eq!(journal.work().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn another_object_of_the_same_name_is_left_alone() {
    // Before: the precondition fails.
    let how = Delete { uid: Some("u0".to_owned()), ..patient() };
    let (outcome, _) = deleted(&map(), &how, |seen| match seen.method.as_str() {
        "GET" => ok(&going(&[])),
        _ => status(409, "Conflict", "Precondition failed: UID", &json!({})),
    })
    .await;
    assert_eq!(outcome.unwrap(), Deletion::Recreated);
    // After: the next read finds another uid.
    let (outcome, _) = deleted(&map(), &patient(), |seen| {
        let mut object = going(&[]);
        if seen.method == "GET" {
            object["metadata"]["uid"] = json!("u2");
        }
        ok(&object)
    })
    .await;
    assert_eq!(outcome.unwrap(), Deletion::Recreated);
}

/// Or a composed resource would count as deleted that is not, and nothing would refer to it.
#[tokio::test(start_paused = true)]
async fn a_conflict_that_is_not_about_the_uid_is_an_error() {
    let uid = going(&[])["metadata"]["uid"].as_str().map(str::to_owned);
    let how = Delete { uid, ..patient() };
    let (outcome, _) = deleted(&map(), &how, |seen| match seen.method.as_str() {
        "GET" => ok(&going(&[])),
        _ => status(409, "Conflict", "another request is in progress", &json!({})),
    })
    .await;
    assert_eq!(outcome.unwrap_err().class(), crate::Class::Outdated);
}

#[tokio::test(start_paused = true)]
async fn a_zero_timeout_does_not_wait() {
    let how = Delete { timeout: Duration::ZERO, ..patient() };
    let (outcome, journal) = deleted(&map(), &how, |_| ok(&going(&["x"]))).await;
    assert_eq!(outcome.unwrap(), Deletion::Requested);
    assert_eq!(journal.work().len(), 1);
}

fn stuck_server(seen: &Seen) -> Answer {
    if seen.query.contains("watch=true") {
        stream("")
    } else {
        ok(&going(&["example.com/x", "kubernetes.io/pvc-protection"]))
    }
}

#[tokio::test(start_paused = true)]
async fn a_stuck_deletion_lists_the_finalizers() {
    let (outcome, _) = deleted(&map(), &patient(), stuck_server).await;
    let Deletion::Stuck(stuck) = outcome.unwrap() else { panic!("it has gone") };
    let diagnostic = stuck.diagnostic();
    assert_eq!(diagnostic.summary, "Deletion Blocked by Finalizers");
    insta::assert_snapshot!(diagnostic.detail, @r"
    ConfigMap shop/a is marked for deletion, but finalizers hold it:

      - example.com/x: custom finalizer; its controller has work to do first
      - kubernetes.io/pvc-protection: the claim is still used by a Pod (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection)
    ");
    assert_eq!(diagnostic.help.as_deref(), Some("kubectl describe configmap a -n shop"));

    let (outcome, _) = deleted(&map(), &patient(), |seen| {
        if seen.query.contains("watch=true") { stream("") } else { ok(&going(&[])) }
    })
    .await;
    let Deletion::Stuck(stuck) = outcome.unwrap() else { panic!("it has gone") };
    let diagnostic = stuck.diagnostic();
    assert_eq!(diagnostic.summary, "Deletion Timeout");
    assert_eq!(
        diagnostic.detail,
        "timed out waiting for resource to be deleted: ConfigMap shop/a still exists after 5m."
    );

    let untouched = Stuck { live: Some(json!({ "metadata": { "name": "a" } })), ..*stuck };
    assert_eq!(untouched.diagnostic().summary, "Deletion Not Initiated");
    assert_eq!(Stuck { live: None, ..untouched }.diagnostic().summary, "Deletion Timeout");
}

#[tokio::test(start_paused = true)]
async fn force_removes_the_finalizers_at_the_version_read() {
    let held = Arc::new(Mutex::new(true));
    let (state, mut conflicts) = (Arc::clone(&held), 1);
    let how = Delete { force: true, ..patient() };
    let (outcome, journal) = deleted(&map(), &how, move |seen| {
        let mut held = state.lock().unwrap();
        match seen.method.as_str() {
            "PATCH" if conflicts > 0 => {
                conflicts -= 1;
                status(409, "Conflict", "the object has been modified", &json!({}))
            }
            "PATCH" => {
                *held = false;
                ok(&going(&[]))
            }
            _ if seen.query.contains("watch=true") => stream(""),
            "GET" if !*held => absent("a"),
            _ => ok(&going(&["example.com/x"])),
        }
    })
    .await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome, Deletion::Gone { forced: vec!["example.com/x".to_owned()] });
    let warning = outcome.warning(&map()).unwrap();
    assert_eq!(warning.summary, "Force Destroying Resource with Finalizers");
    assert!(warning.detail.contains("example.com/x"));
    let patches: Vec<Seen> = journal.all().into_iter().filter(|seen| seen.method == "PATCH").collect();
    assert_eq!(patches.len(), 2);
    assert_eq!(patches[1].body, json!({ "metadata": { "finalizers": null, "resourceVersion": "5" } }));
    assert!(patches[1].query.starts_with("fieldManager=k8sconnect-force-destroy"), "{}", patches[1].query);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_force_is_an_error() {
    let how = Delete { force: true, ..patient() };
    let (outcome, _) = deleted(&map(), &how, |seen| match seen.method.as_str() {
        "PATCH" => status(403, "Forbidden", "no", &json!({})),
        _ => stuck_server(seen),
    })
    .await;
    assert!(outcome.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stuck_namespace_lists_its_content_and_force_finalizes_it() {
    let server = |finalized: Arc<Mutex<bool>>| {
        move |seen: &Seen| {
            let mut finalized = finalized.lock().unwrap();
            let namespace = json!({
                "kind": "Namespace", "spec": { "finalizers": ["kubernetes"] },
                "metadata": { "name": "shop", "uid": "u", "resourceVersion": "1", "deletionTimestamp": "2026-01-01T00:00:00Z" },
            });
            match (seen.method.as_str(), seen.path.as_str()) {
                ("PUT", "/api/v1/namespaces/shop/finalize") => {
                    assert_eq!(seen.body["spec"]["finalizers"], json!([]));
                    *finalized = true;
                    ok(&namespace)
                }
                ("GET", "/api/v1/namespaces/shop/configmaps") => ok(&json!({ "items": [
                    { "metadata": { "name": "a", "finalizers": ["example.com/x"] } }, { "metadata": { "name": "b" } },
                ] })),
                ("GET", "/apis/apps/v1/namespaces/shop/deployments") => reply(403, &json!({})),
                _ if seen.query.contains("watch=true") => stream(""),
                ("GET", _) if *finalized => absent("shop"),
                _ => ok(&namespace),
            }
        }
    };
    let namespace = target("v1/Namespace", "shop");
    let (outcome, _) = deleted(&namespace, &patient(), server(Arc::default())).await;
    let Deletion::Stuck(stuck) = outcome.unwrap() else { panic!("it has gone") };
    assert_eq!(stuck.diagnostic().summary, "Namespace Deletion Timeout");
    insta::assert_snapshot!(stuck.diagnostic().detail, @r"
    Namespace shop is still terminating after 5m.

    It still contains:
      - 2 ConfigMap

    Held by finalizers:
      - ConfigMap a: example.com/x

    Could not be listed: Deployment
    ");
    let how = Delete { force: true, ..patient() };
    let (outcome, _) = deleted(&namespace, &how, server(Arc::default())).await;
    assert_eq!(outcome.unwrap(), Deletion::Gone { forced: vec!["kubernetes".to_owned()] });
}

/// A server that removes the kind Widget after the deletion request: first its paths, then, `lag` answers later, its
/// discovery entry.
async fn deleted_with_its_kind(watched: bool, lag: usize) -> Deletion {
    let mut gone = 0;
    let (session, _) = raw_session(move |seen| {
        let widgets: &[(&str, &str, bool)] = &[("widgets", "Widget", true)];
        match (seen.method.as_str(), seen.path.as_str()) {
            ("GET", "/api") => ok(&core()),
            ("GET", "/apis") if gone <= lag => ok(&kinds(&[("example.com", "v1", widgets)])),
            ("GET", "/apis") => ok(&kinds(&[])),
            ("DELETE", _) if watched => ok(&going(&["example.com/x"])),
            ("GET", _) if watched && gone == 0 && !seen.query.contains("watch=true") => {
                ok(&going(&["example.com/x"]))
            }
            _ => {
                gone += 1;
                plain(404, "404 page not found\n")
            }
        }
    });
    session.delete(&target("example.com/v1/Widget", "a"), &patient()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_object_is_gone_when_its_kind_is_removed() {
    // During the watch; before it; and when discovery takes a while to notice.
    for (watched, lag) in [(true, 0), (true, 1), (true, 4), (false, 0), (false, 3)] {
        let outcome = deleted_with_its_kind(watched, lag).await;
        assert_eq!(outcome, Deletion::Gone { forced: vec![] }, "{watched} {lag}");
    }
}

#[test]
fn slow_kinds_have_longer_timeouts() {
    let check = |gvk: &str, minutes: u64| {
        assert_eq!(Delete::of(&target(gvk, "a")).timeout, Duration::from_secs(minutes * 60), "{gvk}");
    };
    check("v1/Namespace", 15);
    check("tenancy.example.org/v1/Namespace", 5);
    check("apiextensions.k8s.io/v1/CustomResourceDefinition", 15);
    check("v1/PersistentVolumeClaim", 10);
    check("apps/v1/StatefulSet", 8);
    check("batch/v1/Job", 8);
    check("v1/ConfigMap", 5);
    assert!(Deletion::Gone { forced: vec![] }.warning(&map()).is_none());
}

/// As when a bundle goes: its webhook's Pods first, the configuration a little later.
#[tokio::test(start_paused = true)]
async fn a_deletion_waits_for_a_webhook_that_cannot_be_called() {
    let uncalled = || {
        status(500, "InternalError", "failed calling webhook \"a\": failed to call webhook: EOF", &json!({}))
    };
    let mut calls = 0;
    let (outcome, journal) = deleted(&map(), &patient(), move |_| {
        calls += 1;
        if calls <= 3 { uncalled() } else { success() }
    })
    .await;
    assert_eq!(outcome.unwrap(), Deletion::Gone { forced: vec![] });
    assert_eq!(journal.work().len(), 4);
    // A controller comes back by itself.
    let now = Delete { timeout: Duration::ZERO, ..patient() };
    let (outcome, journal) = deleted(&map(), &now, move |_| uncalled()).await;
    assert!(outcome.is_err() && journal.work().len() == 1);
    let began = Instant::now();
    let (outcome, _) = deleted(&map(), &patient(), move |_| uncalled()).await;
    assert!(outcome.is_err());
    assert_eq!(began.elapsed().as_secs(), 30);
}
