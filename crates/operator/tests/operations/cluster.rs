//! The cluster side of an operation: kubectl, endpoint Secrets, credentials, annotations, Events.

use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use operations::Schedule;
use oraclecloud::Catalogue;
use oraclecloud_emulator::{Operation, Script, Timeline};
use serde_json::{Value, json};

use super::bench::{Bench, at_home, condition, entries, key_dir, ocid, quick, secret, text};
use super::objects::object;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_wait_and_kubectl_delete_work() {
    let bench = Bench::new("kubectl").await;
    for (object, name) in [
        (bench.queue("orders", json!({})), "queue/orders"),
        (bench.stream("clicks", json!({"retentionInHours": 48})), "stream/clicks"),
    ] {
        bench.apply(&object).await;
        bench.namespace.kubectl(&["wait", "--for=condition=Ready", "--timeout=60s", name]).unwrap();
        bench.namespace.kubectl(&["delete", "--wait", "--timeout=60s", name]).unwrap();
        assert_eq!(bench.living(), Vec::<Value>::new(), "{name}");
    }
}

#[tokio::test]
async fn the_endpoint_is_kept_in_a_secret_that_is_ours() {
    let bench = Bench::new("endpoints").await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let ready = bench.until_ready(&queue).await;
    let endpoint = text(&ready["status"]["messagesEndpoint"]);
    let kept = secret("orders", &[("endpoint", &endpoint)]);
    let is_kept = |it: Option<&Value>| it.is_some_and(|it| it["data"] == kept["data"]);
    let made = bench.namespace.until(&kept, "the Secret", is_kept).await.unwrap();
    let uid = &ready["metadata"]["uid"];
    assert_eq!(&made["metadata"]["labels"]["queue.oracle.com/queue-uid"], uid);
    // Ours is set right again.
    bench.namespace.merge_as("person", &kept, &json!({"data": {"endpoint": "d3Jvbmc="}})).await;
    bench.namespace.until(&kept, "mended", is_kept).await;
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    bench.namespace.until(&kept, "gone", |it| it.is_none()).await;
}

#[tokio::test]
async fn several_endpoints_are_kept_in_one_secret() {
    let bench = Bench::new("redis").await;
    let kind = Catalogue::standard().get("redis/RedisCluster").unwrap();
    let made = bench.apply(&object(kind, "cache", bench.server.compartment())).await;
    let ready = bench.until_ready(&made).await;
    let shown = |field: &str| text(&ready["status"][field]);
    let (address, name) = (shown("primaryEndpointIpAddress"), shown("primaryFqdn"));
    let kept = secret("cache", &[("primaryEndpointIpAddress", &address), ("primaryFqdn", &name)]);
    let is_kept = |it: Option<&Value>| it.is_some_and(|it| it["data"] == kept["data"]);
    let secret = bench.namespace.until(&kept, "the Secret", is_kept).await.unwrap();
    assert_eq!(secret["metadata"]["labels"]["redis.oracle.com/rediscluster-uid"], ready["metadata"]["uid"]);
    bench.delete(&made);
    bench.until_gone(&made).await;
    bench.namespace.until(&kept, "gone", |it| it.is_none()).await;
}

