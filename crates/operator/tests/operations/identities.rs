//! Credentials that change while resources exist: nothing is concluded from another region or tenancy, and the
//! credentials outlive the resources that need them.

use std::time::Duration;

use cluster::{Connection, Environment, Session};
use k8s_openapi::api::core::v1;
use operator::operations::CREDENTIALS_FINALIZER;
use oraclecloud_emulator::{Fault, FaultKind, Operation, Script};
use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use super::bench::{Bench, at_home, condition, entries, key_dir, ocid, quick, secret, text};

/// The Secret of a namespace, with one entry changed.
fn credentials(change: Option<(&str, &str)>) -> Value {
    let entries = entries().map(|(name, value)| match change {
        Some((changed, now)) if changed == name => (name, now.to_owned()),
        _ => (name, value),
    });
    let entries: Vec<(&str, &str)> = entries.iter().map(|(name, value)| (*name, value.as_str())).collect();
    secret("ocicredentials", &entries)
}

/// What another region and another tenancy look like to an operator.
const OTHERS: [(&str, &str); 2] = [("region", "us-ashburn-1"), ("tenancy", "ocid1.tenancy.oc1..another")];

/// An operator whose own credentials are of another tenancy.
fn of_another_tenancy(name: &str) -> Option<String> {
    let path = key_dir().join("config-of-another-tenancy");
    if name == "OCI_CONFIG_FILE_PATH" && !path.exists() {
        let config = std::fs::read_to_string(key_dir().join("config")).unwrap();
        let tenancy = entries()[0].1.clone();
        std::fs::write(&path, config.replace(&tenancy, OTHERS[1].1)).unwrap();
    }
    (name == "OCI_CONFIG_FILE_PATH").then(|| path.display().to_string())
}

fn creates(bench: &Bench) -> usize {
    bench.effects(Operation::CreateQueue) + bench.effects(Operation::CreateStream)
}

/// The calls about resources so far.
fn calls(bench: &Bench) -> usize {
    bench.server.journal().entries().len()
}

