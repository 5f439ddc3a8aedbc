//! A cluster that was restored from a backup is at an earlier version than what the operator has seen of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Selection, Session, Write};
use functions::{ServeOptions, Server, Transport};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::churn::is_away;
use crate::crash::maps;
use crate::fixture::{PATIENCE, apply, composition, connect, get, is_true, legacy_xrd, reference, until};
use crate::operators::{Operator, install};

const GROUP: &str = "restored.example.org";
const FUNCTION: &str = "function-restored";
const LOOK: Duration = Duration::from_millis(50);

fn claim(name: &str, letters: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "App",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"maps": letters},
    })
}

/// Asks for a claim, again while the server is not there.
async fn ask(session: &Session, claim: &Value) {
    let write = Write::by("person").force();
    while let Err(error) = session.apply_when_possible(&reference(claim), claim, write).await {
        assert!(is_away(&error), "{error:?}");
        tokio::time::sleep(LOOK).await;
    }
}

/// The claims by name, each with the letters of the maps that are there for it and stay.
async fn composed(session: &Session) -> BTreeMap<String, String> {
    let selection = |labels: &str| Selection { labels: Some(labels.to_owned()), ..Selection::default() };
    let maps = session.list(&"v1/ConfigMap".parse().unwrap(), &selection("crossplane.io/composite")).await;
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for map in maps.unwrap().items {
        let claim = map["metadata"]["labels"]["crossplane.io/claim-name"].as_str().unwrap_or_default();
        if map["metadata"]["deletionTimestamp"].is_null() {
            let letter = map["data"]["which"].as_str().unwrap_or_default();
            found.entry(claim.to_owned()).or_default().insert(letter.to_owned());
        }
    }
    found.into_iter().map(|(claim, letters)| (claim, letters.into_iter().collect())).collect()
}

async fn until_composed(session: &Session, wanted: &[(&str, &str)]) {
    let wanted: BTreeMap<String, String> =
        wanted.iter().map(|(claim, letters)| ((*claim).to_owned(), (*letters).to_owned())).collect();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let found = composed(session).await;
        if found == wanted {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{found:?} instead of {wanted:?}");
        tokio::time::sleep(LOOK).await;
    }
}

#[tokio::test]
async fn an_operator_follows_a_cluster_that_was_restored_to_an_earlier_version() {
    let sandbox = tokio::task::spawn_blocking(|| Sandbox::dedicated("restored")).await.unwrap();
    let session = connect(sandbox.kubeconfig(), "person");
    install(&session).await;
    let server = Server::bind(ServeOptions::new("127.0.0.1:0", Transport::Insecure)).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(maps, std::future::pending()));
    apply(&session, &composition(GROUP, GROUP, &[FUNCTION])).await;
    apply(&session, &legacy_xrd(GROUP)).await;
    let kubeconfig = sandbox.kubeconfig();
    let operator = Operator::start_with(functions, async move || {
        connect(kubeconfig, "plimsoll-operator").client().clone()
    });
    ask(&session, &claim("kept", "ab")).await;
    until(&session, &claim("kept", ""), "it is ready", |claim| is_true(claim, "Ready")).await;

    let mut control_plane = sandbox.api_server();
    let backup = control_plane.back_up();
    ask(&session, &claim("kept", "abc")).await;
    ask(&session, &claim("later", "xyz")).await;
    until_composed(&session, &[("kept", "abc"), ("later", "xyz")]).await;

    control_plane.restore(&backup);
    let session = connect(sandbox.kubeconfig(), "person");
    ask(&session, &claim("kept", "ad")).await;
    until_composed(&session, &[("kept", "ad")]).await;
    until(&session, &claim("kept", ""), "it is ready", |claim| is_true(claim, "Ready")).await;
    assert_eq!(get(&session, &claim("later", "")).await, None);
    // What is new after the restore is seen, too.
    ask(&session, &claim("later", "z")).await;
    until_composed(&session, &[("kept", "ad"), ("later", "z")]).await;
    operator.kill();
}
