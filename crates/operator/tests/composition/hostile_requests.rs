//! Requests of users who may do nothing but ask: they neither end the operator nor keep it from answering others.

use cluster::{Connection, Environment, Impersonate, PatchType, Session, Write};
use functions::{FunctionError, RunRequest, RunResponse};
use operator::composition::requests::{OpeningKey, Operation, RequestSpec, pack, requester};
use serde_json::{Value, json};
use testkit::Sandbox;
use tokio::sync::Semaphore;

use crate::fixture::{PATIENCE, apply, reference, session, until, until_gone, world};
use crate::operators::{Offer, alone};

/// The name of the user who may write requests in a namespace.
pub(crate) fn user_of(namespace: &str) -> String {
    format!("asking-in-{namespace}")
}

/// A user who may write requests in a namespace, and do nothing else.
pub(crate) async fn asking(namespace: &str) -> Session {
    let user = user_of(namespace);
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
        "metadata": {"namespace": namespace, "name": "asks"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "plimsoll-requests"},
        "subjects": [{"kind": "User", "apiGroup": group, "name": user}],
    });
    apply(&session(), &binding).await;
    acting(user)
}

fn acting(user: String) -> Session {
    let impersonate = Impersonate { user: Some(user), ..Impersonate::default() };
    let connection = Connection {
        config_paths: vec![Sandbox::shared().kubeconfig()],
        impersonate: Some(impersonate),
        ..Connection::default()
    };
    Session::connect(&connection, &Environment::default(), "plimsoll-tests").unwrap()
}

/// A request for a plan by the user of `session`, not written yet.
async fn request(session: &Session, namespace: &str, name: &str, question: &Value) -> Value {
    let key = OpeningKey::new().unwrap().public();
    request_with(session, namespace, name, question, key).await
}

/// The same, with the key that its answer is encrypted for.
pub(crate) async fn request_with(
    session: &Session,
    namespace: &str,
    name: &str,
    question: &Value,
    key: String,
) -> Value {
    let spec = RequestSpec {
        operation: Operation::Plan,
        requester: requester(session).await.unwrap(),
        key,
        question: pack(question).unwrap(),
        timeout_seconds: 30,
    };
    json!({
        "apiVersion": "plimsoll.dev/v1alpha1", "kind": "Request",
        "metadata": {"namespace": namespace, "name": name}, "spec": spec,
    })
}

pub(crate) async fn create(session: &Session, request: &Value) -> Result<Value, String> {
    let created = session.create(&reference(request), request, Write::by("person")).await;
    created.map(|reply| reply.object).map_err(|error| error.status().unwrap().message.clone())
}

pub(crate) fn is_done(request: &Value) -> bool {
    request["status"]["state"].as_str().is_some_and(|state| state != "Running")
}

