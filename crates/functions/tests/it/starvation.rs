//! A slow or dead function does not starve the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use composition::protocol::{Resource, RunRequest};
use composition::{FunctionRunner as _, RunErrorClass};
use functions::{FunctionError, NoResolver, Options, response};
use futures::FutureExt;
use futures::future::join_all;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::fixture::{Engine, impatient, patient, request, serve};

#[tokio::test]
async fn calls_of_other_functions_are_not_affected_by_a_dead_one() {
    let engine = Engine::new(Options { concurrency: 4, ..patient(None) });
    // It accepts connections and never sends a byte.
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap();
    engine.move_to("dead", &dead.local_addr().unwrap().to_string());
    // It speaks HTTP/2 and never responds to a call.
    let hung = serve(async |_: RunRequest| std::future::pending().await, None).await;
    engine.move_to("hung", &hung.endpoint);
    let mut served = Vec::new();
    for index in 0..6 {
        let function = async |request: RunRequest| Ok::<_, FunctionError>(response::to(&request));
        let function = serve(function, None).await;
        engine.move_to(&format!("alive-{index}"), &function.endpoint);
        served.push(function);
    }

    let request = request();
    let calls = |name: String| {
        let (engine, request) = (&engine, &request);
        join_all((0..10).map(move |_| {
            let name = name.clone();
            async move { engine.run(&name, request).await }
        }))
    };
    let stuck = join_all(["dead", "hung"].map(|name| calls(name.to_owned())));
    let alive = join_all((0..6).map(|index| calls(format!("alive-{index}"))));
    tokio::pin!(stuck);
    let responses = tokio::select! {
        biased;
        _ = &mut stuck => panic!("these never respond"),
        responses = alive => responses,
    };
    let responses = responses.into_iter().flatten().flatten().count();
    assert_eq!(responses, 60, "all while twenty calls of the others are pending");
    assert!(stuck.now_or_never().is_none());
}

#[tokio::test]
async fn concurrent_calls_stay_within_the_limit() {
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(Semaphore::new(0));
    let function = {
        let (open, most, gate) = (Arc::clone(&open), Arc::clone(&most), Arc::clone(&gate));
        move |request: RunRequest| {
            let (open, most, gate) = (Arc::clone(&open), Arc::clone(&most), Arc::clone(&gate));
            async move {
                let now = open.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                open.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, FunctionError>(response::to(&request))
            }
        }
    };
    let served = serve(function, None).await;
    let engine = Engine::of(Options { concurrency: 3, ..patient(None) }, &served.endpoint);
    let calls = join_all((0..9).map(|_| engine.call()));
    let release = async {
        // No call returns before the limit is reached.
        while open.load(Ordering::SeqCst) < 3 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(9);
    };
    let (responses, ()) = tokio::join!(calls, release);
    assert_eq!(responses.into_iter().flatten().count(), 9);
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

/// A call that has its turn takes half of the timeout, so three in a row take longer than one may.
#[tokio::test]
async fn the_time_a_call_waits_for_its_turn_does_not_count() {
    let slow = async |request: RunRequest| {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok::<_, FunctionError>(response::to(&request))
    };
    let served = serve(slow, None).await;
    let options = Options { concurrency: 1, timeout: Duration::from_millis(400), ..patient(None) };
    let engine = Engine::of(options, &served.endpoint);
    let responses = join_all((0..5).map(|_| engine.call())).await;
    for response in responses {
        response.unwrap();
    }
}

/// What waits has limits, and a call that was never made is not reported as one that was not answered.
#[tokio::test]
async fn calls_that_get_no_turn_are_reported_as_such() {
    let slow = serve(async |_: RunRequest| std::future::pending().await, None).await;
    let (max_waiting, max_wait) = (2, Duration::from_millis(200));
    let timeout = Duration::from_millis(400);
    let options = Options { concurrency: 1, timeout, max_waiting, max_wait, ..patient(None) };
    let engine = Engine::of(options, &slow.endpoint);
    engine.functions.reachable("fn").await.unwrap();
    let calls = join_all((0..3).map(|_| engine.call()));
    let one_too_many = async {
        assert_eq!(engine.functions.waiting("fn"), max_waiting);
        engine.call().await.unwrap_err()
    };
    let (ended, refused) = tokio::join!(biased; calls, one_too_many);
    assert_eq!(refused.class, RunErrorClass::Overloaded);
    assert!(refused.message.contains("limit of 1 concurrent calls, and 2 more calls wait"), "{refused}");
    let classes: Vec<_> = ended.into_iter().map(|call| call.unwrap_err().class).collect();
    assert_eq!(classes, [RunErrorClass::TimedOut, RunErrorClass::Overloaded, RunErrorClass::Overloaded]);
    assert_eq!(engine.functions.waiting("fn"), 0);
}

/// A call that goes first waits for those that are under way and for one more, however many wait.
#[tokio::test]
async fn a_call_that_goes_first_has_its_turn_before_those_that_wait() {
    let (order, gate) = (Arc::new(std::sync::Mutex::new(Vec::new())), Arc::new(Semaphore::new(0)));
    let function = {
        let (order, gate) = (Arc::clone(&order), Arc::clone(&gate));
        move |request: RunRequest| {
            let (order, gate) = (Arc::clone(&order), Arc::clone(&gate));
            async move {
                order.lock().unwrap().push(request.input.as_ref().unwrap()["call"].clone());
                gate.acquire().await.unwrap().forget();
                Ok::<_, FunctionError>(response::to(&request))
            }
        }
    };
    let served = serve(function, None).await;
    let engine = Engine::of(Options { concurrency: 1, ..patient(None) }, &served.endpoint);
    engine.functions.reachable("fn").await.unwrap();
    let call = |name: &str, goes_first: bool| {
        let mut request = request();
        request.input = Resource::of(json!({"call": name})).object.into();
        let runner = engine.functions.runner(&NoResolver).going_first(goes_first);
        async move { runner.run("fn", &request).await.unwrap() }
    };
    let due = join_all(["a", "b", "c", "d"].map(|name| call(name, false)));
    let first = async {
        while engine.functions.waiting("fn") < 3 {
            tokio::task::yield_now().await;
        }
        let first = call("first", true);
        tokio::pin!(first);
        assert!((&mut first).now_or_never().is_none(), "one call is under way");
        gate.add_permits(5);
        first.await
    };
    tokio::join!(due, first);
    let order = order.lock().unwrap();
    let place = order.iter().position(|name| name == "first").unwrap();
    assert!((1..=2).contains(&place), "{order:?}");
}

#[tokio::test]
async fn a_function_that_never_responds_fails_each_call_at_its_own_deadline() {
    let slow = serve(async |_: RunRequest| std::future::pending().await, None).await;
    let options = Options { concurrency: 1, timeout: Duration::from_millis(300), ..patient(None) };
    let engine = Engine::of(options, &slow.endpoint);
    engine.functions.reachable("fn").await.unwrap();
    let (first, second) = tokio::join!(biased; engine.call(), engine.call());
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!(error.class, RunErrorClass::TimedOut);
        assert_eq!(
            error.message,
            "rpc error: code = DeadlineExceeded desc = the function did not respond within 300 ms"
        );
    }
}

#[tokio::test]
async fn a_silent_server_fails_a_call_at_its_deadline() {
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = dead.local_addr().unwrap().to_string();
    let engine = Engine::of(Options { timeout: Duration::from_millis(200), ..impatient(None) }, &address);
    let error = engine.call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::TimedOut);
    assert_eq!(
        error.message,
        format!("rpc error: code = DeadlineExceeded desc = no connection to {address} within 200 ms")
    );
}
