//! The crash matrix: the operator is killed at every request of a clean run, before the request is forwarded and before
//! its answer is relayed, and the next one brings it to the same end.

use std::fmt;
use std::sync::Arc;

use futures::future::join_all;
use oraclecloud_emulator::{Operation, Script, Timeline, TimelineRule, TimelineStep};
use serde_json::{Value, json};
use testkit::proxy::KillPoint;
use testkit::seed;
use tokio::sync::Semaphore;

use super::place::{Place, a_moment, is_ready};
use super::process::Operator;

/// Seconds instead of minutes.
const FLAGS: &[&str] = &[
    "--poll-interval=100ms",
    "--create-grace=6s",
    "--slow-retry=1s",
    "--drift-interval=10m",
    "--oci-qps=10000",
];
/// The maximum number of concurrent runs.
const AT_ONCE: usize = 6;
/// The sample that `cargo test` takes of the larger matrices.
const SAMPLE: usize = 12;

/// The three ways in which operations are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By their work requests.
    Queue,
    /// By the state of the resource.
    Stream,
    /// By the state of the resource, although responses name a work request.
    StreamWithBreadcrumb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Create,
    Update,
    Delete,
}

/// A run: an action, and the request at which the operator is killed during it.
#[derive(Clone, Copy, Debug)]
struct Run {
    kind: Kind,
    action: Action,
    strike: Option<(usize, KillPoint)>,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, action, strike } = self;
        match strike {
            Some((nth, when)) => write!(f, "{action:?} {kind:?}, killed {when:?} at request {nth}"),
            None => write!(f, "{action:?} {kind:?}, undisturbed"),
        }
    }
}

impl Run {
    /// Runs it and checks the outcome; returns the number of requests until it ended or was cut off.
    async fn make(self) -> Vec<String> {
        let place = Place::new("crash", quick(self.kind), None).await;
        let object = match self.kind {
            Kind::Queue => place.queue("it"),
            Kind::Stream | Kind::StreamWithBreadcrumb => place.stream("it"),
        };
        if self.kind == Kind::Queue {
            place.namespace.apply_as("person", &place.credentials()).await;
        }
        let mut operator;
        if self.action == Action::Create {
            self.arm(&place);
            operator = start(&place);
            place.namespace.apply_as("person", &object).await;
        } else {
            operator = start(&place);
            place.namespace.apply_as("person", &object).await;
            self.until(&place, &object, &operator, |object| object.is_some_and(is_ready)).await;
            self.arm(&place);
            self.act(&place, &object).await;
        }
        tokio::select! {
            () = struck(&place) => {
                operator = start(&place);
                self.converge(&place, &object, &operator).await;
            }
            () = self.converge(&place, &object, &operator) => {}
        }
        self.judge(&place, &object).await;
        drop(operator);
        place.kill_switch.requests()
    }

    /// Requests count from here.
    fn arm(self, place: &Place) {
        place.kill_switch.reset();
        if let Some((nth, point)) = self.strike {
            place.kill_switch.arm(nth, point);
        }
    }

    async fn act(self, place: &Place, object: &Value) {
        if self.action == Action::Update {
            let change = json!({"spec": {"freeformTags": {"team": "checkout"}}});
            place.namespace.merge_as("person", object, &change).await;
        } else {
            let kind = object["kind"].as_str().unwrap();
            place.namespace.kubectl(&["delete", "--wait=false", kind, "it"]).unwrap();
        }
    }

    /// Waits until the object has settled, and its credentials are kept exactly as long as it exists.
    async fn converge(self, place: &Place, object: &Value, operator: &Operator) {
        let converged = |object: Option<&Value>| match self.action {
            Action::Create => object.is_some_and(is_ready),
            Action::Update => object.is_some_and(|it| is_ready(it) && it["metadata"]["generation"] == 2),
            Action::Delete => object.is_none(),
        };
        self.until(place, object, operator, converged).await;
        if self.kind == Kind::Queue {
            let is_right = |secret: Option<&Value>| {
                let finalizers = secret.and_then(|secret| secret["metadata"]["finalizers"].as_array());
                finalizers.is_some_and(|all| !all.is_empty()) != (self.action == Action::Delete)
            };
            self.until(place, &place.credentials(), operator, is_right).await;
        }
    }

    async fn until(
        self,
        place: &Place,
        object: &Value,
        operator: &Operator,
        met: impl Fn(Option<&Value>) -> bool,
    ) {
        let reported = std::panic::AssertUnwindSafe(place.namespace.until(object, "converged", met));
        if let Err(panic) = futures::FutureExt::catch_unwind(reported).await {
            let struck = place.kill_switch.killed_at();
            eprint(&format!(
                "{self} ({struck:?}) does not converge; the operator said:\n{}",
                operator.last_words()
            ));
            std::panic::resume_unwind(panic);
        }
    }

