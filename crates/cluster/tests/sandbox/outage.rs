//! A wait that survives the restart of its API server.

use std::time::Duration;

use cluster::{Readiness, Session, Write};
use readiness::{Cut, Written, WrittenWait};
use serde_json::json;
use tokio::sync::mpsc;

use super::*;

fn to(sandbox: &Sandbox) -> Session {
    let connection = Connection { config_paths: vec![sandbox.kubeconfig()], ..Connection::default() };
    Session::connect(&connection, &Environment::default(), "plimsoll-cluster-tests").unwrap()
}

#[tokio::test]
async fn a_wait_survives_a_restart_of_the_api_server() {
    let sandbox = Sandbox::dedicated("outage");
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
        let mut server = sandbox.api_server();
        server.kill();
        // Down for every client: one without our retries gets no response either.
        let error = to(&sandbox).read(&target).await.unwrap_err();
        assert_eq!(error.class(), cluster::Class::ConnectionFailed);
        let place = sandbox.status().server.clone();
        assert_eq!(error.server(), Some(place.as_str()), "the message says which server");

        server.start();
        while let Err(error) = session.apply(&target, &state("warm"), Write::by("us")).await {
            assert!(is_starting(&error), "{error:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        server
    };
    let (readiness, _server) = tokio::join!(waiting, outage);
    assert!(matches!(readiness.unwrap(), Readiness::Met { .. }));
}

/// The response of a server that has not loaded its RBAC rules yet.
fn is_starting(error: &cluster::Error) -> bool {
    error.is_server_fault()
        || matches!(
            error.class(),
            cluster::Class::InsufficientPermissions | cluster::Class::AuthenticationFailed
        )
}
