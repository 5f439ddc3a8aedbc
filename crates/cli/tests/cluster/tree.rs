//! `plimsoll tree` and `plimsoll why`

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::json;
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run, run_with};
use crate::wait::unschedulable;

/// A namespace with a Deployment whose only pod cannot be scheduled, as its condition says.
async fn stuck() -> Namespace {
    let ns = Sandbox::shared().namespace("cli-tree").await;
    let deployment = unschedulable("web");
    ns.apply_as("other-manager", &deployment).await;
    let condition = "-o=jsonpath={.items[0].status.conditions[?(@.type==\"PodScheduled\")].reason}";
    ns.until(&deployment, "it has a replica", |object| {
        object.is_some_and(|object| object["status"]["unavailableReplicas"] == 1)
    })
    .await;
    ns.kubectl(&["wait", "pods", "--all", "--for", "condition=PodScheduled=false", "--timeout", "60s"])
        .expect("the scheduler reports it");
    assert_eq!(ns.kubectl(&["get", "pods", condition]).as_deref(), Ok("Unschedulable"));
    ns
}

/// The text without ages, which are seconds here, and without their column.
fn ageless(text: &str) -> String {
    let is_age = |word: &&str| word.strip_suffix('s').is_some_and(|number| number.parse::<u32>().is_ok());
    let line = |line: &str| {
        let kept = line.split(' ').filter(|word| !is_age(word));
        kept.collect::<Vec<_>>().join(" ").replace("     ", "  ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_tree_shows_everything_an_object_owns() {
    let ns = stuck().await;
    insta::assert_snapshot!(ageless(&run(&ns, &["tree", "deploy/web"])), @"
    exit 0
    --- stdout
    Deployment web          0 of 1 updated replicas are available; Available is False (M…
    └─ ReplicaSet web-GENERATED     0 of 1 replicas are ready
       └─ Pod web-GENERATED   cannot be scheduled (Unschedulable): 0/1 nodes are available…
    ");
    insta::assert_snapshot!(run(&ns, &["tree", "deploy/web", "-o", "name"]), @"
    exit 0
    --- stdout
    deployment.apps/web
    replicaset.apps/web-GENERATED
    pod/web-GENERATED
    ");
    insta::assert_snapshot!(run(&ns, &["tree", "deploy/none"]), @"
    exit 1
    --- stderr
    error[object-missing]: Deployment NS/none does not exist

      Only namespace NS was searched.

    hint: Choose another namespace with --namespace, or search all of them with --all-namespaces.
    ");
}

#[tokio::test]
async fn the_cause_is_named_in_one_sentence() {
    let ns = stuck().await;
    insta::assert_snapshot!(run(&ns, &["why", "deploy/web"]), @"
    exit 1
    --- stdout
    Deployment NS/web is not ready because of Pod NS/web-GENERATED: cannot be scheduled (Unschedulable): 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector
      Deployment NS/web → 0 of 1 updated replicas are available
        ReplicaSet NS/web-GENERATED → 0 of 1 replicas are ready
          Pod NS/web-GENERATED → cannot be scheduled (Unschedulable): 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
    ");
    let transcript = run(&ns, &["why", "deploy/web", "-o", "json"]);
    assert!(
        transcript.contains("\"ready\": false") && transcript.contains("\"kind\": \"Pod\""),
        "{transcript}"
    );
    ns.apply_as(
        "other-manager",
        &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "quiet" } }),
    )
    .await;
    insta::assert_snapshot!(run(&ns, &["why", "cm/quiet"]), @"
    exit 0
    --- stdout
    ConfigMap NS/quiet reports no status, and nothing it owns has a problem
    ");
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "finalizers": ["example.org/x"] } });
    ns.apply_as("other-manager", &held).await;
    ns.kubectl(&["delete", "cm", "held", "--wait=false"]).unwrap();
    insta::assert_snapshot!(run(&ns, &["why", "cm/held"]), @"
    exit 1
    --- stdout
    ConfigMap NS/held is not ready: deletion was requested at TIME and is blocked by example.org/x
    ");
    ns.merge_as("other-manager", &held, &json!({ "metadata": { "finalizers": null } })).await;
}

#[tokio::test]
async fn a_watched_tree_is_shown_again_when_it_changes() {
    let ns = Sandbox::shared().namespace("cli-tree").await;
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "root" } });
    let root = ns.apply_as("other-manager", &object).await;
    let mut child = plimsoll(&ns, &["tree", "cm/root", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    assert!(next().starts_with("ConfigMap root"));
    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "root", "uid": root["metadata"]["uid"] });
    let owned = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "leaf", "ownerReferences": [owner] } });
    ns.apply_as("other-manager", &owned).await;
    assert!(next().starts_with("ConfigMap root"));
    assert!(next().starts_with("└─ Secret leaf"));
    // The object was deleted meanwhile, so there is no tree.
    ns.kubectl(&["delete", "cm", "root"]).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.starts_with("error[object-missing]: ConfigMap "), "{stderr}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[tokio::test]
async fn what_other_tools_record_belongs_to_the_tree() {
    let ns = Sandbox::shared().namespace("cli-tree").await;
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "member" } });
    let applied = run_with(&ns, &["apply", "-f", "-", "--applyset", "shop"], &map.to_string());
    assert!(applied.starts_with("exit 0"), "{applied}");
    let tree = run(&ns, &["tree", "secret/shop", "-o", "name"]);
    assert!(tree.contains("\nsecret/shop\nconfigmap/member\nsecret/plimsoll-applyset-"), "{tree}");
    let release = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": { "name": "sh.helm.release.v1.web.v1", "labels": { "name": "web", "owner": "helm", "status": "deployed" } },
    });
    let annotations =
        json!({ "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": ns.name() });
    let part = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "part", "annotations": annotations } });
    ns.apply_as("helm", &release).await;
    ns.apply_as("helm", &part).await;
    insta::assert_snapshot!(run(&ns, &["tree", "secret/sh.helm.release.v1.web.v1", "-o", "name"]), @"
    exit 0
    --- stdout
    secret/sh.helm.release.v1.web.v1
    configmap/part
    ");
}
