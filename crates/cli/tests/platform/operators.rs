//! With no operator, with one that is killed, and with one that nothing certifies requests for: a cluster of its own.

use std::process::{Child, Command, Stdio};

use cluster::{Session, Write};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{
    PATIENCE, apply, connect, in_one_line, is_true, map, reference, serve, until, with_input,
};

/// The operator as a process.
struct Operator(Child);

impl Operator {
    fn start(sandbox: &Sandbox, endpoint: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(["operator", "--controllers=composition", "--install-crds", "--metrics-address=off"])
            .args(["--health-address=off", &format!("--function=function-app={endpoint}")])
            .env("KUBECONFIG", sandbox.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _gone = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn run(sandbox: &Sandbox, arguments: &[&str], input: &Value) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .env("KUBECONFIG", sandbox.kubeconfig())
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1");
    let output = with_input(command, &input.to_string());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("exit {}\n{}{}", output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn xrd() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xapps.example.org"},
        "spec": {
            "group": "example.org", "scope": "Namespaced", "names": {"kind": "XApp", "plural": "xapps"},
            "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string"}}}},
            }}}],
        },
    })
}

fn composition(input: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "app"},
        "spec": {
            "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "XApp"}, "mode": "Pipeline",
            "pipeline": [{"step": "render", "functionRef": {"name": "function-app"}, "input": input}],
        },
    })
}

fn input(value: &str, wait: Option<&str>) -> Value {
    json!({
        "apiVersion": "test.example.org/v1", "kind": "Input", "waitFor": wait,
        "resources": {"settings": map(&json!({"v": value}))},
    })
}

fn xr(name: &str) -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "XApp",
        "metadata": {"namespace": "default", "name": name}, "spec": {"size": "small"},
    })
}

/// Waits until the API server no longer enforces the policy, which takes it a moment.
async fn until_uncertified(session: &Session) {
    let forged = json!({
        "apiVersion": "plimsoll.dev/v1alpha1", "kind": "Request",
        "metadata": {"namespace": "default", "name": "forged"},
        "spec": {"operation": "Plan", "requester": {"username": "another"}, "key": "", "question": "", "timeoutSeconds": 1},
    });
    let write = Write::by("person").dry_run();
    let accepted = async { while session.create(&reference(&forged), &forged, write).await.is_err() {} };
    tokio::time::timeout(PATIENCE, accepted).await.expect("the policy is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_come_and_go() {
    let sandbox = Sandbox::dedicated("platform");
    let session = connect(&sandbox.kubeconfig());

    // Before anything is installed, there is no such kind.
    let shown = run(&sandbox, &["inspect", "xapp/a"], &Value::Null);
    assert!(shown.starts_with("exit 1\n") && shown.contains("error[kind-unknown]"), "{shown}");

    let endpoint = serve().await;
    let operator = Operator::start(&sandbox, &endpoint);
    apply(&session, &composition(&input("1", None))).await;
    apply(&session, &xrd()).await;
    apply(&session, &xr("a")).await;
    until(&session, &xr("a"), "it is ready", |xr| is_true(xr, "Ready")).await;
    let shown = run(&sandbox, &["plan", "-f", "-"], &composition(&input("2", None)));
    assert!(shown.contains("the only XR changes ConfigMap.data.v\n"), "{shown}");

    // An operator that is killed while it works, and its successor.
    let slow = composition(&input("2", Some("a")));
    let kubeconfig = sandbox.kubeconfig();
    let planning = std::thread::spawn(move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(["plan", "-f", "-"])
            .env("KUBECONFIG", kubeconfig)
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1");
        with_input(command, &slow.to_string())
    });
    crate::fixture::until_request_is(&session, "default", "Running").await;
    drop(operator);
    let operator = Operator::start(&sandbox, &endpoint);
    let output = planning.join().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("the only XR changes ConfigMap.data.v\n"), "{shown}");
    assert_eq!(output.status.code(), Some(2));

    // Without the policy that certifies requests, the operator answers nothing.
    let policy = sandbox.kubectl(&["delete", "validatingadmissionpolicybinding", "plimsoll-requests"]);
    assert!(policy.status.success());
    until_uncertified(&session).await;
    let shown = run(&sandbox, &["inspect", "xapp/a"], &Value::Null);
    assert!(shown.starts_with("exit 1\n") && shown.contains("error[operator-refused]"), "{shown}");
    assert!(
        in_one_line(&shown).contains("ValidatingAdmissionPolicy plimsoll-requests or its binding is missing"),
        "{shown}"
    );

    // No operator answers any more.
    drop(operator);
    let shown = run(&sandbox, &["plan", "-f", "-"], &composition(&input("2", None)));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(shown.contains("the only XR is not known\n"), "{shown}");
    let line = in_one_line(&shown);
    assert!(line.contains("error[operator-silent]: cannot preview 1 XR"), "{shown}");
    assert!(
        line.contains("No operator accepted the request. Within 10 s, none has taken the request up."),
        "{shown}"
    );
    let shown = run(&sandbox, &["inspect", "xapp/a"], &Value::Null);
    assert!(shown.contains("error[operator-silent]: no operator accepted the request"), "{shown}");
    // The command renders by itself, if it knows where functions are.
    let address = format!("function-app={endpoint}");
    let shown = run(&sandbox, &["plan", "-f", "-", "--function", &address], &composition(&input("2", None)));
    assert!(shown.contains("the only XR changes ConfigMap.data.v\n"), "{shown}");
    // Without the kind of requests, an older operator may run.
    let gone = sandbox.kubectl(&["delete", "crd", "requests.plimsoll.dev"]);
    assert!(gone.status.success());
    let shown = run(&sandbox, &["inspect", "xapp/a"], &Value::Null);
    assert!(
        shown.contains("error[operator-silent]: no operator answers requests in this cluster"),
        "{shown}"
    );
}
