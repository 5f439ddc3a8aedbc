//! A wait that outlives its API server.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cluster::{Readiness, Session, Write};
use serde_json::json;
use tokio::sync::mpsc;
use wait::{Cut, Written, WrittenWait};

use super::*;

/// The API server of a sandbox of the test's own, whose supervisor is kept from noticing that it is gone.
struct ApiServer {
    supervisor: i32,
    pid: i32,
    /// The one that the test has started in its place.
    successor: Option<Child>,
}

impl ApiServer {
    fn of(sandbox: &Sandbox) -> Self {
        let status = sandbox.status();
        let program = status.programs.iter().find(|program| program.found.path.ends_with("kube-apiserver"));
        let pid = program.unwrap().pid.unwrap();
        let server = Self { supervisor: status.supervisor.unwrap(), pid, successor: None };
        send("STOP", server.supervisor);
        server
    }

    /// Kills it, and prepares another one with the same arguments.
    fn kill(&self) -> Command {
        let folder = std::fs::read_link(format!("/proc/{}/cwd", self.pid)).unwrap();
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap();
        let mut words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
        let mut again = Command::new(words.next().unwrap());
        again.args(words).current_dir(folder);
        again.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        send("KILL", self.pid);
        again
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(successor) = &mut self.successor {
            let _ended = successor.kill().and_then(|()| successor.wait());
        }
        send("CONT", self.supervisor);
    }
}

fn send(signal: &str, pid: i32) {
    let sent = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(sent.unwrap().success(), "{signal} reaches {pid}");
}

fn to(sandbox: &Sandbox) -> Session {
    let connection = Connection { config_paths: vec![sandbox.kubeconfig()], ..Connection::default() };
    Session::connect(&connection, &Environment::default(), "plimsoll-cluster-tests").unwrap()
}

#[tokio::test]
async fn a_wait_goes_on_when_the_api_server_is_killed_and_comes_back() {
    let sandbox = Sandbox::own("outage", |_| {});
    let (session, namespace) = (to(&sandbox), sandbox.namespace("outage").await);
    let state = |state: &str| config_map(&namespace, "a", &json!({ "state": state }));
    let target = reference(&state("cold"));
    session.apply(&target, &state("cold"), Write::by("us")).await.unwrap();

    let written = WrittenWait {
        field_value: Written::Known([("data.state".to_owned(), "warm".to_owned())].into()),
        timeout: Written::Known("10m".to_owned()),
        ..WrittenWait::default()
    };
    let wait = written.parse(None, Cut::Root).wait.unwrap();
    let (heard, mut reasons) = mpsc::unbounded_channel();
    let waiting = session.wait_for(&target, &wait, |why| drop(heard.send(why.to_owned())));
    let outage = async {
        assert_eq!(reasons.recv().await.unwrap(), "field \"data.state\" is \"cold\", not \"warm\"");
        let mut server = ApiServer::of(&sandbox);
        let mut again = server.kill();
        // Gone for everybody: also a client without retries of ours gets no answer.
        let error = to(&sandbox).read(&target).await.unwrap_err();
        assert_eq!(error.class(), cluster::Class::ConnectionFailed);
        let place = sandbox.status().server.clone();
        assert_eq!(error.server(), Some(place.as_str()), "the message says which server");

        server.successor = Some(again.spawn().unwrap());
        while let Err(error) = session.apply(&target, &state("warm"), Write::by("us")).await {
            assert!(is_coming_up(&error), "{error:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        server
    };
    let (readiness, _server) = tokio::join!(waiting, outage);
    assert!(matches!(readiness.unwrap(), Readiness::Met { .. }));
}

/// What a server says until it has read who may do what.
fn is_coming_up(error: &cluster::Error) -> bool {
    error.is_server_trouble()
        || matches!(
            error.class(),
            cluster::Class::InsufficientPermissions | cluster::Class::AuthenticationFailed
        )
}
