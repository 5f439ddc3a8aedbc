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
    let last = journal.all().pop().unwrap();
    let length = seconds(&last.query);
    assert_eq!(
        last.query,
        format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={length}&resourceVersion=9")
    );
}

/// How long the server may keep the response to a request open.
fn seconds(query: &str) -> u64 {
    let length = query.split('&').find_map(|part| part.strip_prefix("timeoutSeconds="));
    length.unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn responses_may_be_open_for_different_times() {
    let answers = (2..52).map(|version| lines(event("MODIFIED", "a", &version.to_string())));
    let (_, journal) = watched(answers.collect(), 50).await;
    let watches = journal.all().into_iter().filter(|seen| seen.query.contains("watch=true"));
    let lengths: Vec<u64> = watches.map(|seen| seconds(&seen.query)).collect();
    assert!(lengths.iter().all(|length| (180..=300).contains(length)), "{lengths:?}");
    let different = lengths.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(different > 20, "{lengths:?}");
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
    watch_for(move |number, _| answer(number)).await
}

/// The same; `answer` is also given how long the response may be open.
async fn watch_for<F>(answer: impl Fn(usize, Duration) -> F + Clone + Send + 'static) -> Watch
where
    F: Future<Output = BoxedAnswer> + Send,
{
    let watches = Arc::new(AtomicUsize::new(0));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (answer, watches) = (answer.clone(), Arc::clone(&watches));
        async move {
            let query = request.uri().query().unwrap_or_default();
            Ok::<_, Infallible>(match request.uri().path() {
                _ if query.contains("watch=true") => {
                    let number = watches.fetch_add(1, Ordering::SeqCst);
                    answer(number, Duration::from_secs(seconds(query))).await
                }
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

/// A response that is open for so long, and then ends.
fn lasting(open_for: Duration) -> BoxedAnswer {
    let bookmarks = futures::stream::unfold(open_for, async |left| {
        let pause = left.min(Duration::from_secs(60));
        tokio::time::sleep(pause).await;
        let bookmark = Ok(hyper::body::Frame::data(event("BOOKMARK", "", "2").into()));
        (!pause.is_zero()).then(|| (bookmark, left.saturating_sub(pause)))
    });
    http::Response::new(StreamBody::new(bookmarks).boxed_unsync())
}

#[tokio::test(start_paused = true)]
async fn watches_that_break_off_together_ask_at_once_and_then_at_different_times() {
    const WATCHES: usize = 100;
    let opened: Arc<std::sync::Mutex<Vec<(usize, Duration)>>> = Arc::default();
    let began = Instant::now();
    let minute = Duration::from_secs(60);
    for _ in 0..WATCHES {
        let opened = Arc::clone(&opened);
        let mut watch = watch_on(move |number| {
            opened.lock().unwrap().push((number, began.elapsed()));
            std::future::ready(match number {
                0 => lasting(minute),
                1 => boxed(status(503, "ServiceUnavailable", "restarting", &json!({}))),
                _ => silent(),
            })
        })
        .await;
        tokio::spawn(async move { watch.next().await.map(|_| ()) });
    }
    tokio::time::sleep(minute + SPREAD * 3).await;
    let opened = opened.lock().unwrap();
    let of = |number: usize| {
        opened.iter().filter(move |(it, _)| *it == number).map(|(_, at)| at.saturating_sub(minute))
    };
    assert!(of(1).all(|late| late.is_zero()) && of(1).count() == WATCHES, "{opened:?}");
    assert_eq!(of(2).count(), WATCHES);
    for tenth in 0..12 {
        let within = (SPREAD * tenth / 10)..(SPREAD * (tenth + 1) / 10);
        let together = of(2).filter(|late| within.contains(late)).count();
        assert!(together < WATCHES / 4, "{together} within {within:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_ends_in_time_is_no_break() {
    let check = async |early: Duration, breaks: u32| {
        let mut watch = watch_for(move |number, length| async move {
            match number {
                0 => lasting(length.saturating_sub(early)),
                _ => std::future::pending().await,
            }
        })
        .await;
        let until_reopened = LENGTH + MORE + SPREAD * 2;
        let heard = tokio::time::timeout(until_reopened, watch.next()).await;
        assert!(heard.is_err(), "{heard:?}");
        assert_eq!(watch.breaks(), breaks, "{early:?}");
    };
    check(Duration::from_millis(300), 0).await;
    check(Duration::from_secs(90), 1).await;
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
