use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use serde_json::json;

use super::*;
use crate::error::ResponseLimit;
use crate::test_server::{Answer as Sent, Journal, Seen, core, kinds, ok, plain, session, status, stream};

fn event(kind: &str, name: &str, version: &str) -> String {
    json!({ "type": kind, "object": { "metadata": { "name": name, "resourceVersion": version } } })
        .to_string()
        + "\n"
}

fn expired() -> String {
    json!({ "type": "ERROR", "object": { "kind": "Status", "code": 410, "reason": "Expired", "message": "too old" } })
        .to_string()
        + "\n"
}

/// Watches ConfigMaps from version 1 on a server that responds with `answers` in turn, and describes the first `count`
/// events.
async fn watched(answers: Vec<Box<dyn Fn() -> Sent + Send>>, count: usize) -> (Vec<String>, Journal) {
    let mut answers = answers.into_iter();
    let (session, journal) =
        session(move |_: &Seen| answers.next().map_or_else(|| plain(403, "no more"), |response| response()));
    let gvk = "v1/ConfigMap".parse().unwrap();
    let mut watch = session.watch(&gvk, Selection::default(), Some("1".to_owned())).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..count {
        seen.push(match watch.next().await {
            Ok(WatchEvent::Applied(object)) => {
                format!("set {}", object["metadata"]["name"].as_str().unwrap())
            }
            Ok(WatchEvent::Deleted(object)) => {
                format!("deleted {}", object["metadata"]["name"].as_str().unwrap())
            }
            Ok(WatchEvent::Expired) => "expired".to_owned(),
            Err(error) => format!("{:?}", error.class()),
        });
    }
    (seen, journal)
}

fn versions(journal: &Journal) -> Vec<String> {
    let version = |seen: &Seen| {
        let find = |query: &str| {
            query.split('&').find_map(|part| part.strip_prefix("resourceVersion=")).map(str::to_owned)
        };
        find(&seen.query).unwrap_or("none".to_owned())
    };
    journal.all().iter().filter(|seen| seen.query.contains("watch=true")).map(version).collect()
}

fn lines(text: String) -> Box<dyn Fn() -> Sent + Send> {
    Box::new(move || stream(&text))
}

#[tokio::test(start_paused = true)]
async fn consecutive_responses_form_a_single_stream() {
    let (seen, journal) = watched(
        vec![
            lines(event("ADDED", "a", "2") + &event("BOOKMARK", "", "7")),
            lines(event("MODIFIED", "a", "8") + &event("DELETED", "a", "9") + "{\"type\":\"ADD"),
            lines("\n".to_owned() + &event("ADDED", "b", "10")),
        ],
        4,
    )
    .await;
    assert_eq!(seen, ["set a", "set a", "deleted a", "set b"]);
    // Each request resumes from the last version seen, bookmarks included; an incomplete last line is ignored.
    assert_eq!(versions(&journal), ["1", "7", "9"]);
    let query = &journal.all().pop().unwrap().query;
    assert_eq!(query, "watch=true&allowWatchBookmarks=true&timeoutSeconds=240&resourceVersion=9");
}

#[tokio::test(start_paused = true)]
async fn an_expired_resource_version_is_reported_and_the_watch_restarts() {
    let gone = || status(410, "Expired", "too old resource version", &json!({}));
    let (seen, journal) = watched(
        vec![
            lines(expired()),
            lines(event("ADDED", "a", "20")),
            Box::new(gone),
            lines(event("ADDED", "b", "30")),
        ],
        4,
    )
    .await;
    assert_eq!(seen, ["expired", "set a", "expired", "set b"]);
    assert_eq!(versions(&journal), ["1", "none", "20", "none"]);
}

