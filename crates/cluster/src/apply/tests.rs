use std::time::Duration;

use http::header::CONTENT_TYPE;
use serde_json::json;

use super::*;
use crate::Retry;
use crate::error::Class;
use crate::test_server::{Answer, Seen, config_map, ok, plain, reply, session, status};

fn target(gvk: &str, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(gvk.parse().unwrap(), manifest::Namespace::new(namespace), name)
}

fn map() -> ObjectRef {
    target("v1/ConfigMap", "shop", "a")
}

#[tokio::test]
async fn an_apply_sends_manager_validation_and_force() {
    let check = async |write: Write<'_>, expected: &str| {
        let (session, journal) = session(|seen| reply(201, &seen.body));
        let answer = session.apply(&map(), &config_map("a"), write).await.unwrap();
        assert!(answer.created());
        let seen = journal.all().pop().unwrap();
        assert_eq!(seen.line(), "PATCH /api/v1/namespaces/shop/configmaps/a");
        assert_eq!(seen.query, expected);
        assert_eq!(seen.headers[CONTENT_TYPE], "application/apply-patch+yaml");
        assert_eq!(seen.body, config_map("a"));
    };
    check(Write::by("k8sconnect"), "fieldManager=k8sconnect&fieldValidation=Strict").await;
    check(
        Write::by("a b&c").force().dry_run(),
        "fieldManager=a%20b%26c&fieldValidation=Strict&dryRun=All&force=true",
    )
    .await;
}

#[tokio::test]
async fn scope_comes_from_discovery() {
    let check = async |target: ObjectRef, body: Value, path: &str, sent: Value| {
        let (session, journal) = session(|seen| ok(&seen.body));
        session.apply(&target, &body, Write::by("m")).await.unwrap();
        let seen = journal.all().pop().unwrap();
        assert_eq!((seen.path.as_str(), seen.body), (path, sent));
    };
    let unnamed = json!({ "metadata": { "name": "a" } });
    check(
        target("v1/ConfigMap", "", "a"),
        unnamed.clone(),
        "/api/v1/namespaces/default/configmaps/a",
        unnamed.clone(),
    )
    .await;
    let misplaced = json!({ "metadata": { "name": "a", "namespace": "shop" } });
    check(target("v1/Namespace", "shop", "a"), misplaced.clone(), "/api/v1/namespaces/a", unnamed.clone())
        .await;
    let (strict, journal) = session(|seen| ok(&seen.body));
    let write = Write::by("m").strict_scope();
    strict.apply(&target("v1/Namespace", "shop", "a"), &misplaced, write).await.unwrap();
    assert_eq!(journal.all().pop().unwrap().body, misplaced);
    check(
        target("apps/v1/Deployment", "shop", "x/../y"),
        unnamed.clone(),
        "/apis/apps/v1/namespaces/shop/deployments/x%252F..%252Fy",
        unnamed,
    )
    .await;
}

#[tokio::test]
async fn warnings_belong_to_the_call_that_caused_them() {
    let (session, _) = session(|seen| {
        let mut answer = ok(&seen.body);
        if seen.path.ends_with("/a") {
            answer.headers_mut().append("warning", "299 - \"a is deprecated\"".parse().unwrap());
        }
        answer
    });
    let other = target("v1/ConfigMap", "shop", "b");
    let (a_body, b_body) = (config_map("a"), config_map("b"));
    let (here, there) = (map(), other);
    let (a, b) = tokio::join!(
        session.apply(&here, &a_body, Write::by("m")),
        session.apply(&there, &b_body, Write::by("m"))
    );
    let a = a.unwrap();
    assert_eq!(a.warnings, ["a is deprecated"]);
    let diagnostic = &a.diagnostics(&here)[0];
    assert_eq!(
        (diagnostic.summary.as_str(), diagnostic.detail.as_str()),
        ("Kubernetes API Warning (ConfigMap/a)", "a is deprecated")
    );
    assert!(!diagnostic.is_error());
    assert_eq!(b.unwrap().warnings, Vec::<String>::new());
}