/// A question about XRs that do not exist, with a changed Composition of this content.
fn question(content: &Value, xrs: usize) -> Value {
    let named = |at: usize| json!({"apiVersion": "e.org/v1", "kind": "X", "name": format!("x{at}")});
    let changed = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "a"},
        "spec": content,
    });
    json!({"changed": [changed], "xrs": (0..xrs).map(named).collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_question_is_limited_before_anything_is_done_for_it() {
    world();
    let namespace = Sandbox::shared().namespace("hostile").await;
    let (hostile, name) = (asking(namespace.name()).await, namespace.name());
    let check = async |test: &str, question: &Value, expected: &str| {
        let request = request(&hostile, name, test, question).await;
        create(&hostile, &request).await.unwrap();
        let done = until(&session(), &request, "it is answered", is_done).await;
        assert_eq!(done["status"]["state"], "Refused", "{test}: {done:#}");
        let message = done["status"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{test}: {message}");
    };
    let zeros = |count: usize| json!({"a": vec![0; count]});
    check("bomb", &question(&zeros(3_000_000), 1), "it is larger than 4194304 bytes").await;
    check("values", &question(&zeros(2_000_000), 1), "it has too many values").await;
    check("maps", &question(&json!(vec![json!({"": 0}); 100_000]), 1), "it has too many values").await;
    check("xrs", &question(&json!({}), 101), "the request names 101 XRs, and the limit is 100").await;
    check("nothing", &json!({"changed": [], "xrs": []}), "the request names no changed Composition").await;
    check("no-rights", &question(&json!({}), 100), "requires permission to apply it").await;
    for seconds in [-1, 0, 3601] {
        let mut request = request(&hostile, name, "time", &question(&json!({}), 1)).await;
        request["spec"]["timeoutSeconds"] = seconds.into();
        let refused = create(&hostile, &request).await.unwrap_err();
        assert!(refused.contains("spec.timeoutSeconds"), "{refused}");
    }
}

#[tokio::test]
async fn users_with_the_right_delete_a_request_and_none_changes_it() {
    world();
    let namespace = Sandbox::shared().namespace("requested").await;
    let author = asking(namespace.name()).await;
    let mut request = request(&author, namespace.name(), "asked", &question(&json!({}), 1)).await;
    create(&author, &request).await.unwrap();
    until(&session(), &request, "it is answered", is_done).await;
    let change = json!({"spec": {"requester": {"username": "another"}}});
    let changed = session().patch(&reference(&request), PatchType::Merge, &change, Write::by("person")).await;
    let refused = changed.unwrap_err().status().unwrap().message.clone();
    assert!(refused.contains("spec cannot be changed"), "{refused}");
    // The garbage collector writes it, which is another user.
    let how = ["delete", "requests.plimsoll.dev", "asked", "--cascade=foreground", "--timeout=60s"];
    namespace.kubectl(&how).unwrap();
    until_gone(&session(), &request).await;
    request["spec"]["requester"]["username"] = "another".into();
    let forged = create(&author, &request).await.unwrap_err();
    assert!(forged.contains("spec.requester.username must be the user who writes the request"), "{forged}");
}

/// Whether the function has been called.
static CALLED: Semaphore = Semaphore::const_new(0);

async fn hanging(_: RunRequest) -> Result<RunResponse, FunctionError> {
    CALLED.add_permits(1);
    std::future::pending().await
}

/// Waits until requests are certified, and until a request is younger than what certifies it.
async fn certified(session: &Session, namespace: &str) {
    let mut forged = request(session, namespace, "forged", &json!({})).await;
    forged["spec"]["requester"]["username"] = "another".into();
    let target = reference(&forged);
    let accepted = || session.create(&target, &forged, Write::by("person").dry_run());
    let denied = async { while accepted().await.is_ok() {} };
    tokio::time::timeout(PATIENCE, denied).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
}

#[tokio::test]
async fn a_request_holds_its_turn_for_as_long_as_it_says_and_is_taken_over_once() {
    let (sandbox, _turn) = alone().await;
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/requests.yaml");
    assert!(sandbox.kubectl(&["apply", "-f", policy]).status.success());
    let offer = Offer::with(sandbox, "hanging", hanging).await;
    let session = &offer.session;
    certified(session, "default").await;
    let xr = offer.object("XApp", None, "a");
    let question = json!({"xr": {
        "apiVersion": xr["apiVersion"], "kind": "XApp", "name": xr["metadata"]["name"],
    }});
    let inspect = async |name: &str| {
        let mut request = request(session, "default", name, &question).await;
        request["spec"]["operation"] = "Inspect".into();
        request
    };

    // It has ended two operators.
    let fatal = inspect("fatal").await;
    create(session, &fatal).await.unwrap();
    let status = json!({"status": {"state": "Running", "operator": "gone", "beats": 1, "takeovers": 1}});
    session.patch_at(&reference(&fatal), "status", &status, Write::by("plimsoll-operator")).await.unwrap();
    let operator = offer.start();
    apply(session, &xr).await;
    tokio::time::timeout(PATIENCE, CALLED.acquire()).await.unwrap().unwrap().forget();
    // The pass that they wait for does not come while this one lasts.
    let mut held = Vec::new();
    for at in 0..5 {
        let mut slow = inspect(&format!("slow-{at}")).await;
        slow["spec"]["timeoutSeconds"] = 2.into();
        create(session, &slow).await.unwrap();
        held.push(slow);
    }
    for slow in &held {
        let done = until(session, slow, "its time is over", is_done).await;
        let message = done["status"]["message"].as_str().unwrap_or_default();
        assert_eq!(message, "the request was not answered within its timeoutSeconds, 2 s", "{done:#}");
    }
    let done = until(session, &fatal, "it is given up", is_done).await;
    let message = done["status"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("two copies of the operator have ended while they worked on"), "{done:#}");
    operator.kill();
}
