//! Large responses share a limited amount of memory, and one function does not take all of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use composition::protocol::{
    Match, Requirements, Resource, ResourceSelector, RunRequest, Schema, SchemaSelector,
};
use composition::{FunctionRunner as _, RunErrorClass};
use functions::{FunctionError, NoResolver, Options, ResolveFuture, Resolver, response};
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

/// Objects of a megabyte, and how many copies of them there are.
#[derive(Default)]
struct Large {
    copies: AtomicUsize,
    most: AtomicUsize,
}

impl Resolver for Large {
    fn size<'a>(&'a self, _: &'a ResourceSelector) -> ResolveFuture<'a, usize> {
        Box::pin(async { Ok(1 << 20) })
    }

    fn resources<'a>(&'a self, _: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        let copies = self.copies.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(copies, Ordering::SeqCst);
        Box::pin(async { Ok(vec![Resource::of(json!({"text": "x".repeat(1 << 20)}))]) })
    }

    fn schema<'a>(&'a self, _: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(async { Ok(Schema::default()) })
    }
}

#[tokio::test]
async fn what_is_required_is_copied_only_when_there_is_memory_for_it() {
    let served = returning(0).await;
    let engine = Engine::of(Options { max_memory: 16 << 20, ..patient(None) }, &served.endpoint);
    let all = ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching: Match::All,
        namespace: None,
    };
    let given = Requirements { resources: [("all".to_owned(), all)].into(), ..Requirements::default() };
    let (large, request) = (Large::default(), request());
    let calls = (0..8).map(|_| async {
        let runner = engine.functions.runner(&large);
        runner.run_given("fn", &request, &given).await.unwrap();
        large.copies.fetch_sub(1, Ordering::SeqCst);
    });
    futures::future::join_all(calls).await;
    assert_eq!(large.most.load(Ordering::SeqCst), 1, "each needs all that one function may use");
}