#[tokio::test(start_paused = true)]
async fn outages_are_waited_out_and_permanent_failures_are_errors() {
    let busy = || status(503, "ServiceUnavailable", "etcd is down", &json!({}));
    let denied = || status(403, "Forbidden", "you may not watch", &json!({}));
    let (seen, journal) = watched(
        vec![
            Box::new(busy),
            Box::new(|| plain(502, "bad gateway")),
            lines("not json\n".to_owned()),
            lines(String::new()),
            lines(event("ADDED", "a", "2")),
            Box::new(denied),
        ],
        2,
    )
    .await;
    assert_eq!(seen, ["set a", "InsufficientPermissions"]);
    assert_eq!(journal.work().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn empty_responses_slow_the_watch_down() {
    let began = Instant::now();
    let empty = || lines(String::new());
    let (_, journal) = watched((0..10).map(|_| empty()).collect(), 1).await;
    assert_eq!(journal.work().len(), 11);
    assert!(began.elapsed() > Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn cancelling_next_loses_no_event() {
    let (session, journal) = session(move |_| stream(&event("ADDED", "a", "2")));
    let gvk = "v1/ConfigMap".parse().unwrap();
    let mut watch = session.watch(&gvk, Selection::default(), None).await.unwrap();
    // Polled once and dropped, again and again, until the event arrives.
    let mut seen = None;
    while seen.is_none() {
        tokio::select! {
            biased;
            event = watch.next() => seen = Some(event.unwrap()),
            () = tokio::task::yield_now() => {}
        }
    }
    assert!(matches!(seen, Some(WatchEvent::Applied(_))));
    assert_eq!(journal.work().len(), 1, "what was begun is gone on with");
}

#[tokio::test]
async fn a_line_has_a_limit_of_bytes_and_none_of_depth() {
    let response = |text: String, longest| WatchResponse {
        body: Body::from(text.into_bytes()),
        lines: Lines::up_to(longest),
        opened: Instant::now(),
    };
    let text = event("ADDED", "a", "2");
    let mut whole = response(text.clone(), text.len());
    assert_eq!(whole.next().await.unwrap().unwrap().kind, "ADDED");
    let endless = response("x".repeat(101), 100).next().await.err().unwrap();
    assert!(matches!(endless, ErrorKind::ResponseTooLarge(ResponseLimit::Bytes(100))), "{endless:?}");

    let nested = |levels: usize| (2..levels).fold(json!([]), |inner, _| json!({ "a": inner }));
    let line = |levels| json!({ "type": "ADDED", "object": nested(levels) }).to_string() + "\n";
    let deep = response(line(400), 1 << 20).next().await.unwrap().unwrap();
    assert_eq!(deep.object, nested(400));
    let too_deep = response(line(513), 1 << 20).next().await.err().unwrap();
    assert!(matches!(too_deep, ErrorKind::ResponseTooLarge(ResponseLimit::Levels(513))), "{too_deep:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_waits_as_long_as_the_server_asks() {
    let busy = || status(429, "TooManyRequests", "later", &json!({ "retryAfterSeconds": 20 }));
    let began = Instant::now();
    let answers: Vec<Box<dyn Fn() -> Sent + Send>> =
        vec![Box::new(busy), Box::new(busy), lines(event("ADDED", "a", "2"))];
    let (seen, _) = watched(answers, 1).await;
    assert_eq!(seen, ["set a"]);
    assert!((40..=50).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

/// A watch of ConfigMaps whose server answers watches by `answer`.
async fn watch_on<F>(answer: impl Fn(usize) -> F + Clone + Send + 'static) -> Watch
where
    F: Future<Output = BoxedAnswer> + Send,
{
    let watches = Arc::new(AtomicUsize::new(0));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (answer, watches) = (answer.clone(), Arc::clone(&watches));
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            Ok::<_, Infallible>(match request.uri().path() {
                _ if is_watch => answer(watches.fetch_add(1, Ordering::SeqCst)).await,
                "/api" => boxed(ok(&core())),
                _ => boxed(ok(&kinds(&[]))),
            })
        }
    });
    let session = Session::new(kube::Client::new(service, "default"));
    session.watch(&"v1/ConfigMap".parse().unwrap(), Selection::default(), None).await.unwrap()
}

type BoxedAnswer = http::Response<UnsyncBoxBody<bytes::Bytes, Infallible>>;

fn boxed(answer: Sent) -> BoxedAnswer {
    answer.map(http_body_util::BodyExt::boxed_unsync)
}

/// A response that begins, and never goes on.
fn silent() -> BoxedAnswer {
    http::Response::new(StreamBody::new(futures::stream::pending()).boxed_unsync())
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_not_heard_says_why() {
    let check = async |mut watch: Watch, expected: Option<&str>| {
        let heard = tokio::time::timeout(Duration::from_secs(12), watch.next()).await;
        assert!(heard.is_err(), "{heard:?}");
        let trouble = watch.trouble();
        match expected {
            None => assert!(watch.is_open() && trouble.is_none(), "{trouble:?}"),
            Some(why) => assert!(trouble.as_ref().is_some_and(|it| it.contains(why)), "{trouble:?}"),
        }
    };
    check(watch_on(async |_| silent()).await, None).await;
    check(watch_on(async |_| std::future::pending().await).await, Some("does not answer")).await;
    let busy = || boxed(status(503, "ServiceUnavailable", "etcd is down", &json!({})));
    check(watch_on(move |_| std::future::ready(busy())).await, Some("etcd is down")).await;
    // The server accepts the watch, and then cannot convert what it would send.
    let broken = json!({ "type": "ERROR", "object": { "kind": "Status", "code": 500, "message": "conversion failed" } });
    let broken = move |_| std::future::ready(boxed(stream(&(broken.to_string() + "\n"))));
    check(watch_on(broken).await, Some("conversion failed")).await;
}

/// Nothing arrives and nothing breaks off: the other side is gone, and no router says so.
#[tokio::test(start_paused = true)]
async fn a_black_holed_watch_is_opened_again() {
    let mut watch = watch_on(async |number| match number {
        0 => silent(),
        _ => boxed(stream(&event("ADDED", "a", "2"))),
    })
    .await;
    let began = Instant::now();
    assert!(matches!(watch.next().await, Ok(WatchEvent::Applied(_))));
    assert_eq!(began.elapsed(), SILENCE);
}
