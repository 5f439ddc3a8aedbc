//! Calls that wait for their function: what users and administrators read about them.

use std::sync::Arc;
use std::time::Duration;

use functions::RunRequest;
use jiff::Timestamp;
use operator::runtime::metrics::Metrics;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::crash::maps;
use crate::fixture::{apply, condition, get, is_true, until};
use crate::operators::{Offer, Operator, alone};

/// The value of the first sample whose line contains all of these.
fn sample(metrics: &Metrics, parts: &[&str]) -> f64 {
    let text = metrics.text(Timestamp::now());
    let line = text.lines().find(|line| parts.iter().all(|part| line.contains(part)));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_never_had_its_turn_is_reported_as_such() {
    let (sandbox, _turn) = alone().await;
    let gate = Arc::new(Semaphore::new(0));
    let run = {
        let gate = Arc::clone(&gate);
        move |request: RunRequest| {
            let gate = Arc::clone(&gate);
            async move {
                drop(gate.acquire().await);
                maps(request).await
            }
        }
    };
    let offer = Offer::with(sandbox, "waiting", run).await;
    let wait = Duration::from_secs(1);
    let operator = Operator::start_calling_one_by_one(sandbox, offer.functions.clone(), wait);
    let xrs: Vec<Value> =
        (0..3).map(|number| offer.named("XApp", &format!("waiting-{number}"), None, "a")).collect();
    for xr in &xrs {
        apply(&offer.session, xr).await;
    }
    // One has its turn and is not answered; the other two have none.
    let waiting = async {
        while sample(&operator.metrics, &["plimsoll_function_calls_waiting{", "function-waiting"]) < 1.0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("calls wait");
    let says = |xr: &Value| {
        let synced =
            condition(xr, "Synced").and_then(|synced| synced["message"].as_str()).unwrap_or_default();
        synced.contains("limit of 1 concurrent calls")
    };
    let all_reported = async {
        loop {
            let mut reported = 0;
            for xr in &xrs {
                reported += usize::from(get(&offer.session, xr).await.is_some_and(|xr| says(&xr)));
            }
            if reported == 2 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all_reported)
        .await
        .expect("all but the one whose call is under way");
    let calls = ["plimsoll_function_call_seconds", "FunctionOverloaded"];
    assert!(sample(&operator.metrics, &[calls[0], calls[1], "_count"]) >= 2.0);
    let sum = sample(&operator.metrics, &[calls[0], calls[1], "_sum"]);
    assert!(sum < wait.as_secs_f64(), "{sum} s, although nothing was called");

    gate.add_permits(Semaphore::MAX_PERMITS / 2);
    for xr in &xrs {
        until(&offer.session, xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    }
    operator.kill();
}
