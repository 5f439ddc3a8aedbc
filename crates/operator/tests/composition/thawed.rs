//! A leader that was frozen, and wakes after another has taken its place, does not bring back what is gone by then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::fixture::{PATIENCE, apply, delete, get, is_true, until, until_gone};
use crate::operators::{Offer, Operator, alone};

/// Stops an operator at its next apply to an XR, like a machine that is suspended just before the request is sent.
#[derive(Clone, Default)]
struct Freezer(Arc<State>);

#[derive(Default)]
struct State {
    is_armed: AtomicBool,
    /// Whether the operator is frozen.
    frozen: watch::Sender<bool>,
    /// What became of the request that it was frozen at.
    answered: watch::Sender<Option<u16>>,
}

impl Freezer {
    async fn pass(
        self,
        client: kube::Client,
        request: Request<Body>,
    ) -> Result<http::Response<Body>, kube::Error> {
        let Self(state) = self;
        let path = request.uri().path();
        let is_apply =
            *request.method() == Method::PATCH && path.contains("/xapps/") && !path.ends_with("/status");
        let is_first = is_apply && state.is_armed.swap(false, Ordering::SeqCst);
        if is_first {
            state.frozen.send_replace(true);
        }
        if *request.method() != Method::GET {
            let mut frozen = state.frozen.subscribe();
            // The sender is our own.
            let _thawed = frozen.wait_for(|frozen| !frozen).await;
        }
        let response = client.send(request).await;
        if is_first {
            state.answered.send_replace(response.as_ref().ok().map(|response| response.status().as_u16()));
        }
        response
    }

    fn arm(&self) {
        self.0.is_armed.store(true, Ordering::SeqCst);
    }

    async fn frozen(&self) {
        let mut frozen = self.0.frozen.subscribe();
        let frozen = tokio::time::timeout(PATIENCE, frozen.wait_for(|frozen| *frozen)).await;
        assert!(frozen.is_ok(), "the operator did not apply to the XR");
    }

    /// Lets the operator go on; the status code of the response to the request that it was frozen at.
    async fn thaw(&self) -> u16 {
        self.0.frozen.send_replace(false);
        let mut answered = self.0.answered.subscribe();
        let code = tokio::time::timeout(PATIENCE, answered.wait_for(Option::is_some)).await;
        code.expect("the request is answered").unwrap().unwrap()
    }
}

impl Offer {
    fn start_frozen_by(&self, freezer: &Freezer) -> Operator {
        let (freezer, sandbox) = (freezer.clone(), self.sandbox);
        Operator::start_with(self.functions.clone(), async move || {
            let client = sandbox.client().await;
            let service = tower::service_fn(move |request| freezer.clone().pass(client.clone(), request));
            kube::Client::new(service, "default")
        })
    }

    /// Deletes `object` while the frozen leader sleeps, waits until `xr` is gone too, and thaws the leader.
    async fn delete_and_thaw(&self, object: &Value, xr: &Value, freezer: &Freezer) {
        freezer.frozen().await;
        delete(&self.session, object).await;
        let second = self.start();
        until_gone(&self.session, object).await;
        until_gone(&self.session, xr).await;
        assert_eq!(freezer.thaw().await, 409, "the XR that it means is not there any more");
        assert_eq!(get(&self.session, xr).await, None);
        second.kill();
    }
}

#[tokio::test]
async fn references_to_composed_resources_do_not_bring_an_xr_back() {
    let (sandbox, _turn) = alone().await;
    let offer = Offer::new(sandbox, "thawed").await;
    let freezer = Freezer::default();
    freezer.arm();
    let first = offer.start_frozen_by(&freezer);
    let xr = apply(&offer.session, &offer.object("XApp", None, "ab")).await;
    offer.delete_and_thaw(&xr, &xr, &freezer).await;
    first.kill();
}

#[tokio::test]
async fn a_changed_claim_does_not_bring_its_xr_back() {
    let (sandbox, _turn) = alone().await;
    let offer = Offer::new(sandbox, "thawed-claim").await;
    let freezer = Freezer::default();
    let first = offer.start_frozen_by(&freezer);
    let claim = offer.object("App", Some("default"), "ab");
    apply(&offer.session, &claim).await;
    let ready = until(&offer.session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    let mut xr = offer.object("XApp", None, "");
    xr["metadata"] = json!({"name": ready["spec"]["resourceRef"]["name"]});
    freezer.arm();
    let claim = apply(&offer.session, &offer.object("App", Some("default"), "abc")).await;
    offer.delete_and_thaw(&claim, &xr, &freezer).await;
    first.kill();
}