    /// At most one create, no leftovers, and a finalizer as long as the resource exists.
    async fn judge(self, place: &Place, object: &Value) {
        let journal = place.server.journal();
        let creates = journal.effects(Operation::CreateQueue) + journal.effects(Operation::CreateStream);
        assert_eq!(creates, 1, "{self}: creates");
        let living = place.living();
        if self.action == Action::Delete {
            assert_eq!(living, Vec::<Value>::new(), "{self}: an orphan");
            return;
        }
        let object = place.namespace.get(object).await.unwrap();
        assert_eq!(living.len(), 1, "{self}: resources");
        assert_eq!(living[0]["id"], object["status"]["status"]["ocid"], "{self}");
        assert_eq!(
            object["metadata"]["finalizers"],
            json!(["finalizers.oci.oracle.com/oci-resources"]),
            "{self}"
        );
        if self.action == Action::Update {
            assert_eq!(living[0]["freeformTags"]["team"], "checkout", "{self}");
        }
    }
}

async fn struck(place: &Place) {
    while place.kill_switch.killed_at().is_none() {
        a_moment().await;
    }
}

fn start(place: &Place) -> Operator {
    let operator = place.operator(FLAGS);
    place.kill_switch.set_target(operator.child());
    operator
}

/// Operations that end after two polls.
fn quick(kind: Kind) -> Script {
    let steps = vec![TimelineStep { status: "IN_PROGRESS".to_owned(), percent: 50.0 }];
    let timeline = Timeline { steps, ..Timeline::default() };
    let operations = [
        Operation::CreateQueue,
        Operation::UpdateQueue,
        Operation::DeleteQueue,
        Operation::CreateStream,
        Operation::UpdateStream,
        Operation::DeleteStream,
    ];
    let of = |operation| TimelineRule { operation, name: None, times: None, timeline: timeline.clone() };
    let stream_work_requests = kind == Kind::StreamWithBreadcrumb;
    Script { timelines: operations.map(of).to_vec(), stream_work_requests, ..Script::default() }
}

/// All runs that kill the operator during one action, after an undisturbed run that counts its requests.
async fn every_run(kind: Kind, action: Action) -> Vec<Run> {
    let requests = Run { kind, action, strike: None }.make().await.len();
    let strikes = (1..=requests).flat_map(|nth| KillPoint::ALL.map(|when| (nth, when)));
    strikes.map(|strike| Run { kind, action, strike: Some(strike) }).collect()
}

async fn make_all(runs: Vec<Run>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let made = join_all(runs.into_iter().map(|run| {
        let places = Arc::clone(&places);
        tokio::spawn(async move {
            let _place = places.acquire().await.unwrap();
            run.make().await;
        })
    }));
    for run in made.await {
        run.unwrap();
    }
}

/// `cargo xtask crash-matrix` sets `PLIMSOLL_WHOLE`. Without it, some matrices run in full and the rest as a sample, whose
/// seed is printed and can be set in `PLIMSOLL_SEED`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_the_operator_is_killed_the_next_one_converges() {
    let is_whole = seed::is_whole();
    let (mut sure, mut rest) = (Vec::new(), Vec::new());
    for kind in [Kind::Queue, Kind::Stream, Kind::StreamWithBreadcrumb] {
        for action in [Action::Create, Action::Update, Action::Delete] {
            let runs = every_run(kind, action).await;
            eprint(&format!("{action:?} {kind:?}: {} requests", runs.len() / 2));
            if is_whole || (kind == Kind::Queue && action != Action::Update) {
                sure.extend(runs);
            } else {
                rest.extend(runs);
            }
        }
    }
    let seed = seed::choose("crash matrix");
    eprint(&format!(
        "crash matrix: {} runs, and {} of {} by the seed",
        sure.len(),
        SAMPLE.min(rest.len()),
        rest.len()
    ));
    let mut random = seed;
    for _ in 0..SAMPLE.min(rest.len()) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chosen = usize::try_from((random >> 33) % rest.len() as u64).unwrap();
        sure.push(rest.swap_remove(chosen));
    }
    make_all(sure).await;
}

/// A line for manual runs.
#[expect(clippy::print_stderr, reason = "the only way for a test to say which runs it made")]
fn eprint(line: &str) {
    eprintln!("{line}");
}
