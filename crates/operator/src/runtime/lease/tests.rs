//! Leases on a fake server that stores one lease, with tokio's paused time.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::runtime::testing::{Response, Seen, client, refusal};

const ITEM: &str = "/apis/coordination.k8s.io/v1/namespaces/plimsoll-system/leases/plimsoll-operator";
const SECONDS: u64 = 30;

/// A server with one lease, as an API server keeps it.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Value>,
    version: u64,
    /// Answers every request with an error.
    is_down: bool,
    /// How many more requests are never answered, as over a connection that is dead.
    unanswered: u32,
    /// Summaries of what was stored.
    log: Vec<String>,
}

impl Server {
    fn holding(holder: &str) -> Self {
        let server = Self::default();
        server.put(&json!({ "spec": { "holderIdentity": holder, "leaseDurationSeconds": SECONDS } }));
        server
    }

    fn put(&self, lease: &Value) -> Value {
        let mut state = self.0.lock().unwrap();
        state.version += 1;
        let mut lease = lease.clone();
        lease["metadata"] = json!({
            "namespace": "plimsoll-system", "name": NAME, "uid": "u", "resourceVersion": state.version.to_string(),
        });
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or("none").to_owned();
        state.log.push(holder);
        state.lease = Some(lease.clone());
        lease
    }

    fn answer(&self, seen: &Seen) -> Response {
        let lease = {
            let mut state = self.0.lock().unwrap();
            if state.unanswered > 0 {
                state.unanswered -= 1;
                return Response::Silence;
            }
            if state.is_down {
                return refusal(503, "ServiceUnavailable");
            }
            state.lease.clone()
        };
        let version = |lease: &Value| lease.pointer("/metadata/resourceVersion").cloned();
        match (seen.line.split(' ').next().unwrap(), lease) {
            // Changes are found by the next list: the watch ends at once, and says that it lost its place.
            ("GET", _) if seen.query.contains("watch=true") => {
                let status = json!({ "kind": "Status", "code": 410, "reason": "Expired" });
                Response::Lines(vec![json!({ "type": "ERROR", "object": status })])
            }
            ("GET", lease) if !seen.line.ends_with(ITEM) => Response::Json(
                200,
                json!({ "kind": "LeaseList", "metadata": { "resourceVersion": "1" }, "items": lease.as_slice() }),
            ),
            ("GET", Some(lease)) => Response::Json(200, lease),
            ("POST", None) => Response::Json(201, self.put(&seen.body)),
            ("POST", Some(_)) => refusal(409, "AlreadyExists"),
            ("PUT", Some(lease)) if version(&lease) == version(&seen.body) => {
                Response::Json(200, self.put(&seen.body))
            }
            ("PUT", Some(_)) => refusal(409, "Conflict"),
            _ => refusal(404, "NotFound"),
        }
    }

    fn candidate(&self, identity: &str) -> Candidate {
        let server = self.clone();
        let (client, _) = client(move |seen| server.answer(seen));
        Candidate {
            session: Session::new(client),
            namespace: Namespace::new("plimsoll-system").unwrap(),
            name: NAME.to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(SECONDS),
            leadership: Leadership::default(),
            metrics: Metrics::new(),
        }
    }

    fn set_down(&self, is_down: bool) {
        self.0.lock().unwrap().is_down = is_down;
    }