#[tokio::test]
async fn a_foreign_endpoint_secret_is_left_alone_and_the_object_is_not_ready() {
    let bench = Bench::new("foreign").await;
    let theirs = secret("orders", &[("endpoint", "theirs")]);
    bench.apply(&theirs).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let stalled = bench.until_stalled(&queue, "EndpointSecret").await;
    let ready = condition(&stalled, "Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("EndpointSecret")));
    let message = text(&ready["message"]);
    assert!(message.contains("Secret orders belongs to another owner"), "{message}");
    assert!(message.contains("queue.oracle.com/queue-uid"), "{message}");
    assert_eq!(stalled["status"]["status"]["reason"], "Failed");
    assert_eq!(stalled["status"]["lifecycleState"], "ACTIVE", "the resource itself is fine");
    bench.another_look(&queue, Operation::GetQueue).await;
    let now = bench.namespace.get(&queue).await.unwrap();
    assert_eq!(now["status"], stalled["status"], "looking again writes nothing");
    assert_eq!(bench.events("orders", "EndpointSecret").await, [message]);
    assert_eq!(bench.namespace.get(&theirs).await.unwrap()["data"], theirs["data"]);
    // Once it is out of the way, the object gets ready by itself.
    bench.namespace.kubectl(&["delete", "secret", "orders"]).unwrap();
    let ready = bench.until_ready(&queue).await;
    let ours = bench.namespace.get(&theirs).await.unwrap();
    let endpoint = text(&ready["status"]["messagesEndpoint"]);
    assert_eq!(
        ours["data"]["endpoint"],
        BASE64_STANDARD.encode(endpoint),
        "there before it says to be ready"
    );
}

#[tokio::test]
async fn a_foreign_secret_is_not_deleted_with_the_object() {
    let bench = Bench::new("kept").await;
    let theirs = secret("orders", &[("endpoint", "theirs")]);
    bench.apply(&theirs).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    bench.until_stalled(&queue, "EndpointSecret").await;
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    assert_eq!(bench.namespace.get(&theirs).await.unwrap()["data"], theirs["data"]);
}

#[tokio::test]
async fn a_namespace_has_its_own_credentials_and_a_change_takes_effect() {
    // There is no metadata service either, which is the last resort.
    let nowhere = |name: &str| (name == "OCI_METADATA_BASE_URL").then(|| "http://127.0.0.1:9".to_owned());
    let mut settings = quick();
    // What brings the next look is the Secret, and nothing else.
    settings.slow_retry = Duration::from_secs(600);
    let bench = Bench::with("creds", Script::default(), settings, nowhere).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let none = bench.until_stalled(&queue, "AccessDenied").await;
    let message = text(&condition(&none, "Stalled")["message"]);
    assert!(
        message.contains("no credentials are configured: there is no Secret ocicredentials"),
        "{message}"
    );

    bench.apply(&secret("ocicredentials", &[("tenancy", "t")])).await;
    let broken = bench
        .until(&queue, "broken credentials", |queue| {
            text(&condition(queue, "Stalled")["message"]).contains("/ocicredentials cannot be used")
        })
        .await;
    let message = text(&condition(&broken, "Stalled")["message"]);
    assert!(message.contains("the Secret has no privatekey"), "{message}");

    let entries = entries();
    let entries: Vec<(&str, &str)> = entries.iter().map(|(name, value)| (*name, value.as_str())).collect();
    bench.apply(&secret("ocicredentials", &entries)).await;
    bench.until_ready(&queue).await;

    // The cloud rejects an unknown key, which is reported.
    let strange = oraclecloud::key::GeneratedKey::generate().unwrap();
    let fingerprint = oraclecloud::key::PublicKey::from_pem(&strange.public_pem).unwrap().fingerprint();
    let pem = secrecy::ExposeSecret::expose_secret(&strange.private_pem);
    let entries =
        [entries[0], entries[1], ("fingerprint", fingerprint.as_str()), entries[3], ("privatekey", pem)];
    bench.apply(&secret("ocicredentials", &entries)).await;
    let refused = bench
        .until(&queue, "the wrong key", |queue| {
            text(&condition(queue, "Stalled")["message"]).contains("401 NotAuthenticated")
        })
        .await;
    assert_eq!(condition(&refused, "Stalled")["reason"], "AccessDenied");
}

/// Where the metadata service is; what an operator reads of its environment is a plain function.
static METADATA: OnceLock<String> = OnceLock::new();

fn on_an_instance(name: &str) -> Option<String> {
    match name {
        "AUTH_TYPE" => Some("instance_principal".to_owned()),
        "OCI_METADATA_BASE_URL" => METADATA.get().cloned(),
        _ => None,
    }
}

#[tokio::test]
async fn on_an_instance_of_oracle_cloud_no_key_is_needed() {
    let bench = Bench::with("instance", Script::default(), quick(), on_an_instance).await;
    METADATA.set(bench.server.metadata_url()).unwrap();
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let stream = bench.apply(&bench.stream("clicks", json!({}))).await;
    bench.until_ready(&queue).await;
    bench.until_ready(&stream).await;
    assert_eq!(bench.server.journal().count(Operation::IssueInstanceToken), 1, "one token for both kinds");
}

/// Where the operator is at home, with nothing there at first.
fn an_empty_home(name: &str) -> Option<String> {
    match name {
        "HOME" => Some(concat!(env!("CARGO_TARGET_TMPDIR"), "/operator-home").to_owned()),
        "OCI_METADATA_BASE_URL" => Some("http://127.0.0.1:9".to_owned()),
        _ => None,
    }
}

#[tokio::test]
async fn a_configuration_file_that_comes_later_is_found_without_a_restart() {
    let home = an_empty_home("HOME").unwrap();
    let _absent = std::fs::remove_dir_all(&home);
    let bench = Bench::with("later", Script::default(), quick(), an_empty_home).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    bench.until_stalled(&queue, "AccessDenied").await;
    std::fs::create_dir_all(format!("{home}/.oci")).unwrap();
    std::fs::copy(key_dir().join("config"), format!("{home}/.oci/config")).unwrap();
    bench.until_ready(&queue).await;
}

#[tokio::test]
async fn a_paused_object_is_left_alone_and_invalid_annotations_are_reported_once() {
    let bench = Bench::new("paused").await;
    let mut queue = bench.queue("orders", json!({}));
    queue["metadata"]["annotations"] =
        json!({"plimsoll.dev/paused": "true", "plimsoll.dev/deletion-policy": "keep"});
    bench.apply(&queue).await;
    let warned = bench.events("orders", "AnnotationValue").await;
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert_eq!(bench.server.journal().entries().len(), 0, "nothing is asked while it is paused");
    bench.change(&queue, &json!({"metadata": {"annotations": {"plimsoll.dev/paused": null}}})).await;
    bench.until_ready(&queue).await;
    bench.another_look(&queue, Operation::GetQueue).await;
    assert_eq!(bench.events("orders", "AnnotationValue").await.len(), 1, "said once");
    // What was meant as a policy is read as the careful one.
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    assert_eq!(bench.living().len(), 1);
}

#[tokio::test]
async fn events_are_recorded_for_transitions_only() {
    // A machine that is busy must not make a create late, which would be a third thing to tell.
    let settings = Schedule { create_grace: Duration::from_secs(60), ..quick() };
    let bench = Bench::with("events", Script::default(), settings, at_home).await;
    let steps = Timeline::default().steps.into_iter().cycle().take(8).collect();
    bench.going(Operation::CreateQueue, None, Timeline { steps, ..Timeline::default() });
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    bench.until_ready(&queue).await;
    bench.another_look(&queue, Operation::GetQueue).await;
    assert_eq!(bench.events("orders", "Started").await, ["Queue create is in flight"]);
    assert_eq!(bench.events("orders", "Available").await, ["Queue matches its spec"]);
    let all = bench.events("orders", "").await;
    assert_eq!(all.len(), 2, "{all:?}");
}

#[tokio::test]
async fn drift_is_reverted_without_a_change_of_the_object() {
    let bench = Bench::with("drift", Script::default(), quick(), at_home).await;
    let queue = bench.apply(&bench.queue("orders", json!({"visibilityInSeconds": 45}))).await;
    let id = ocid(&bench.until_ready(&queue).await);
    bench.edit(&id, json!({"visibilityInSeconds": 1}));
    bench
        .until(&queue, "set right", |queue| {
            queue["status"]["status"]["async"]["lastOperation"]["phase"] == "update"
        })
        .await;
    bench.until_ready(&queue).await;
    assert_eq!(bench.living()[0]["visibilityInSeconds"], 45);
}
