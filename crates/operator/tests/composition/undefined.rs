//! An XRD that goes takes its XRs and what they are composed of with it, however often its operator is replaced meanwhile.

use std::collections::BTreeMap;

use cluster::Session;
use functions::{ServeOptions, Server, Transport};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::crash::maps;
use crate::fixture::{apply, composition, delete, get, group, is_true, legacy_xrd, until, until_gone};
use crate::operators::{Operator, alone};

const FUNCTION: &str = "function-undefined";

/// An XRD with one XR, composed of two maps.
struct Defined {
    session: Session,
    functions: BTreeMap<String, String>,
    xrd: Value,
    xr: Value,
    maps: Vec<Value>,
}

/// Composes the XR, and returns with its operator.
async fn define(sandbox: &'static Sandbox, test: &str) -> (Defined, Operator) {
    let options = ServeOptions::new("127.0.0.1:0", Transport::Insecure);
    let server = Server::bind(options).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(maps, std::future::pending()));
    let (session, group) = (Session::new(sandbox.client().await), group(test));
    apply(&session, &composition(&group, &group, &[FUNCTION])).await;
    let xrd = apply(&session, &legacy_xrd(&group)).await;
    let operator = Operator::start(sandbox, functions.clone(), None);
    let xr = json!({
        "apiVersion": format!("{group}/v1"), "kind": "XApp",
        "metadata": {"name": test}, "spec": {"maps": "ab"},
    });
    apply(&session, &xr).await;
    let xr = until(&session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    let reference = |one: &Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "default", "name": one["name"]},
        })
    };
    let maps: Vec<Value> = xr["spec"]["resourceRefs"].as_array().unwrap().iter().map(reference).collect();
    assert_eq!(maps.len(), 2);
    (Defined { session, functions, xrd, xr, maps }, operator)
}

impl Defined {
    /// Kubernetes collects garbage only while the kind of the owner is there.
    async fn nothing_is_left(&self) {
        until_gone(&self.session, &self.xrd).await;
        for map in &self.maps {
            let left = get(&self.session, map).await;
            assert!(
                left.as_ref().is_none_or(|left| left.pointer("/metadata/deletionTimestamp").is_some()),
                "{left:#?}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_left_of_an_xr_is_deleted_after_a_restart_too() {
    let (sandbox, _turn) = alone().await;
    let (defined, first) = define(sandbox, "restarted").await;
    delete(&defined.session, &defined.xrd).await;
    until_gone(&defined.session, &defined.xr).await;
    first.kill();
    let second = Operator::start(sandbox, defined.functions.clone(), None);
    defined.nothing_is_left().await;
    second.kill();
}

#[tokio::test]
async fn the_xrs_of_an_xrd_that_was_deleted_without_an_operator_are_drained_by_the_next_one() {
    let (sandbox, _turn) = alone().await;
    let (defined, first) = define(sandbox, "drained").await;
    first.kill();
    delete(&defined.session, &defined.xrd).await;
    let second = Operator::start(sandbox, defined.functions.clone(), None);
    defined.nothing_is_left().await;
    second.kill();
}
