//! Claims come, change and go while the API server comes and goes; in the end everything is as it was asked for last.

use std::collections::BTreeMap;

use cluster::{Selection, Session};
use compose::run::RunRequest;
use functions::{FunctionError, RunResponse, ServeOptions, Server, response};
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::gate::{Fault, Gate};

use crate::fixture::{apply, composition, delete, is_true, legacy_xrd, until, until_gone};
use crate::operators::{Operator, alone};
use crate::platform::{asked_text, desire, map};

const FUNCTION: &str = "function-churn";

async fn two(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let round = asked_text(&request, "round");
    desire(&mut rsp, "a", map(&json!({"round": round})));
    desire(&mut rsp, "b", map(&json!({"round": round})));
    Ok(rsp)
}

/// The API server is gone at the next write, and back at once, with every connection cut.
async fn restart(gate: &Gate) {
    gate.strike(Fault::Break, |method, path| method != "GET" && !path.contains("/events"));
    gate.struck().await;
    gate.reopen();
}

async fn check(claims: usize, restarts: usize, group: &str) {
    let (sandbox, _turn) = alone().await;
    let session = Session::new(sandbox.client().await);
    let options = ServeOptions { address: "127.0.0.1:0".to_owned(), ..ServeOptions::default() };
    let server = Server::bind(options).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(two, std::future::pending()));
    apply(&session, &composition(group, group, &[FUNCTION])).await;
    let xrd = apply(&session, &legacy_xrd(group)).await;

    let gate = Gate::open(sandbox.client().await).await;
    let url = gate.url();
    let _operator = Operator::start_with(functions, async move || {
        let config = kube::Config::new(url.parse().unwrap());
        kube::Client::try_from(config).unwrap()
    });
    until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;

    let claim = |number: usize, round: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "App",
            "metadata": {"name": format!("churn-{number}"), "namespace": "default"},
            "spec": {"round": round},
        })
    };
    let all = |round: &'static str| {
        join_all((0..claims).map(|number| apply_one(&session, claim(number, round))).collect::<Vec<_>>())
    };
    all("first").await;
    for _ in 0..restarts {
        restart(&gate).await;
    }
    all("second").await;
    restart(&gate).await;
    let (going, staying) = (0..claims / 2, claims / 2..claims);
    for number in going.clone() {
        delete(&session, &claim(number, "")).await;
    }
    restart(&gate).await;
    for number in staying.clone() {
        let ready = |claim: &Value| is_true(claim, "Ready");
        until(&session, &claim(number, ""), "it is ready", ready).await;
    }
    for number in going {
        until_gone(&session, &claim(number, "")).await;
    }
    // What was composed for those that went goes with them, by the garbage collector.
    for number in staying {
        let labels = Some(format!("crossplane.io/claim-name=churn-{number}"));
        let selection = Selection { labels, ..Selection::default() };
        let maps = session.list(&"v1/ConfigMap".parse().unwrap(), &selection).await.unwrap().items;
        assert_eq!(maps.len(), 2, "churn-{number}");
        for map in maps {
            until(&session, &map, "it is of the second round", |map| map["data"]["round"] == "second").await;
        }
    }
}

async fn apply_one(session: &Session, claim: Value) {
    apply(session, &claim).await;
}

/// Fifty claims when all of it is asked for, a few otherwise.
#[tokio::test]
async fn claims_converge_while_the_api_server_comes_and_goes() {
    if std::env::var_os("PLIMSOLL_WHOLE").is_some() {
        check(50, 8, "fifty.example.org").await;
    } else {
        check(6, 2, "few.example.org").await;
    }
}