/// Waits until an object that is left alone has been reconciled again.
async fn reconciled_again(bench: &Bench, object: &Value) {
    for round in 0..3 {
        let requested =
            json!({"metadata": {"annotations": {"plimsoll.dev/reconcile-requested-at": round.to_string()}}});
        bench.change(object, &requested).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

#[tokio::test]
async fn a_resource_is_not_created_again_under_other_credentials() {
    let bench = Bench::with("others", Script::default(), quick(), of_another_tenancy).await;
    bench.apply(&credentials(None)).await;
    for object in [bench.queue("orders", json!({})), bench.stream("clicks", json!({}))] {
        let object = bench.apply(&object).await;
        let ready = bench.until_ready(&object).await;
        let binding = &ready["status"]["status"]["binding"];
        assert_eq!(
            (&binding["region"], &binding["tenancy"], &binding["secret"], &binding["scope"]),
            (
                &json!("us-phoenix-1"),
                &json!(entries()[0].1),
                &json!("ocicredentials"),
                &json!({"compartmentId": bench.server.compartment()})
            )
        );
        let made = creates(&bench);
        for other in OTHERS {
            bench.apply(&credentials(Some(other))).await;
            let stalled = bench.until_stalled(&object, "CredentialsChanged").await;
            let message = text(&condition(&stalled, "Stalled")["message"]);
            assert!(message.contains(&ocid(&ready)) && message.contains(other.1), "{message}");
            assert_eq!(condition(&stalled, "Ready")["status"], "False");
            // Longer than the grace, after which a listing would be evidence.
            let before = calls(&bench);
            reconciled_again(&bench, &object).await;
            tokio::time::sleep(quick().create_grace).await;
            reconciled_again(&bench, &object).await;
            assert_eq!(calls(&bench), before, "no call is made with {other:?}");
            assert_eq!(creates(&bench), made, "{other:?}");
            bench.apply(&credentials(None)).await;
            assert_eq!(ocid(&bench.until_ready(&object).await), ocid(&ready));
        }
    }
    assert_eq!(bench.living().len(), 2);
}

#[tokio::test]
async fn the_operators_own_credentials_do_not_replace_those_of_a_namespace() {
    for (test, environment) in
        [("fallback", at_home as fn(&str) -> Option<String>), ("fallback-other", of_another_tenancy)]
    {
        let bench = Bench::with(test, Script::default(), quick(), environment).await;
        let secret = bench.apply(&credentials(None)).await;
        let queue = bench.apply(&bench.queue("orders", json!({}))).await;
        bench.until_ready(&queue).await;
        // By force, since the finalizer keeps it.
        bench.namespace.kubectl(&["delete", "--wait=false", "secret", "ocicredentials"]).unwrap();
        bench.change(&secret, &json!({"metadata": {"finalizers": null}})).await;
        let stalled = bench.until_stalled(&queue, "CredentialsChanged").await;
        let message = text(&condition(&stalled, "Stalled")["message"]);
        assert!(message.contains("Secret ocicredentials") || message.contains(OTHERS[1].1), "{message}");
        bench.delete(&queue);
        tokio::time::sleep(quick().create_grace).await;
        reconciled_again(&bench, &queue).await;
        assert!(bench.namespace.get(&queue).await.is_some(), "it is held until the resource is gone");
        assert_eq!((creates(&bench), bench.living().len()), (1, 1));
        bench.apply(&credentials(None)).await;
        bench.until_gone(&queue).await;
        assert_eq!(bench.living(), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn an_object_is_not_released_under_other_credentials() {
    let bench = Bench::with("release", Script::default(), quick(), of_another_tenancy).await;
    for (name, other) in ["in-region", "in-tenancy"].into_iter().zip(OTHERS) {
        bench.apply(&credentials(None)).await;
        let queue = bench.apply(&bench.queue(name, json!({}))).await;
        bench.until_ready(&queue).await;
        bench.apply(&credentials(Some(other))).await;
        bench.delete(&queue);
        let stalled = bench
            .until(&queue, "the message says how to release it", |queue| {
                text(&condition(queue, "Stalled")["message"]).contains("plimsoll.dev/release: ")
            })
            .await;
        assert_eq!(condition(&stalled, "Stalled")["reason"], "CredentialsChanged");
        tokio::time::sleep(quick().create_grace).await;
        reconciled_again(&bench, &queue).await;
        assert_eq!(bench.living().len(), 1, "the queue lives on, and so does its object");
        assert!(bench.namespace.get(&queue).await.is_some());
        bench.apply(&credentials(None)).await;
        bench.until_gone(&queue).await;
        assert_eq!(bench.living(), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn a_namespace_that_is_deleted_deletes_its_resources_first() {
    let bench = Bench::with("namespace", Script::default(), quick(), of_another_tenancy).await;
    bench.apply(&credentials(None)).await;
    for object in [bench.queue("orders", json!({})), bench.stream("clicks", json!({}))] {
        let object = bench.apply(&object).await;
        bench.until_ready(&object).await;
    }
    bench.namespace.kubectl(&["delete", "namespace", bench.namespace.name(), "--wait=false"]).unwrap();
    let namespaces = kube::Api::<v1::Namespace>::all(bench.namespace.client().clone());
    let mut seconds = 0;
    while namespaces.get_opt(bench.namespace.name()).await.unwrap().is_some() {
        assert!(
            seconds < 60,
            "the namespace does not go: {:#?}",
            namespaces.get(bench.namespace.name()).await
        );
        seconds += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(bench.living(), Vec::<Value>::new());
}

fn is_kept(secret: Option<&Value>) -> bool {
    let finalizers = secret.and_then(|secret| secret["metadata"]["finalizers"].as_array());
    finalizers.into_iter().flatten().any(|finalizer| finalizer == CREDENTIALS_FINALIZER)
}

#[tokio::test]
async fn credentials_are_kept_until_their_last_user_is_gone() {
    let bench = Bench::new("kept_credentials").await;
    let secret = bench.apply(&credentials(None)).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let stream = bench.apply(&bench.stream("clicks", json!({}))).await;
    bench.until_ready(&queue).await;
    bench.until_ready(&stream).await;
    bench.namespace.until(&secret, "kept", is_kept).await;
    bench.namespace.kubectl(&["delete", "--wait=false", "secret", "ocicredentials"]).unwrap();
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    reconciled_again(&bench, &stream).await;
    bench.until_ready(&stream).await;
    assert!(is_kept(bench.namespace.get(&secret).await.as_ref()), "the stream still needs it");
    bench.delete(&stream);
    bench.until_gone(&stream).await;
    bench.namespace.until(&secret, "gone", |secret| secret.is_none()).await;
    assert_eq!(bench.living(), Vec::<Value>::new());
}

#[tokio::test]
async fn an_operator_that_restarts_lets_go_of_unused_credentials() {
    let bench = Bench::new("unused_credentials").await;
    // As if the last one had crashed between the end of the last user and this.
    let mut secret = credentials(None);
    secret["metadata"]["finalizers"] = json!([CREDENTIALS_FINALIZER]);
    let bench = bench.restart("unused_credentials").await;
    bench.apply(&secret).await;
    bench.namespace.until(&secret, "let go", |secret| secret.is_some() && !is_kept(secret)).await;
}

/// A session with the rights that `deploy/` grants for cloud resources, without `patch` on credentials.
fn limited(namespace: &Namespace) -> Session {
    let sandbox = Sandbox::shared();
    let kubectl = |arguments: &[&str]| {
        let output = sandbox.kubectl(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let name = namespace.name();
    namespace.kubectl(&["create", "serviceaccount", "limited"]).unwrap();
    let mut role: Value =
        serde_json::from_str(&kubectl(&["get", "clusterrole", "plimsoll-oci", "--output=json"])).unwrap();
    for rule in role["rules"].as_array_mut().unwrap() {
        if rule["resourceNames"] == json!(["ocicredentials"]) {
            rule["verbs"] = json!(["list", "watch"]);
        }
    }
    role["metadata"] = json!({"name": name});
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (role_file, kubeconfig) =
        (folder.join(format!("{name}-role")), folder.join(format!("{name}-kubeconfig")));
    std::fs::write(&role_file, role.to_string()).unwrap();
    kubectl(&["apply", "--filename", &role_file.display().to_string()]);
    let account = format!("--serviceaccount={name}:limited");
    kubectl(&["create", "clusterrolebinding", name, &format!("--clusterrole={name}"), &account]);
    for granted in ["plimsoll-operator", "plimsoll-oci-kinds"] {
        let (binding, role) = (format!("{name}-{granted}"), format!("--clusterrole={granted}"));
        kubectl(&["create", "clusterrolebinding", &binding, &role, &account]);
    }
    let token = namespace.kubectl(&["create", "token", "limited"]).unwrap();
    let own = kubectl(&["config", "view", "--raw", "--minify", "--output=json"]);
    let mut config: Value = serde_json::from_str(&own).unwrap();
    config["users"][0]["user"] = json!({"token": token.trim()});
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let connection = Connection { config_paths: vec![kubeconfig], ..Connection::default() };
    Session::connect(&connection, &Environment::default(), "plimsoll-operator-tests").unwrap()
}

#[tokio::test]
async fn credentials_that_may_not_be_kept_are_used_and_reported_once() {
    let namespace = super::namespace("not-kept").await;
    let session = limited(&namespace);
    let bench = Bench::with_rights("not-kept", namespace, session).await;
    let secret = bench.apply(&credentials(None)).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    bench.until_ready(&queue).await;
    bench.another_look(&queue, Operation::GetQueue).await;
    let warned = bench.events("orders", "CredentialsNotKept").await;
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("ocicredentials") && warned[0].contains("patch"), "{warned:?}");
    assert!(!is_kept(bench.namespace.get(&secret).await.as_ref()));
}

/// A create that is sent, takes effect and has no answer; then the user edits the spec before that is resolved.
#[tokio::test]
async fn a_stream_whose_create_lost_its_answer_is_found_where_it_was_sent() {
    let bench = Bench::new("moved_pool").await;
    bench.until_older_than_objects().await;
    let faults = bench.server.faults();
    faults.inject(Fault {
        operation: Operation::CreateStream,
        nth: 1,
        times: 1,
        kind: FaultKind::ResetAfter,
    });
    let kind = FaultKind::Refuse { status: 503, code: "ServiceUnavailable".to_owned(), retry_after: None };
    faults.inject(Fault { operation: Operation::ListStreams, nth: 1, times: u32::MAX, kind });
    let mut stream = bench.stream("clicks", json!({"streamPoolId": "ocid1.streampool.oc1.phx.one"}));
    stream["spec"].as_object_mut().unwrap().remove("compartmentId");
    let stream = bench.apply(&stream).await;
    bench
        .until(&stream, "lost", |stream| {
            condition(stream, "Progressing")["reason"] == "Retrying"
                && stream["status"]["status"]["async"]["current"]["phase"] == "create"
        })
        .await;
    bench.change(&stream, &json!({"spec": {"streamPoolId": "ocid1.streampool.oc1.phx.two"}})).await;
    bench.server.faults().clear();
    bench.until_ready(&stream).await;
    assert_eq!(bench.effects(Operation::CreateStream), 1);
    let living = bench.living();
    assert_eq!((living.len(), &living[0]["streamPoolId"]), (1, &json!("ocid1.streampool.oc1.phx.two")));
}

/// The same for a queue, whose create is replayed by its token unless the body changed.
#[tokio::test]
async fn a_queue_whose_create_lost_its_answer_is_found_after_an_edit() {
    let bench = Bench::new("edited").await;
    bench.until_older_than_objects().await;
    let faults = bench.server.faults();
    faults.inject(Fault { operation: Operation::CreateQueue, nth: 1, times: 1, kind: FaultKind::ResetAfter });
    let refuse =
        || FaultKind::Refuse { status: 503, code: "ServiceUnavailable".to_owned(), retry_after: None };
    faults.inject(Fault { operation: Operation::CreateQueue, nth: 1, times: u32::MAX, kind: refuse() });
    faults.inject(Fault { operation: Operation::ListQueues, nth: 1, times: u32::MAX, kind: refuse() });
    let queue = bench.apply(&bench.queue("orders", json!({"visibilityInSeconds": 40}))).await;
    bench
        .until(&queue, "lost", |queue| {
            condition(queue, "Progressing")["reason"] == "Retrying"
                && queue["status"]["status"]["async"]["current"]["phase"] == "create"
        })
        .await;
    bench.change(&queue, &json!({"spec": {"visibilityInSeconds": 50}})).await;
    bench.server.faults().clear();
    bench.until_ready(&queue).await;
    assert_eq!(bench.effects(Operation::CreateQueue), 1);
    assert_eq!(bench.living()[0]["visibilityInSeconds"], 50);
}

/// A restore of the cluster's data brings objects back as they were before anything was done for them.
#[tokio::test]
async fn what_a_restore_of_the_cluster_has_undone_is_found_and_not_created_again() {
    let mut bench = Bench::new("restored").await;
    let stream = bench.apply(&bench.stream("clicks", json!({}))).await;
    let ready = bench.until_ready(&stream).await;
    for restarts in [false, true] {
        let undo = async |namespace: &Namespace| {
            namespace.merge_as("etcd", &stream, &json!({"metadata": {"finalizers": null}})).await;
            namespace
                .kubectl(&[
                    "patch",
                    "stream",
                    "clicks",
                    "--subresource=status",
                    "--type=merge",
                    "--patch={\"status\": null}",
                ])
                .unwrap();
        };
        if restarts {
            bench = bench.restart_after("restored", undo).await;
        } else {
            undo(&bench.namespace).await;
        }
        assert_eq!(ocid(&bench.until_ready(&stream).await), ocid(&ready), "restarts: {restarts}");
        assert_eq!((creates(&bench), bench.living().len()), (1, 1), "restarts: {restarts}");
    }
    bench.delete(&stream);
    bench.until_gone(&stream).await;
    assert_eq!(bench.living(), Vec::<Value>::new());
}

#[tokio::test]
async fn first_creates_read_no_listing_and_others_share_one() {
    let bench = Bench::new("listings").await;
    bench.until_older_than_objects().await;
    let names: Vec<String> = (0..40).map(|number| format!("queue-{number}")).collect();
    let mut queues = Vec::new();
    for name in &names {
        queues.push(bench.apply(&bench.queue(name, json!({}))).await);
    }
    let mut first = Vec::new();
    for queue in &queues {
        first.push(ocid(&bench.until_ready(queue).await));
    }
    assert_eq!(creates(&bench), 40);
    assert_eq!(bench.server.journal().count(Operation::ListQueues), 0, "there was nothing to find");
    // All are gone at once, and every object has to see it in a listing, more than once. A listing takes its time, as
    // that of a large compartment does.
    let kind = FaultKind::SlowMillis(500);
    bench.server.faults().inject(Fault { operation: Operation::ListQueues, nth: 1, times: u32::MAX, kind });
    for queue in &bench.living() {
        assert!(bench.server.remove(&text(&queue["id"])));
    }
    for (queue, first) in queues.iter().zip(&first) {
        let is_new = |queue: &Value| queue["status"]["status"]["ocid"].as_str().is_some_and(|id| id != first);
        bench.until(queue, "made anew", is_new).await;
    }
    let listings = bench.server.journal().count(Operation::ListQueues);
    assert!(listings < queues.len(), "{listings} listings for {} objects", queues.len());
}

/// How many calls go before the first one for an object that a user has just changed, while every object is due all the
/// time.
async fn calls_before_a_change(bench: &Bench, objects: usize) -> usize {
    let mut queues = Vec::new();
    for number in 0..objects {
        queues.push(bench.apply(&bench.queue(&format!("queue-{number}"), json!({}))).await);
    }
    for queue in &queues {
        bench.until_ready(queue).await;
    }
    let kind = FaultKind::SlowMillis(1000);
    bench.server.faults().inject(Fault { operation: Operation::GetQueue, nth: 1, times: u32::MAX, kind });
    // Longer than the drift interval, so that all are due.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let changed = &queues[objects / 2];
    let id = ocid(&bench.namespace.get(changed).await.unwrap());
    bench.change(changed, &json!({"spec": {"visibilityInSeconds": 45}})).await;
    let before = calls(bench);
    loop {
        let journal = bench.server.journal().entries();
        let is_get = |entry: &oraclecloud_emulator::JournalEntry| {
            entry.operation == Some(Operation::GetQueue) && entry.resource.as_ref() == Some(&id)
        };
        if let Some(position) = journal[before..].iter().position(is_get) {
            return position;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The cloud is slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_users_change_is_taken_up_before_everything_that_is_merely_due() {
    let bench = Bench::new("changes_first").await;
    let before = calls_before_a_change(&bench, 60).await;
    assert!(before <= 16, "{before} looks for drift went before it");
}

/// All calls wait for their turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_users_change_does_not_wait_behind_others_for_the_rate_limit() {
    let bench = Bench::limited("limited", 8.0).await;
    let before = calls_before_a_change(&bench, 40).await;
    assert!(before <= 12, "{before} looks for drift went before it");
}
