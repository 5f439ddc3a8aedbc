//! Large responses share a limited amount of memory, and one function does not take all of it.

use composition::protocol::{Resource, RunRequest};
use composition::{FunctionRunner as _, RunErrorClass};
use functions::{FunctionError, NoResolver, Options, response};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

use crate::fixture::{Engine, Served, patient, request, serve};

/// Serves a function that returns as many maps, each of which takes much more memory than bytes on the wire.
async fn returning(maps: u32) -> Served {
    let respond = move |request: RunRequest| {
        let list: Vec<Value> = (0..maps).map(|number| json!({"a": number})).collect();
        let mut response = response::to(&request);
        let resource = Resource::of(json!({"apiVersion": "v1", "kind": "Bag", "spec": {"list": list}}));
        response.desired.resources.insert("bag".to_owned(), resource);
        std::future::ready(Ok::<_, FunctionError>(response))
    };
    serve(respond, None).await
}

/// Half of the memory is 4 MiB, and each response takes 0.7 MiB as long as it is kept.
#[tokio::test]
async fn large_responses_wait_for_memory_and_do_not_hold_up_other_functions() {
    const CALLS: usize = 12;
    let (large, small) = (returning(1000).await, returning(20).await);
    let engine = Engine::new(Options { max_memory: 8 << 20, ..patient(None) });
    engine.move_to("large", &large.endpoint);
    engine.move_to("small", &small.endpoint);
    let request = request();
    let mut calls: FuturesUnordered<_> = (0..CALLS)
        .map(|_| async {
            let runner = engine.functions.runner(&NoResolver);
            let response = runner.run("large", &request).await.unwrap();
            (response, runner.into_reservation())
        })
        .collect();
    let mut kept = Vec::from_iter(calls.next().await);
    // All are on their way by now, and more than these are not read however long others are called.
    let mut answered = 0;
    while answered < 100 {
        tokio::select! {
            Some(more) = calls.next() => kept.push(more),
            response = engine.run("small", &request) => {
                response.unwrap();
                answered += 1;
            }
        }
    }
    assert!((2..=6).contains(&kept.len()), "{} responses are kept", kept.len());
    let waiting = CALLS - kept.len();
    drop(kept);
    assert_eq!(calls.count().await, waiting, "each is dropped at once");
}

#[tokio::test]
async fn a_response_that_takes_more_memory_than_a_function_may_use_is_refused() {
    let served = returning(8000).await;
    let engine = Engine::of(Options { max_memory: 8 << 20, ..patient(None) }, &served.endpoint);
    let error = engine.call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Overloaded);
    assert!(error.message.contains("one function may use 4 MiB, and all together 8 MiB"), "{error}");
    let engine = Engine::of(patient(None), &served.endpoint);
    engine.call().await.unwrap();
}
