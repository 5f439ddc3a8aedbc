//! The operator is killed between any two writes of a reconcile; the next one completes the work without duplicates.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Selection, Session};
use composition::protocol::RunRequest;
use functions::{FunctionError, RunResponse, ServeOptions, Server, Transport, response};
use serde_json::{Value, json};
use testkit::{Sandbox, seed};

use crate::fixture::{PATIENCE, apply, composition, delete, get, is_true, legacy_xrd, until, until_gone};
use crate::operators::{Last, Operator, When, alone};
use crate::platform::{asked_text, desire, map};

const GROUP: &str = "crash.example.org";
const FUNCTION: &str = "function-crash";
/// More writes than a reconcile makes: the matrix ends with the first run in which no operator is killed.
const MOST_WRITES: usize = 40;
/// How often the state is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Composes a map for each letter the XR asks for.
pub(crate) async fn maps(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    for letter in asked_text(&request, "maps").chars().map(String::from) {
        desire(&mut rsp, &letter, map(&json!({"which": letter})));
    }
    response::condition_true(&mut rsp, "DatabaseReady", "Available").target_composite_and_claim();
    Ok(rsp)
}

/// What an operator is doing when it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compose {
    /// A claim is new.
    First,
    /// One of two maps is replaced by another.
    Exchange,
    /// The claim goes.
    Delete,
    /// The XRD goes, and all that it defined.
    Undefine,
}

/// What there is of a claim.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    is_ready: Option<bool>,
    xrs: usize,
    maps: String,
    are_referred_to: bool,
}

impl Seen {
    fn wanted(maps: &str) -> Self {
        let is_there = !maps.is_empty();
        Self {
            is_ready: is_there.then_some(true),
            xrs: usize::from(is_there),
            maps: maps.to_owned(),
            are_referred_to: true,
        }
    }
}

struct Matrix {
    sandbox: &'static Sandbox,
    session: Session,
    functions: BTreeMap<String, String>,
}

impl Matrix {
    async fn new(sandbox: &'static Sandbox) -> Self {
        let options = ServeOptions::new("127.0.0.1:0", Transport::Insecure);
        let server = Server::bind(options).await.unwrap();
        let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
        tokio::spawn(server.run(maps, std::future::pending()));
        let session = Session::new(sandbox.client().await);
        apply(&session, &composition("crash", GROUP, &[FUNCTION])).await;
        let xrd = apply(&session, &legacy_xrd(GROUP)).await;
        let operator = Operator::start(sandbox, functions.clone(), None);
        until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;
        operator.kill();
        Self { sandbox, session, functions }
    }

    /// One compose whose operator dies at the `nth` write; whether it had that many.
    async fn check(&self, compose: Compose, nth: usize, when: When) -> bool {
        let name = format!("{compose:?}-{nth}-{when:?}").to_lowercase();
        let group =
            if compose == Compose::Undefine { format!("{name}.example.org") } else { GROUP.to_owned() };
        if compose == Compose::Undefine {
            apply(&self.session, &composition(&group, &group, &[FUNCTION])).await;
            apply(&self.session, &legacy_xrd(&group)).await;
        }
        let claim = |maps: &str| {
            json!({
                "apiVersion": format!("{group}/v1"), "kind": "App",
                "metadata": {"name": name, "namespace": "default"}, "spec": {"maps": maps},
            })
        };
        if compose != Compose::First {
            let operator = Operator::start(self.sandbox, self.functions.clone(), None);
            apply(&self.session, &claim("ab")).await;
            self.until_composed(&claim("ab"), "ab").await;
            operator.kill();
        }
        // The names of the XR and its children begin with the claim's; what the operator does for others does not count.
        let last = Last::new(nth, when, &name);
        let operator = Operator::start(self.sandbox, self.functions.clone(), Some(last.clone()));
        let (maps, claim) = match compose {
            Compose::First => ("ab", apply(&self.session, &claim("ab")).await),
            Compose::Exchange => ("bc", apply(&self.session, &claim("bc")).await),
            Compose::Delete => {
                delete(&self.session, &claim("ab")).await;
                ("", claim("ab"))
            }
            Compose::Undefine => {
                delete(&self.session, &legacy_xrd(&group)).await;
                ("", claim("ab"))
            }
        };
        let done = async || match compose {
            Compose::Undefine => self.until_undefined(&claim, &legacy_xrd(&group)).await,
            _ => self.until_composed(&claim, maps).await,
        };
        let died = tokio::select! {
            () = last.struck() => true,
            () = done() => false,
        };
        operator.kill();
        let successor = Operator::start(self.sandbox, self.functions.clone(), None);
        done().await;
        successor.kill();
        died
    }

