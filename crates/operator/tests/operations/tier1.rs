//! The kinds that are installed by default, end to end: created, changed, moved and deleted by users of a real API server.

use futures::future::join_all;
use operations::Schedule;
use oraclecloud::kind::Embedded;
use oraclecloud::{Catalogue, Kind};
use oraclecloud_emulator::Script;
use serde_json::{Value, json};
use testkit::seed;

use super::bench::{Bench, at_home, condition, ocid, quick, secret, text};
use super::objects::{LOGIN, object};

/// What `cargo test` runs: one of each shape. `cargo xtask full` runs all.
const SAMPLE: [&str; 8] = [
    "apigateway/Deployment",
    "containerengine/NodePool",
    "database/AutonomousDatabase",
    "databasemigration/Connection",
    "dataflow/Application",
    "nosql/Table",
    "objectstorage/Bucket",
    "vault/Secret",
];

fn named(kind: Kind) -> String {
    format!("{}-{}", kind.service.name, kind.name.to_lowercase())
}

/// The resource of an object at the cloud.
fn resource(bench: &Bench, object: &Value) -> Value {
    let id = ocid(object);
    let mut all = bench.server.resources().into_iter();
    all.find(|it| it["id"] == json!(id)).unwrap_or_else(|| panic!("there is no {id}"))
}

