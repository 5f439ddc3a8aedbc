//! Deleting an XRD deletes its XRs and their composed resources, even if the operator restarts in the meantime, or an edit has
//! made the XRD invalid. Until then they are reconciled.

use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{apply, delete, get, is_true, until, until_gone, version};
use crate::operators::{Offer, Operator, alone};

/// An XRD with one XR, composed of two maps.
struct Defined {
    offer: Offer,
    xr: Value,
    maps: Vec<Value>,
}

/// Composes the XR, and returns with its operator.
async fn define(sandbox: &'static Sandbox, test: &str) -> (Defined, Operator) {
    let offer = Offer::new(sandbox, test).await;
    let operator = offer.start();
    let xr = offer.object("XApp", None, "ab");
    apply(&offer.session, &xr).await;
    let xr = until(&offer.session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    let reference = |one: &Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "default", "name": one["name"]},
        })
    };
    let maps: Vec<Value> = xr["spec"]["resourceRefs"].as_array().unwrap().iter().map(reference).collect();
    assert_eq!(maps.len(), 2);
    (Defined { offer, xr, maps }, operator)
}

impl Defined {
    /// Kubernetes collects garbage only while the kind of the owner is there.
    async fn nothing_is_left(&self) {
        until_gone(&self.offer.session, &self.offer.xrd).await;
        for map in &self.maps {
            let left = get(&self.offer.session, map).await;
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
    delete(&defined.offer.session, &defined.offer.xrd).await;
    until_gone(&defined.offer.session, &defined.xr).await;
    first.kill();
    let second = defined.offer.start();
    defined.nothing_is_left().await;
    second.kill();
}

#[tokio::test]
async fn the_xrs_of_an_xrd_that_was_deleted_without_an_operator_are_drained_by_the_next_one() {
    let (sandbox, _turn) = alone().await;
    let (defined, first) = define(sandbox, "drained").await;
    first.kill();
    delete(&defined.offer.session, &defined.offer.xrd).await;
    let second = defined.offer.start();
    defined.nothing_is_left().await;
    second.kill();
}

/// An XRD that an edit has made unusable, as a restarted operator finds it: its XRs are reconciled, and go with it.
async fn broken(test: &str, edit: impl Fn(&mut Value)) {
    let (sandbox, _turn) = alone().await;
    let (defined, first) = define(sandbox, test).await;
    first.kill();
    let mut xrd = json!({
        "apiVersion": defined.offer.xrd["apiVersion"], "kind": defined.offer.xrd["kind"],
        "metadata": {"name": defined.offer.xrd["metadata"]["name"]}, "spec": defined.offer.xrd["spec"],
    });
    edit(&mut xrd);
    apply(&defined.offer.session, &xrd).await;
    let second = defined.offer.start();
    apply(&defined.offer.session, &defined.offer.object("XApp", None, "abc")).await;
    let refers = |xr: &Value| xr["spec"]["resourceRefs"].as_array().is_some_and(|refs| refs.len() == 3);
    until(&defined.offer.session, &defined.xr, "its change is taken up", refers).await;
    let claim = defined.offer.object("App", Some("default"), "a");
    apply(&defined.offer.session, &claim).await;
    until(&defined.offer.session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    second.kill();
    delete(&defined.offer.session, &defined.offer.xrd).await;
    let third = defined.offer.start();
    defined.nothing_is_left().await;
    until_gone(&defined.offer.session, &claim).await;
    until_gone(&defined.offer.session, &defined.xr).await;
    third.kill();
}

#[tokio::test]
async fn the_xrs_of_an_xrd_whose_crd_is_rejected_are_reconciled_and_drained() {
    broken("rejected", |xrd| {
        let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/coolerField/type";
        *xrd.pointer_mut(schema).unwrap() = "bogus".into();
    })
    .await;
}

#[tokio::test]
async fn the_xrs_of_an_xrd_with_two_referenceable_versions_are_reconciled_and_drained() {
    broken("two-versions", |xrd| {
        xrd["spec"]["versions"] = json!([version("v2", true), version("v1", true)]);
    })
    .await;
}
