//! The operator dies between any two writes of a compose; the next one finishes what it began, without a second of anything.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};

use cluster::{Selection, Session};
use compose::run::RunRequest;
use functions::{FunctionError, RunResponse, ServeOptions, Server, response};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{apply, composition, is_true, legacy_xrd, until};
use crate::operators::{Last, Operator, When, alone};
use crate::platform::{desire, map};

const GROUP: &str = "crash.example.org";
const FUNCTION: &str = "function-crash";
/// More writes than a compose has; the matrix ends where no operator dies any more.
const MOST_WRITES: usize = 40;

async fn two(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    desire(&mut rsp, "a", map(&json!({"which": "a"})));
    desire(&mut rsp, "b", map(&json!({"which": "b"})));
    response::condition_true(&mut rsp, "DatabaseReady", "Available").target_composite_and_claim();
    Ok(rsp)
}

struct Matrix {
    sandbox: &'static Sandbox,
    session: Session,
    functions: BTreeMap<String, String>,
}

impl Matrix {
    async fn new(sandbox: &'static Sandbox) -> Self {
        let options = ServeOptions { address: "127.0.0.1:0".to_owned(), ..ServeOptions::default() };
        let server = Server::bind(options).await.unwrap();
        let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
        tokio::spawn(server.run(two, std::future::pending()));
        let session = Session::new(sandbox.client().await);
        apply(&session, &composition("crash", GROUP, &[FUNCTION])).await;
        let xrd = apply(&session, &legacy_xrd(GROUP)).await;
        let operator = Operator::start(sandbox, functions.clone(), None);
        until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;
        operator.kill();
        Self { sandbox, session, functions }
    }

    /// One compose whose operator dies at the `nth` write; whether it had that many.
    async fn check(&self, nth: usize, when: When) -> bool {
        let name = format!("crash-{nth}-{}", format!("{when:?}").to_lowercase());
        let claim = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "App",
            "metadata": {"name": name, "namespace": "default"}, "spec": {},
        });
        // The names of the XR and its children begin with the claim's; what the operator does for others does not count.
        let last = Last::new(nth, when, &name);
        let operator = Operator::start(self.sandbox, self.functions.clone(), Some(last.clone()));
        apply(&self.session, &claim).await;
        let ready = |claim: &Value| is_true(claim, "Ready") && is_true(claim, "DatabaseReady");
        let died = tokio::select! {
            () = last.struck() => true,
            _ = until(&self.session, &claim, "it is ready", ready) => false,
        };
        operator.kill();
        let successor = Operator::start(self.sandbox, self.functions.clone(), None);
        let claim = until(&self.session, &claim, "it is ready after all", ready).await;
        self.check_whole(&claim, nth, when).await;
        successor.kill();
        died
    }

    /// One XR, and its two children, and all of them named where they should be.
    async fn check_whole(&self, claim: &Value, nth: usize, when: When) {
        let name = claim["metadata"]["name"].as_str().unwrap();
        let found = async |gvk: String| {
            let labels = Some(format!("crossplane.io/claim-name={name}"));
            let selection = Selection { labels, ..Selection::default() };
            self.session.list(&gvk.parse().unwrap(), &selection).await.unwrap().items
        };
        let names = |objects: &[Value]| -> BTreeSet<String> {
            objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
        };
        let xrs = found(format!("{GROUP}/v1/XApp")).await;
        let reference = claim["spec"]["resourceRef"]["name"].as_str().unwrap().to_owned();
        assert_eq!(names(&xrs), BTreeSet::from([reference]), "write {nth}, {when:?}");
        let maps = found("v1/ConfigMap".to_owned()).await;
        let refs = xrs[0]["spec"]["resourceRefs"].as_array().unwrap();
        let refs: BTreeSet<String> =
            refs.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!((names(&maps), maps.len()), (refs, 2), "write {nth}, {when:?}");
    }
}

/// At every write when all of it is asked for, at two of them otherwise.
#[tokio::test]
async fn a_compose_survives_the_death_of_its_operator_at_any_write() {
    let (sandbox, _turn) = alone().await;
    let matrix = Matrix::new(sandbox).await;
    if std::env::var_os("PLIMSOLL_WHOLE").is_none() {
        let seed = RandomState::new().hash_one("seed") % 10;
        println!("seed {seed}");
        // One early, where names are chosen and references stored, and one late, where children are there.
        let early = 1 + usize::try_from(seed % 5).unwrap();
        let late = 6 + usize::try_from(seed % 3).unwrap();
        assert!(matrix.check(early, When::After).await);
        assert!(matrix.check(late, When::Before).await);
        return;
    }
    for when in [When::Before, When::After] {
        let mut nth = 1;
        while matrix.check(nth, when).await {
            nth += 1;
            assert!(nth < MOST_WRITES, "a compose has no end");
        }
        assert!(nth > 8, "a compose had only {} writes", nth - 1);
        println!("{when:?}: {} writes survived", nth - 1);
    }
}