    /// Waits until the XRD and the composed resources of its XRs are gone. Once the kind of their owner is gone, no
    /// controller would delete them.
    async fn until_undefined(&self, claim: &Value, xrd: &Value) {
        until_gone(&self.session, xrd).await;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let left = self.found(claim, "v1/ConfigMap").await;
            if left.is_empty() {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "{left:#?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until there is one XR with exactly these maps, all of them named where they should be, and the claim is ready; or
    /// neither claim nor XR, if there are to be no maps. What is one too many never goes away.
    async fn until_composed(&self, claim: &Value, maps: &str) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let seen = self.look(claim).await;
            if seen == Seen::wanted(maps) {
                return;
            }
            let in_time = tokio::time::Instant::now() < deadline;
            assert!(in_time, "{}: {seen:?} instead of {maps:?}", claim["metadata"]["name"]);
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look(&self, claim: &Value) -> Seen {
        let xrs = self.found(claim, &format!("{}/XApp", claim["apiVersion"].as_str().unwrap())).await;
        let refs =
            xrs.iter().flat_map(|xr| xr["spec"]["resourceRefs"].as_array().cloned().unwrap_or_default());
        let refs: BTreeSet<String> = refs.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        let maps = self.found(claim, "v1/ConfigMap").await;
        // What is no longer desired is being deleted when the references no longer name it.
        let maps: Vec<&Value> =
            maps.iter().filter(|map| map["metadata"].get("deletionTimestamp").is_none()).collect();
        let mut letters: Vec<&str> = maps.iter().map(|map| map["data"]["which"].as_str().unwrap()).collect();
        letters.sort_unstable();
        let names = maps.iter().map(|map| map["metadata"]["name"].as_str().unwrap().to_owned());
        let claim = get(&self.session, claim).await;
        Seen {
            is_ready: claim.map(|claim| is_true(&claim, "Ready") && is_true(&claim, "DatabaseReady")),
            xrs: xrs.len(),
            // The garbage collector takes what an XR that is gone was composed of, in its own time.
            maps: if xrs.is_empty() { String::new() } else { letters.concat() },
            are_referred_to: xrs.is_empty() || refs == names.collect(),
        }
    }

    /// The composed resources of this kind for a claim. Selected by name prefix, because the label is removed before a
    /// resource that is no longer desired is deleted.
    async fn found(&self, claim: &Value, gvk: &str) -> Vec<Value> {
        let all = self.session.list(&gvk.parse().unwrap(), &Selection::default()).await.unwrap().items;
        let beginning = format!("{}-", claim["metadata"]["name"].as_str().unwrap());
        let is_its = |object: &Value| object["metadata"]["name"].as_str().unwrap().starts_with(&beginning);
        all.into_iter().filter(is_its).collect()
    }
}

/// At every write when all of it is asked for, at five of them otherwise.
#[tokio::test]
async fn a_composition_converges_wherever_its_operator_is_killed() {
    let (sandbox, _turn) = alone().await;
    let matrix = Matrix::new(sandbox).await;
    if !seed::is_whole() {
        let seed = usize::try_from(seed::choose("composition crash matrix") % 60).unwrap();
        // One early, where names are chosen and references stored, and one late, where children are there.
        assert!(matrix.check(Compose::First, 1 + seed % 5, When::After).await);
        assert!(matrix.check(Compose::First, 6 + seed % 3, When::Before).await);
        assert!(matrix.check(Compose::Exchange, 1 + seed % 5, When::After).await);
        assert!(matrix.check(Compose::Delete, 1 + seed % 2, When::Before).await);
        assert!(matrix.check(Compose::Undefine, 1 + seed % 10, When::After).await);
        return;
    }
    let composes =
        [(Compose::First, 8), (Compose::Exchange, 6), (Compose::Delete, 2), (Compose::Undefine, 10)];
    for (compose, fewest) in composes {
        for when in [When::Before, When::After] {
            let mut nth = 1;
            while matrix.check(compose, nth, when).await {
                nth += 1;
                assert!(nth < MOST_WRITES, "a compose has no end");
            }
            assert!(nth > fewest, "{compose:?} had only {} writes", nth - 1);
            println!("{compose:?}, {when:?}: {} writes survived", nth - 1);
        }
    }
}