    fn log(&self) -> Vec<String> {
        self.0.lock().unwrap().log.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_free_lease_is_taken_at_once() {
    for server in [Server::default(), Server::holding(""), Server::holding("a")] {
        let began = Instant::now();
        let term = server.candidate("a").acquire().await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        let spec = term.lease.spec.unwrap();
        assert_eq!(spec.holder_identity.as_deref(), Some("a"));
        assert_eq!(spec.lease_duration_seconds, Some(30));
        assert!(spec.renew_time.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_not_renewed_is_taken_when_it_has_expired_by_our_own_clock() {
    let server = Server::holding("b");
    let began = Instant::now();
    let term = server.candidate("a").acquire().await;
    assert_eq!(began.elapsed().as_secs(), SECONDS);
    assert_eq!(term.lease.spec.unwrap().lease_transitions, Some(1));
}

/// Clocks of other machines may be hours off, and may be set while they lead.
#[tokio::test(start_paused = true)]
async fn the_times_in_a_lease_do_not_matter() {
    for renewed in ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"] {
        let server = Server::holding("b");
        server.put(&json!({ "spec": {
            "holderIdentity": "b", "leaseDurationSeconds": SECONDS, "renewTime": renewed, "acquireTime": renewed,
        } }));
        let began = Instant::now();
        server.candidate("a").acquire().await;
        assert_eq!(began.elapsed().as_secs(), SECONDS, "{renewed}");
    }
    // A leader whose clock is set back at every renewal keeps its lease.
    let server = Server::holding("b");
    let renewing = async {
        for minute in (0..60).rev() {
            server.put(&json!({ "spec": {
                "holderIdentity": "b", "leaseDurationSeconds": SECONDS,
                "renewTime": format!("1999-01-01T00:{minute:02}:00.000000Z"),
            } }));
            tokio::time::sleep(Duration::from_secs(SECONDS / 3)).await;
        }
    };
    let candidate = server.candidate("a");
    tokio::select! {
        _ = candidate.acquire() => panic!("two hold the lease"),
        () = renewing => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_once() {
    let server = Server::default();
    let first = server.candidate("a").acquire().await;
    let next = server.candidate("b");
    let (waited, ()) = tokio::join!(
        async {
            let began = Instant::now();
            next.acquire().await;
            began.elapsed()
        },
        async {
            tokio::time::sleep(Duration::from_secs(7)).await;
            first.release().await;
        }
    );
    assert!((7..=12).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(server.log(), ["a", "none", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lease_keeps_other_copies_waiting() {
    let server = Server::default();
    let mut term = server.candidate("a").acquire().await;
    let other = server.candidate("b");
    tokio::select! {
        lost = term.keep() => panic!("{lost:?}"),
        _ = other.acquire() => panic!("two hold the lease"),
        () = tokio::time::sleep(Duration::from_secs(600)) => {}
    }
    let renewals = server.log().len() - 1;
    assert!((60..=67).contains(&renewals), "{renewals}");
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_does_not_end_a_term() {
    let server = Server::default();
    let mut term = server.candidate("a").acquire().await;
    let outage = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        server.set_down(true);
        tokio::time::sleep(Duration::from_secs(7)).await;
        server.set_down(false);
        tokio::time::sleep(Duration::from_secs(60)).await;
    };
    tokio::select! {
        lost = term.keep() => panic!("{lost:?}"),
        () = outage => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_never_answered_leaves_time_for_more() {
    for unanswered in [1, 2] {
        let server = Server::default();
        let mut term = server.candidate("a").acquire().await;
        server.0.lock().unwrap().unanswered = unanswered;
        tokio::select! {
            lost = term.keep() => panic!("{unanswered}: {lost:?}"),
            () = tokio::time::sleep(Duration::from_secs(60)) => {}
        }
        assert!(server.log().len() > 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_term_ends_a_third_before_another_may_begin() {
    let server = Server::default();
    let mut term = server.candidate("a").acquire().await;
    let renewed = term.renewed;
    server.set_down(true);
    let lost = term.keep().await;
    assert!(renewed.elapsed() <= Duration::from_secs(SECONDS / 3 * 2), "{:?}", renewed.elapsed());
    assert_eq!(lost.until, renewed + Duration::from_secs(SECONDS));
    assert!(lost.why.contains("ServiceUnavailable"), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn the_right_to_write_lasts_as_long_as_the_lease() {
    let server = Server::default();
    let candidate = server.candidate("a");
    let mut term = candidate.acquire().await;
    let leadership = candidate.leadership;
    tokio::select! {
        lost = term.keep() => panic!("{lost:?}"),
        () = tokio::time::sleep(Duration::from_secs(10 * SECONDS)) => {}
    }
    assert!(leadership.check().is_ok(), "it is renewed with the lease");
    server.set_down(true);
    let lost = term.keep().await;
    assert!(leadership.check().is_ok(), "what runs may end");
    tokio::time::sleep_until(lost.until).await;
    assert!(leadership.check().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_taken_or_deleted_is_lost_at_once() {
    let taken: fn(&Server) = |server| {
        server.put(&json!({ "spec": { "holderIdentity": "b" } }));
    };
    let deleted: fn(&Server) = |server| server.0.lock().unwrap().lease = None;
    for happening in [taken, deleted] {
        let server = Server::default();
        let mut term = server.candidate("a").acquire().await;
        happening(&server);
        let lost = term.keep().await;
        assert_eq!(lost.until, Instant::now(), "{lost:?}");
        assert!(term.candidate.leadership.check().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_response_was_lost_still_counts() {
    let server = Server::default();
    let mut term = server.candidate("a").acquire().await;
    // As if an earlier attempt had been stored: the version we know is an old one.
    server.put(&json!({ "spec": { "holderIdentity": "a" } }));
    term.renew(Instant::now() + Duration::from_secs(10)).await.unwrap();
    assert_eq!(server.log(), ["a", "a", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_another_copy_is_not_released() {
    let server = Server::default();
    let term = server.candidate("a").acquire().await;
    server.put(&json!({ "spec": { "holderIdentity": "b" } }));
    term.release().await;
    assert_eq!(server.log(), ["a", "b"]);
}
