//! Oracle's own SDK against the emulator, to show that other clients of Oracle Cloud work as well.

use std::process::Stdio;

use jiff::{SignedDuration, Timestamp};
use oraclecloud::key::GeneratedKey;

use crate::principals::Cluster;
use crate::*;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/sdk.py");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oracles_own_sdk_works() {
    let Some(python) = tokio::task::spawn_blocking(testkit::python::with_oci_sdk).await.unwrap() else {
        return;
    };
    // A temporary key folder, because a session is opened in it.
    let server = serve(Options { retry_after: Some(1), ..Options::default() }).await.unwrap();
    server.set_page_size(Some(1));
    let session = server.open_session(Timestamp::now() + SignedDuration::from_mins(30)).unwrap();
    let cluster = Cluster::start(&server, 4).await;
    let settings = json!({
        "url": server.url(), "compartment": server.compartment(), "configFile": server.config_file(),
        "sessionFile": session, "metadata": server.metadata_url(), "clusterHost": cluster.host,
        "authority": cluster.file("ca.crt"), "unknownFingerprint": GeneratedKey::generate().unwrap().fingerprint,
    });
    let output = tokio::process::Command::new(python)
        .arg(SCRIPT)
        .arg(settings.to_string())
        // A configured proxy must not intercept local servers.
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "after {stdout:?}:\n{stderr}");
    let done: Vec<&str> = stdout.lines().collect();
    assert_eq!(done, ["queues", "streams", "session token", "instance", "workload", "unknown key"]);
}
