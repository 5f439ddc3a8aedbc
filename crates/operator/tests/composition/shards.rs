//! Two operators divide the objects between them by their labels.

use std::collections::BTreeMap;

use cluster::Session;
use composition::protocol::RunRequest;
use functions::{FunctionError, RunResponse, ServeOptions, Server, Transport, response};
use serde_json::{Value, json};

use crate::fixture::{apply, composition, delete, get, is_true, legacy_xrd, until, until_gone};
use crate::operators::{Operator, Writes, alone};
use crate::platform::{asked, desire, map};

const GROUP: &str = "shards.example.org";
const FUNCTION: &str = "function-shards";
const LABEL: &str = "plimsoll.dev/shard";

async fn compose(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    desire(&mut rsp, "map", map(&json!({"size": asked(&request, "size")})));
    Ok(rsp)
}

fn claim(name: &str, shard: Option<&str>, size: &str) -> Value {
    let labels = shard.map_or(json!({}), |shard| json!({LABEL: shard}));
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "App",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"size": size},
    })
}

/// The XR of a claim and its only child, once the child shows `size` and both have the label of `shard`.
async fn composed(session: &Session, claim: &Value, shard: Option<&str>, size: &str) -> (Value, Value) {
    let claim = until(session, claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    let has_label = |object: &Value| object["metadata"]["labels"][LABEL] == json!(shard);
    let xr = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "XApp",
        "metadata": {"name": claim["spec"]["resourceRef"]["name"]},
    });
    let xr = until(session, &xr, "it is in its shard", has_label).await;
    let child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": xr["spec"]["resourceRefs"][0]["name"], "namespace": "default"},
    });
    let is_so = |child: &Value| has_label(child) && child["data"]["size"] == size;
    let child = until(session, &child, "it is in its shard and as asked for", is_so).await;
    (xr, child)
}

/// Writes about objects whose names begin with a claim's, Events apart.
fn about(writes: &Writes, claim: &str) -> Vec<String> {
    let named = |write: &String| write.contains(&format!("/{claim}")) && !write.contains("/events");
    writes.all().into_iter().filter(named).collect()
}

#[tokio::test]
async fn every_object_is_reconciled_by_the_shard_of_its_labels_and_moves_with_them() {
    let (sandbox, _turn) = alone().await;
    let session = Session::new(sandbox.client().await);
    let server = Server::bind(ServeOptions::new("127.0.0.1:0", Transport::Insecure)).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(compose, std::future::pending()));
    let (rest, one) = (Writes::default(), Writes::default());
    let first = Operator::start_shard(sandbox, functions.clone(), &format!("!{LABEL}"), rest.clone());
    let second = Operator::start_shard(sandbox, functions, &format!("{LABEL}=one"), one.clone());
    apply(&session, &composition("shards", GROUP, &[FUNCTION])).await;
    let xrd = apply(&session, &legacy_xrd(GROUP)).await;

    apply(&session, &claim("plain", None, "small")).await;
    apply(&session, &claim("labelled", Some("one"), "small")).await;
    let plain = claim("plain", None, "small");
    let (_, child) = composed(&session, &plain, None, "small").await;
    composed(&session, &claim("labelled", None, "small"), Some("one"), "small").await;
    assert_eq!(about(&rest, "labelled"), Vec::<String>::new());
    assert_eq!(about(&one, "plain"), Vec::<String>::new());
    let is_other = |write: &String| !write.contains("/labelled") && !write.contains("/events");
    let others: Vec<String> = one.all().into_iter().filter(is_other).collect();
    assert_eq!(others, Vec::<String>::new(), "definitions belong to one shard only");

    // The claim moves, and with it everything below.
    apply(&session, &claim("plain", Some("one"), "small")).await;
    let (_, moved) = composed(&session, &plain, Some("one"), "small").await;
    assert_eq!(moved["metadata"]["uid"], child["metadata"]["uid"]);
    let before = about(&rest, "plain");
    apply(&session, &claim("plain", Some("one"), "large")).await;
    composed(&session, &plain, Some("one"), "large").await;
    // And back.
    assert_eq!(about(&rest, "plain"), before, "it is no longer theirs");
    apply(&session, &claim("plain", None, "large")).await;
    let (_, returned) = composed(&session, &plain, None, "large").await;
    assert_eq!(returned["metadata"]["uid"], child["metadata"]["uid"]);

    // The shard that has the XRD waits for the objects of both.
    delete(&session, &xrd).await;
    until_gone(&session, &xrd).await;
    assert!(
        get(&session, &returned).await.is_none_or(|child| child["metadata"]["deletionTimestamp"].is_string())
    );
    first.kill();
    second.kill();
}
