//! Claims come, change and go while the API server is killed and started again; in the end everything is as it was asked
//! for last.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Class, Delete, Error, Selection, Session, Write};
use composition::protocol::RunRequest;
use functions::{FunctionError, RunResponse, ServeOptions, Server, Transport, response};
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::{ApiServer, Sandbox, seed};

use crate::fixture::{
    PATIENCE, apply, composition, connect, is_true, legacy_xrd, reference, until, until_gone,
};
use crate::operators::{Operator, install};
use crate::platform::{asked_text, desire, map};

const GROUP: &str = "churn.example.org";
const FUNCTION: &str = "function-churn";
/// How often the server is asked again while it comes up.
const AGAIN: Duration = Duration::from_millis(100);

async fn two(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let round = asked_text(&request, "round");
    desire(&mut rsp, "a", map(&json!({"round": round})));
    desire(&mut rsp, "b", map(&json!({"round": round})));
    Ok(rsp)
}

/// The claims of a churn, and the server they are kept by.
struct Churn {
    session: Session,
    server: ApiServer,
    claims: usize,
}

impl Churn {
    /// A claim by number, as it is asked for in `round`.
    fn claim(number: usize, round: usize) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "App",
            "metadata": {"name": format!("churn-{number}"), "namespace": "default"},
            "spec": {"round": round.to_string()},
        })
    }

    /// Asks for all claims in `round`, as people do: again while the server is not there.
    async fn ask(&self, round: usize) {
        let one = async |number| {
            let claim = Self::claim(number, round);
            let (target, write) = (reference(&claim), Write::by("person").force());
            while let Err(error) = self.session.apply_when_possible(&target, &claim, write).await {
                assert!(is_away(&error), "{error:?}");
                tokio::time::sleep(AGAIN).await;
            }
        };
        join_all((0..self.claims).map(one)).await;
    }

    /// Deletes the first half.
    async fn delete_half(&self) {
        for number in 0..self.claims / 2 {
            let target = reference(&Self::claim(number, 0));
            let how = Delete { timeout: Duration::ZERO, ..Delete::of(&target) };
            while let Err(error) = self.session.delete(&target, &how).await {
                assert!(is_away(&error), "{error:?}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Kills the server once the operator is at work on the claim `at`, and starts it again.
    async fn restart(&mut self, at: usize) {
        let bound = |claim: &Value| claim.pointer("/spec/resourceRef/name").is_some();
        until(&self.session, &Self::claim(at % self.claims, 0), "it is bound", bound).await;
        self.server.kill();
        let error = self.session.read(&reference(&Self::claim(0, 0))).await.unwrap_err();
        assert!(is_away(&error), "{error:?}");
        self.server.start();
    }

    /// Waits until what was asked for in `round` is there, and nothing else.
    async fn converges(&self, round: usize) {
        let going = self.claims / 2;
        for number in going..self.claims {
            let claim = Self::claim(number, round);
            until(&self.session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
        }
        for number in 0..going {
            until_gone(&self.session, &Self::claim(number, round)).await;
        }
        let wanted = (going..self.claims).map(|number| (format!("churn-{number}"), round.to_string()));
        let wanted: BTreeSet<(String, String)> = wanted.collect();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let maps = self.composed("v1/ConfigMap").await;
            let xrs = self.composed(&format!("{GROUP}/v1/XApp")).await;
            let of = |map: &Value| {
                let text =
                    |pointer| map.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
                (text("/metadata/labels/crossplane.io~1claim-name"), text("/data/round"))
            };
            let found: BTreeSet<(String, String)> = maps.iter().map(of).collect();
            // Two maps and one XR a claim; those of the claims that went go by the garbage collector.
            if found == wanted && maps.len() == 2 * wanted.len() && xrs.len() == wanted.len() {
                return;
            }
            let in_time = tokio::time::Instant::now() < deadline;
            assert!(in_time, "{} maps, {} XRs, {found:?}", maps.len(), xrs.len());
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn composed(&self, gvk: &str) -> Vec<Value> {
        let labels = Some("crossplane.io/composite".to_owned());
        let selection = Selection { labels, ..Selection::default() };
        self.session.list(&gvk.parse().unwrap(), &selection).await.unwrap().items
    }
}

/// Whether the API server is unavailable, or has not loaded its authorization rules yet.
pub(crate) fn is_away(error: &Error) -> bool {
    error.is_server_fault()
        || matches!(
            error.class(),
            Class::ConnectionFailed | Class::InsufficientPermissions | Class::AuthenticationFailed
        )
}

async fn check(claims: usize, restarts: usize, seed: usize) {
    let sandbox = tokio::task::spawn_blocking(|| Sandbox::dedicated("churn")).await.unwrap();
    let session = Session::new(sandbox.client().await);
    install(&session).await;
    let options = ServeOptions::new("127.0.0.1:0", Transport::Insecure);
    let server = Server::bind(options).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(two, std::future::pending()));
    apply(&session, &composition(GROUP, GROUP, &[FUNCTION])).await;
    let xrd = apply(&session, &legacy_xrd(GROUP)).await;
    let kubeconfig = sandbox.kubeconfig();
    let operator = Operator::start_with(functions, async move || {
        connect(kubeconfig, "plimsoll-operator").client().clone()
    });
    until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;

    let mut at = seed;
    let mut churn = Churn { session, server: sandbox.api_server(), claims };
    for round in 0..restarts {
        churn.ask(round).await;
        churn.restart(at).await;
        at = at * 7 + 1;
    }
    churn.ask(restarts).await;
    churn.delete_half().await;
    churn.restart(at % (claims / 2) + claims / 2).await;
    churn.converges(restarts).await;
    operator.kill();
}

/// Fifty claims when all of it is asked for, a few otherwise.
#[tokio::test]
async fn claims_converge_while_the_api_server_is_killed_and_started_again() {
    let seed = usize::try_from(seed::choose("churn") % 1000).unwrap();
    if seed::is_whole() {
        check(50, 6, seed).await;
    } else {
        check(6, 1, seed).await;
    }
}