async fn lives(bench: &Bench, kind: Kind) {
    let home = bench.server.compartment();
    let made = bench.apply(&object(kind, &named(kind), home)).await;
    let ready = bench.until_ready(&made).await;
    let settled = |it: &Value| {
        condition(it, "Progressing")["status"] == "False" && condition(it, "Ready")["status"] == "True"
    };
    let tagged = kind.spec.get("freeformTags").is_some_and(|field| field.update);
    if tagged {
        bench.change(&made, &json!({"spec": {"freeformTags": {"team": "web"}}})).await;
        let changed = bench
            .until(&made, "changed", |it| settled(it) && it["status"]["freeformTags"]["team"] == "web")
            .await;
        assert_eq!(ocid(&changed), ocid(&ready), "{kind:?}");
    }
    if kind.change_compartment.is_some() {
        bench.change(&made, &json!({"spec": {"compartmentId": "ocid1.compartment.oc1..elsewhere"}})).await;
        let moved = bench
            .until(&made, "moved", |it| {
                settled(it)
                    && it["status"]["status"]["binding"]["scope"]["compartmentId"]
                        == "ocid1.compartment.oc1..elsewhere"
            })
            .await;
        assert_eq!(resource(bench, &moved)["compartmentId"], "ocid1.compartment.oc1..elsewhere", "{kind:?}");
    }
    let name = text(&made["metadata"]["name"]);
    let target = format!("{}.{}/{name}", kind.plural, kind.group());
    bench.namespace.kubectl(&["delete", "--wait=false", &target]).unwrap();
    bench.until_gone(&made).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_that_is_installed_by_default_is_created_changed_moved_and_deleted() {
    let bench = Bench::with("tier1", Script::default(), quick(), at_home).await;
    bench.apply(&secret(LOGIN, &[("password", "hunter2")])).await;
    let kinds: Vec<Kind> = if seed::is_whole() {
        Catalogue::standard().kinds().to_vec()
    } else {
        SAMPLE.iter().map(|path| Embedded::kind(path).unwrap()).collect()
    };
    join_all(kinds.iter().map(|kind| lives(&bench, *kind))).await;
    for kind in &kinds {
        let creates = bench.effects(oraclecloud_emulator::Operation::named(&kind.create.name));
        let same = kinds.iter().filter(|other| other.create.name == kind.create.name).count();
        assert_eq!(creates, same, "{kind:?}");
    }
    let gone = ["DELETED", "TERMINATED", "PENDING_DELETION"];
    let living = bench.server.resources().into_iter();
    let living: Vec<Value> =
        living.filter(|it| !gone.iter().any(|state| it["lifecycleState"] == *state)).collect();
    assert_eq!(living, Vec::<Value>::new(), "orphans");
    let everything = bench.namespace.kubectl(&["get", "events", "-o", "yaml"]).unwrap();
    assert!(!everything.contains("hunter2"), "a password is in no event");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_is_rotated_is_sent_again_and_never_shown() {
    let bench = Bench::with("rotated", Script::default(), quick(), at_home).await;
    let kind = Embedded::kind("database/AutonomousDatabase").unwrap();
    bench.apply(&secret(LOGIN, &[("adminPassword", "hunter2"), ("password", "not this one")])).await;
    let made = bench.apply(&object(kind, "first", bench.server.compartment())).await;
    let ready = bench.until_ready(&made).await;
    let sent = text(&ready["status"]["status"]["sent"]["adminPassword"]);
    assert_eq!(bench.server.secrets(&ocid(&ready)), [("adminPassword".to_owned(), "hunter2".to_owned())]);
    bench.apply(&secret(LOGIN, &[("adminPassword", "hunter3")])).await;
    let rotated = bench
        .until(&made, "rotated", |it| {
            let current = &it["status"]["status"];
            current["sent"]["adminPassword"] != json!(sent) && current["async"].get("current").is_none()
        })
        .await;
    assert_eq!(bench.server.secrets(&ocid(&rotated)), [("adminPassword".to_owned(), "hunter3".to_owned())]);
    bench.another_look(&made, oraclecloud_emulator::Operation::named("GetAutonomousDatabase")).await;
    assert_eq!(
        bench.effects(oraclecloud_emulator::Operation::named("UpdateAutonomousDatabase")),
        1,
        "it is sent once"
    );
    let everything = bench.namespace.kubectl(&["get", "autonomousdatabases,events", "-o", "yaml"]).unwrap();
    assert!(!everything.contains("hunter"), "a password is neither in status nor in events");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_waits_for_its_secret_and_goes_on_when_it_appears() {
    // Nothing but the Secret brings the object on: other looks come after an hour.
    let hour = std::time::Duration::from_secs(3600);
    let slow = Schedule { slow_retry: hour, drift_interval: hour, ..quick() };
    let bench = Bench::with("later", Script::default(), slow, at_home).await;
    let kind = Embedded::kind("database/AutonomousDatabase").unwrap();
    bench.apply(&secret(LOGIN, &[("adminPassword", "hunter2")])).await;
    let made = bench.apply(&object(kind, "first", bench.server.compartment())).await;
    let ready = bench.until_ready(&made).await;
    let secrets = || bench.server.secrets(&ocid(&ready));

    let later = json!({"spec": {"adminPassword": {"secret": {"secretName": "later"}}}});
    bench.change(&made, &later).await;
    let stalled = bench.until_stalled(&made, "Rejected").await;
    let message = text(&condition(&stalled, "Stalled")["message"]);
    assert_eq!(message, "AutonomousDatabase update: spec.adminPassword: there is no Secret later");
    assert_eq!(condition(&stalled, "Ready")["status"], "False", "{stalled:#}");
    assert_eq!(stalled["status"]["status"]["async"].get("current"), None, "nothing was sent");
    // One without the entry does not help, and says so.
    bench.apply(&secret("later", &[("user", "admin")])).await;
    bench
        .until(&made, "the entry is missing", |it| {
            let message = &condition(it, "Stalled")["message"];
            message.as_str().is_some_and(|it| it.contains("the Secret later has no entry"))
        })
        .await;
    bench.apply(&secret("later", &[("adminPassword", "hunter3")])).await;
    bench.until_ready(&made).await;
    assert_eq!(secrets(), [("adminPassword".to_owned(), "hunter3".to_owned())]);
    let update = oraclecloud_emulator::Operation::named("UpdateAutonomousDatabase");
    assert_eq!(bench.effects(update), 1);

    // A Secret that is gone asks for nothing: the resource has what it was given.
    bench.namespace.kubectl(&["delete", "secret", "later"]).unwrap();
    bench.another_look(&made, oraclecloud_emulator::Operation::named("GetAutonomousDatabase")).await;
    bench.until_ready(&made).await;
    assert_eq!(bench.effects(update), 1);
    // Nor does it keep other changes back.
    bench.change(&made, &json!({"spec": {"displayName": "renamed"}})).await;
    bench.until(&made, "renamed", |it| it["status"]["displayName"] == "renamed").await;
    bench.until_ready(&made).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_taken_is_reported_and_can_be_adopted() {
    let bench = Bench::with("taken", Script::default(), quick(), at_home).await;
    let kind = Embedded::kind("objectstorage/Bucket").unwrap();
    let first = bench.apply(&object(kind, "first", bench.server.compartment())).await;
    let owner = bench.until_ready(&first).await;
    let mut second = object(kind, "first", bench.server.compartment());
    second["metadata"]["name"] = json!("second");
    let second = bench.apply(&second).await;
    let stalled = bench.until_stalled(&second, "Rejected").await;
    let message = text(&condition(&stalled, "Stalled")["message"]);
    assert!(message.contains("AlreadyExists") && message.contains("plimsoll.dev/adopt"), "{message}");
    // Deleting the one that has nothing leaves the other's alone.
    bench.namespace.kubectl(&["delete", "--timeout=60s", "bucket.objectstorage.oracle.com/second"]).unwrap();
    assert_eq!(resource(&bench, &owner)["name"], "first");
}
