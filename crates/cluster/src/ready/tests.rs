use readiness::{Cut, Written, WrittenWait};
use serde_json::json;

use super::*;
use crate::test_server::{ok, plain, session, status, stream};

/// The diagnosis of a wait for a field of a ConfigMap that the server never sets.
async fn unmet(
    answer: impl FnMut(&crate::test_server::Seen) -> crate::test_server::Answer + Send + 'static,
) -> (Diagnostic, Option<Value>) {
    let written = WrittenWait {
        field: Written::Known("data.key".to_owned()),
        timeout: Written::Known("60s".to_owned()),
        ..WrittenWait::default()
    };
    let wait = written.parse(None, Cut::Root).wait.unwrap();
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a");
    let (session, _) = session(answer);
    let Readiness::Unmet { diagnosis, object } = session.wait_for(&target, &wait, |_| {}).await.unwrap()
    else {
        panic!("it was met")
    };
    assert_eq!(diagnosis.summary, "Wait Operation Failed");
    (*diagnosis, object)
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_proves_nothing_about_the_object() {
    let (diagnosis, object) = unmet(|_| plain(503, "down for maintenance")).await;
    assert_eq!(object, None);
    insta::assert_snapshot!(diagnosis.detail, @r"
    The object could not be read within the timeout of 1m0s, so it is not known whether it exists.

    Could not read ConfigMap shop/a: unexpected response (HTTP 503): down for maintenance

    Tried 6 times; the previous attempt failed with: unexpected response (HTTP 503): down for maintenance.
    ");
}

#[tokio::test(start_paused = true)]
async fn a_missing_object_did_not_appear() {
    let (diagnosis, _) = unmet(|seen| {
        if seen.query.contains("watch=true") {
            return stream("");
        }
        status(404, "NotFound", "not found", &json!({ "name": "a", "kind": "configmaps" }))
    })
    .await;
    assert!(diagnosis.detail.contains("did not appear within 1m"), "{}", diagnosis.detail);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_diagnosed_as_last_seen_before_an_outage() {
    let mut reads = 0;
    let seen_once = json!({ "metadata": { "name": "a", "resourceVersion": "1" }, "data": {} });
    let (diagnosis, object) = unmet(move |_| {
        reads += 1;
        if reads == 1 { ok(&seen_once) } else { plain(503, "down") }
    })
    .await;
    assert!(object.is_some());
    assert!(diagnosis.detail.contains("was not populated within 1m"), "{}", diagnosis.detail);
    assert!(
        diagnosis.detail.contains("could not be read at the end: Could not read ConfigMap shop/a"),
        "{}",
        diagnosis.detail
    );
}

#[tokio::test(start_paused = true)]
async fn the_observer_gets_each_new_reason_for_waiting() {
    let written = WrittenWait {
        field_value: Written::Known([("data.state".to_owned(), "warm".to_owned())].into()),
        timeout: Written::Known("60s".to_owned()),
        ..WrittenWait::default()
    };
    let wait = written.parse(None, Cut::Root).wait.unwrap();
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a");
    let at = |state: &str, version: &str| json!({ "metadata": { "name": "a", "resourceVersion": version }, "data": { "state": state } });
    let line = move |state: &str, version: &str| {
        json!({ "type": "MODIFIED", "object": at(state, version) }).to_string() + "\n"
    };
    let mut reads = 0;
    let (session, _) = session(move |seen| {
        if seen.query.contains("watch=true") {
            return stream(
                &(line("cold", "2") + &line("cold", "3") + &line("hot", "4") + &line("warm", "5")),
            );
        }
        reads += 1;
        match reads {
            ..=6 => plain(503, "down"),
            _ => status(404, "NotFound", "not found", &json!({ "name": "a", "kind": "configmaps" })),
        }
    });
    let mut reasons = Vec::new();
    let readiness = session.wait_for(&target, &wait, |why| reasons.push(why.to_owned())).await.unwrap();
    assert!(matches!(readiness, Readiness::Met { .. }), "{readiness:?}");
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    cannot read ConfigMap shop/a: unexpected response (HTTP 503): down
    it does not exist
    field "data.state" is "cold", not "warm"
    field "data.state" is "hot", not "warm"
    "#);
}
