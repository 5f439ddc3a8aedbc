//! Oracle's own SDK against the server: what works there works for every client of Oracle Cloud.

use std::process::Stdio;

use jiff::{SignedDuration, Timestamp};
use oraclecloud::key::GeneratedKey;

use crate::principals::Cluster;
use crate::*;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/sdk.py");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oracles_own_sdk_finds_what_it_expects() {
    let Some(python) = tokio::task::spawn_blocking(testkit::python::with_oci_sdk).await.unwrap() else {
        return;
    };
    // A key folder of its own, since a session is opened in it.
    let server = serve(Options { retry_after: Some(1), ..Options::default() }).await.unwrap();
    server.set_page_size(Some(1));
    let session = server.open_session(Timestamp::now() + SignedDuration::from_mins(30)).unwrap();
    let cluster = Cluster::before(&server, 4).await;
    let given = json!({
        "url": server.url(), "compartment": server.compartment(), "configFile": server.config_file(),
        "sessionFile": session, "metadata": server.metadata_url(), "clusterHost": cluster.host,
        "authority": cluster.file("ca.crt"), "unknownFingerprint": GeneratedKey::generate().unwrap().fingerprint,
    });
    let output = tokio::process::Command::new(python)
        .arg(SCRIPT)
        .arg(given.to_string())
        // A proxy of this machine has nothing to do with servers on it.
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let (said, trouble) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "after {said:?}:\n{trouble}");
    let seen: Vec<&str> = said.lines().collect();
    assert_eq!(seen, ["queues", "streams", "session token", "instance", "workload", "stranger"]);
}