#[tokio::test]
async fn a_create_is_one_read_and_one_patch() {
    let (session, journal) = session(|seen| match seen.method.as_str() {
        "GET" => status(
            404,
            "NotFound",
            "configmaps \"a\" not found",
            &json!({ "name": "a", "kind": "configmaps" }),
        ),
        _ => reply(201, &seen.body),
    });
    assert!(session.read(&map()).await.unwrap().is_none());
    session.apply_when_possible(&map(), &config_map("a"), Write::by("m")).await.unwrap();
    let path = "/api/v1/namespaces/shop/configmaps/a";
    assert_eq!(journal.work(), [format!("GET {path}"), format!("PATCH {path}")]);
}

/// A server that answers `times` requests with `failure`, and the rest correctly.
fn failing(
    times: usize,
    failure: impl Fn() -> Answer + Send + 'static,
) -> impl FnMut(&Seen) -> Answer + Send {
    let mut left = times;
    move |seen| {
        if left == 0 {
            return ok(&seen.body);
        }
        left -= 1;
        failure()
    }
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried_and_reported() {
    let busy = || status(429, "TooManyRequests", "slow down", &json!({ "retryAfterSeconds": 2 }));
    let (session, _) = session(failing(3, busy));
    let began = tokio::time::Instant::now();
    let reply = session.apply(&map(), &config_map("a"), Write::by("m")).await.unwrap();
    assert_eq!(reply.retries.len(), 3);
    for Retry { why, waited } in &reply.retries {
        assert_eq!(why, "the server says: slow down");
        assert!((Duration::from_secs(2)..Duration::from_millis(2201)).contains(waited), "{waited:?}");
    }
    assert!(began.elapsed() >= Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn retries_of_429_end_in_bounded_time() {
    for retry_after in [0, 1, 20, 3600] {
        let busy = move || {
            let details = json!({ "retryAfterSeconds": retry_after });
            status(429, "TooManyRequests", "slow down", &details)
        };
        let (session, journal) = session(failing(usize::MAX, busy));
        let began = tokio::time::Instant::now();
        let error = session.apply(&map(), &config_map("a"), Write::by("m")).await.unwrap_err();
        assert!(error.is_server_fault());
        assert!(began.elapsed() <= Duration::from_secs(30), "{retry_after}: {:?}", began.elapsed());
        assert!(journal.work().len() <= 6);
    }
}

#[tokio::test(start_paused = true)]
async fn a_json_patch_is_retried_only_if_it_had_no_effect() {
    let check = async |code: u16, patch_type: PatchType, expected: usize| {
        let (session, journal) = session(failing(1, move || status(code, "", "failure", &json!({}))));
        let _ = session.patch(&map(), patch_type, &json!([]), Write::by("m")).await;
        assert_eq!(journal.work().len(), expected, "{code} {patch_type:?}");
    };
    check(503, PatchType::Json, 2).await;
    check(504, PatchType::Json, 1).await;
    check(504, PatchType::Merge, 2).await;
    check(500, PatchType::Merge, 1).await;
}

#[tokio::test]
async fn patches_name_their_type_and_manager() {
    let (session, journal) = session(|seen| ok(&seen.body));
    for (patch_type, media) in [
        (PatchType::Json, "application/json-patch+json"),
        (PatchType::Merge, "application/merge-patch+json"),
        (PatchType::Strategic, "application/strategic-merge-patch+json"),
    ] {
        session.patch(&map(), patch_type, &json!({ "data": {} }), Write::by("p").dry_run()).await.unwrap();
        let seen = journal.all().pop().unwrap();
        assert_eq!(seen.headers[CONTENT_TYPE], media);
        assert_eq!(seen.query, "fieldManager=p&fieldValidation=Strict&dryRun=All");
    }
}

#[tokio::test]
async fn a_missing_namespace_is_recognised_by_the_status_details() {
    let (session, _) = session(|_| {
        let details = json!({ "name": "shop", "kind": "namespaces" });
        status(404, "NotFound", "namespaces \"shop\" not found", &details)
    });
    let error = session.apply(&map(), &config_map("a"), Write::by("m")).await.unwrap_err();
    assert_eq!(error.class(), Class::NamespaceMissing);
    assert!(error.diagnostic("Create").detail.starts_with("Namespace \"shop\" not found"));
}

#[tokio::test]
async fn writing_a_crd_invalidates_discovery() {
    let (session, journal) = session(|seen| ok(&seen.body));
    let crd = target("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "widgets.example.com");
    session.apply(&crd, &json!({}), Write::by("m").dry_run()).await.unwrap();
    session.apply(&map(), &config_map("a"), Write::by("m")).await.unwrap();
    assert_eq!(journal.count("GET /apis"), 1);
    session.apply(&crd, &json!({}), Write::by("m")).await.unwrap();
    session.apply(&map(), &config_map("a"), Write::by("m")).await.unwrap();
    assert_eq!(journal.count("GET /apis"), 2);
}

#[tokio::test]
async fn managed_fields_are_edited_at_the_version_read() {
    let mut version = 0;
    let (session, journal) = session(move |seen| {
        if seen.method == "GET" {
            version += 1;
            return ok(&json!({ "metadata": { "name": "a", "resourceVersion": version.to_string() } }));
        }
        match version {
            1 => status(422, "Invalid", "testing value /metadata/resourceVersion failed", &json!({})),
            2 => status(409, "Conflict", "the object has been modified", &json!({})),
            _ => ok(&json!({ "done": true })),
        }
    });
    let edited = session
        .edit_managed_fields(&map(), Write::by("m"), None, |_| {
            Some(vec![json!({ "op": "remove", "path": "/x" })])
        })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(edited.object, json!({ "done": true }));
    let last = journal.all().pop().unwrap();
    assert_eq!(
        last.body,
        json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": "3" },
            { "op": "remove", "path": "/x" },
        ])
    );
    // A no-op costs one read.
    let before = journal.work().len();
    assert!(session.edit_managed_fields(&map(), Write::by("m"), None, |_| None).await.unwrap().is_none());
    assert_eq!(journal.work().len(), before + 1);
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!({ "a": inner }))
}

#[tokio::test]
async fn a_body_nested_too_deep_is_rejected_before_it_is_sent() {
    let (session, journal) = session(|seen| ok(&seen.body));
    let object = nested(257);
    let error = session.apply(&map(), &object, Write::by("m")).await.unwrap_err();
    let diagnostic = error.diagnostic("Create");
    assert_eq!(diagnostic.summary, "Create: Invalid Resource");
    assert_eq!(
        diagnostic.detail,
        "Could not apply ConfigMap shop/a: it is nested 257 levels deep, and the limit is 256"
    );
    assert!(!error.is_server_fault());
    assert!(journal.work().is_empty());
}

#[tokio::test]
async fn whatever_is_sent_can_be_read_back() {
    // managedFields repeat every level of an object, a few levels deeper.
    let answer =
        json!({ "spec": nested(255), "metadata": { "managedFields": [{ "fieldsV1": nested(256) }] } });
    let shown = answer.clone();
    let (session, _) = session(move |_| ok(&shown));
    let reply = session.apply(&map(), &nested(256), Write::by("m")).await.unwrap();
    assert_eq!(reply.object, answer);

    let (session, _) = crate::test_server::session(|_| ok(&nested(513)));
    let error = session.apply(&map(), &config_map("a"), Write::by("m")).await.unwrap_err();
    let diagnostic = error.diagnostic("Create");
    assert!(diagnostic.detail.ends_with("the server's response is nested 513 levels deep"), "{diagnostic:?}");
    assert!(diagnostic.hint.is_some() && !error.is_server_fault());
}

#[tokio::test(start_paused = true)]
async fn a_missing_path_of_a_listed_kind_is_retried_once() {
    let check = async |missing: usize, expected: Option<usize>| {
        let mut left = missing;
        let (session, journal) = session(move |_| {
            left = left.saturating_sub(1);
            if left > 0 || missing == usize::MAX { plain(404, "404 page not found") } else { ok(&json!({})) }
        });
        let outcome = session.read(&map()).await;
        assert_eq!(outcome.ok().map(|reply| reply.unwrap().retries.len()), expected);
        assert_eq!(journal.work().len(), missing.min(2));
    };
    check(1, Some(0)).await;
    check(2, Some(1)).await;
    check(usize::MAX, None).await;
}
