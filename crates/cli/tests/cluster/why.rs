//! `plimsoll why` where the cause is in an Event, in a PersistentVolumeClaim, or in a namespace that is being deleted.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::run;

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-why").await
}

fn claim(name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": { "requests": { "storage": "1Gi" } },
        },
    })
}

/// A quota that keeps every pod out of a namespace.
fn quota() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" }, "spec": { "hard": { "pods": "0" } },
    })
}

fn pods(name: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": name } },
        "spec": { "containers": [{ "name": "main", "image": "main:1" }] },
    })
}

/// Waits for an event with this reason about an object.
async fn until_event(ns: &Namespace, name: &str, reason: &str) {
    let selector = format!("involvedObject.name={name},reason={reason}");
    for _ in 0..1200 {
        let found = ns
            .kubectl(&["get", "events", "--field-selector", &selector, "-o", "name"])
            .expect("events can be read");
        if !found.is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("no event {reason} about {name}");
}

#[tokio::test]
async fn a_claim_without_a_class_is_explained_by_its_event() {
    let ns = namespace().await;
    ns.apply_as("other-manager", &claim("data", "none-such")).await;
    until_event(&ns, "data", "ProvisioningFailed").await;
    insta::assert_snapshot!(run(&ns, &["why", "pvc/data"]), @r#"
    exit 1
    --- stdout
    PersistentVolumeClaim NS/data is not ready: it is Pending (ProvisioningFailed): storageclass.storage.k8s.io "none-such" not found
    "#);
}

#[tokio::test]
async fn a_quota_is_named_by_the_events_of_the_controllers_it_stops() {
    let ns = namespace().await;
    ns.apply_as("other-manager", &quota()).await;
    // The quota is enforced once its controller has seen it.
    ns.until(&quota(), "it has a status", |object| object.is_some_and(|it| it["status"]["hard"].is_object()))
        .await;
    let mut template = pods("migrate");
    template["spec"]["restartPolicy"] = "Never".into();
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "migrate" }, "spec": { "template": template } });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "db" },
        "spec": { "serviceName": "db", "selector": { "matchLabels": { "app": "db" } }, "template": pods("db") },
    });
    for object in [&job, &set] {
        ns.apply_as("other-manager", object).await;
        until_event(&ns, object["metadata"]["name"].as_str().unwrap(), "FailedCreate").await;
    }
    // Pods of a Job have generated names.
    let of_job = run(&ns, &["why", "job/migrate"]);
    assert!(
        of_job.contains("0 of 1 completions have succeeded (FailedCreate): Error creating: pods "),
        "{of_job}"
    );
    assert!(
        of_job.contains("exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0"),
        "{of_job}"
    );
    insta::assert_snapshot!(run(&ns, &["why", "sts/db"]), @r#"
    exit 1
    --- stdout
    StatefulSet NS/db is not ready: 0 of 1 replicas are ready (FailedCreate): Create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0
    "#);
}

#[tokio::test]
async fn the_chain_leads_from_a_pod_to_the_volume_that_it_lacks() {
    let ns = namespace().await;
    let mut template = pods("db");
    template["spec"]["containers"][0]["volumeMounts"] = json!([{ "name": "data", "mountPath": "/data" }]);
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "db" },
        "spec": {
            "serviceName": "db", "selector": { "matchLabels": { "app": "db" } }, "template": template,
            "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": claim("data", "none-such")["spec"] }],
        },
    });
    ns.apply_as("other-manager", &set).await;
    until_event(&ns, "data-db-0", "ProvisioningFailed").await;
    until_event(&ns, "db-0", "FailedScheduling").await;
    insta::assert_snapshot!(run(&ns, &["why", "sts/db"]), @r#"
    exit 1
    --- stdout
    StatefulSet NS/db is not ready because of PersistentVolumeClaim NS/data-db-0: it is Pending (ProvisioningFailed): storageclass.storage.k8s.io "none-such" not found
      StatefulSet NS/db → 0 of 1 replicas are ready
        Pod NS/db-0 → cannot be scheduled (Unschedulable): 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found
          PersistentVolumeClaim NS/data-db-0 → it is Pending (ProvisioningFailed): storageclass.storage.k8s.io "none-such" not found
    "#);
    insta::assert_snapshot!(run(&ns, &["tree", "sts/db", "-o", "name"]), @"
    exit 0
    --- stdout
    statefulset.apps/db
    pod/db-0
    persistentvolumeclaim/data-db-0
    controllerrevision.apps/db-GENERATED
    ");
}

#[tokio::test]
async fn a_namespace_that_is_being_deleted_says_what_is_left_in_it() {
    let ns = namespace().await;
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "finalizers": ["example.org/x"] } });
    ns.apply_as("other-manager", &held).await;
    ns.kubectl(&["delete", "namespace", ns.name(), "--wait=false"]).unwrap();
    let condition = "condition=NamespaceFinalizersRemaining";
    ns.kubectl(&["wait", "namespace", ns.name(), "--for", condition, "--timeout", "60s"]).unwrap();
    insta::assert_snapshot!(run(&ns, &["why", &format!("ns/{}", ns.name())]), @"
    exit 1
    --- stdout
    Namespace NS is not ready: deletion was requested at TIME: Some resources are remaining: configmaps. has 1 resource instances; Some content in the namespace has finalizers remaining: example.org/x in 1 resource instances
    ");

    // Objects applied during the deletion are deleted as well.
    let mut again = held.clone();
    again["data"] = json!({ "a": "b" });
    insta::assert_snapshot!(crate::program::run_with(&ns, &["apply", "-f", "-"], &again.to_string()), @r#"
    exit 0
    --- stdout
    ~ ConfigMap NS/held
        data = {"a":"b"}   held by plimsoll
        takes metadata.finalizers[="example.org/x"]
    --- stderr
    warning[object-going]: ConfigMap NS/held is being deleted
      object: ConfigMap NS/held

      Deletion was requested at TIME. What is applied now is deleted with it.

    hint: Wait until it is deleted, then apply again; `plimsoll why` shows what blocks the deletion.
    1 changed
    "#);
    insta::assert_snapshot!(run(&ns, &["wait", "cm/held", "--for", "delete", "--timeout", "200ms"]), @"
    exit 1
    --- stderr
    error[deletion-timeout]: ConfigMap NS/held still exists after 200ms

      Last state: deletion was requested at TIME and is blocked by example.org/x.

    hint: Raise --timeout if it only needs more time.
    ");
    ns.merge_as("other-manager", &held, &json!({ "metadata": { "finalizers": null } })).await;
    insta::assert_snapshot!(run(&ns, &["wait", "cm/held", "--for", "delete"]), @"
    exit 0
    --- stderr
    met ConfigMap NS/held is gone
    ");
}

fn service(name: &str, app: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
        "spec": { "selector": { "app": app }, "ports": [{ "name": "http", "port": 80 }] },
    })
}

#[tokio::test]
async fn what_an_object_refers_to_is_looked_at() {
    let ns = namespace().await;
    let mut pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web", "labels": { "app": "web" } } });
    pod["spec"] = json!({
        "nodeSelector": { "disk": "none-such" },
        "containers": [{ "name": "a", "image": "a:1", "envFrom": [{ "configMapRef": { "name": "settings" } }] }],
    });
    let ingress = |name: &str, service: &str, port: u16| {
        let backend = json!({ "service": { "name": service, "port": { "number": port } } });
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": { "name": name },
            "spec": { "rules": [{ "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend }] } }] },
        })
    };
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "web" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "web" } } },
    });
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "web" },
        "spec": { "maxReplicas": 3, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "none" } },
    });
    for object in [
        pod.clone(),
        service("shop", "shop"),
        service("web", "web"),
        ingress("missing", "none", 80),
        ingress("port", "web", 81),
        ingress("chain", "web", 80),
        budget.clone(),
        autoscaler,
    ] {
        ns.apply_as("other-manager", &object).await;
    }
    let check = |object: &str, words: &str| {
        let output = run(&ns, &["why", object]);
        assert!(output.starts_with("exit 1") && output.contains(words), "{words}: {output}");
    };
    check(
        "svc/shop",
        "Service NS/shop is not ready: its selector app=shop matches no pod; pods here have app=web",
    );
    check("ingress/missing", "Ingress NS/missing is not ready: its backend Service NS/none does not exist");
    check("ingress/port", "its backend Service NS/web has no port 81");
    check("pod/web", "it needs ConfigMap NS/settings, which does not exist");
    check("hpa/web", "its target Deployment NS/none does not exist");
    insta::assert_snapshot!(run(&ns, &["why", "ingress/chain"]), @"
    exit 1
    --- stdout
    Ingress NS/chain is not ready because of Pod NS/web: cannot be scheduled (Unschedulable): 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector
      Ingress NS/chain → its backend Service NS/web does not work
        Service NS/web → the pod that it selects is not ready
          Pod NS/web → cannot be scheduled (Unschedulable): 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.; it needs ConfigMap NS/settings, which does not exist
    ");
    ns.until(&budget, "its controller has seen it", |it| {
        it.is_some_and(|it| it["status"]["expectedPods"] == 1 && it["status"]["observedGeneration"].is_i64())
    })
    .await;
    check("pdb/web", "it never allows an eviction: it wants 1 of 1 pods to be healthy");
    ns.apply_as("other-manager", &quota()).await;
    ns.until(&quota(), "it has a status", |object| object.is_some_and(|it| it["status"]["hard"].is_object()))
        .await;
    check("quota/none", "it is used up: pods (");
    // Who may not list Pods learns nothing wrong.
    let user = format!("reader-of-{}", ns.name());
    ns.kubectl(&["create", "role", "reader", "--verb=get,list", "--resource=services"]).unwrap();
    ns.kubectl(&["create", "rolebinding", "reader", "--role=reader", &format!("--user={user}")]).unwrap();
    let unknown = run(&ns, &["why", "svc/shop", "--as", &user]);
    assert!(unknown.starts_with("exit 0") && !unknown.contains("no pod"), "{unknown}");
}

#[tokio::test]
async fn an_autoscaler_without_metrics_says_so_once() {
    let ns = namespace().await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "template": pods("web") },
    });
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "web" },
        "spec": { "maxReplicas": 3, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" } },
    });
    ns.apply_as("other-manager", &deployment).await;
    ns.apply_as("other-manager", &autoscaler).await;
    until_event(&ns, "web", "FailedComputeMetricsReplicas").await;
    ns.until(&autoscaler, "its controller has tried", |it| {
        let conditions = it.and_then(|it| it["status"]["conditions"].as_array().cloned()).unwrap_or_default();
        conditions.iter().any(|it| it["type"] == "ScalingActive" && it["status"] == "False")
    })
    .await;
    let output = run(&ns, &["why", "hpa/web"]);
    assert!(output.starts_with("exit 1") && output.contains("ScalingActive is False (FailedGet"), "{output}");
    assert_eq!(output.matches("the server could not find the requested resource").count(), 1, "{output}");
}

#[tokio::test]
async fn webhooks_that_refuse_or_cannot_be_called_are_named() {
    let ns = namespace().await;
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": ns.name() },
        "webhooks": [{
            "name": "pods.example.org", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
            "clientConfig": { "service": { "namespace": ns.name(), "name": "hooks" } },
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": ns.name() } },
            "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"] }],
        }],
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hook.json");
    std::fs::write(&file, hook.to_string()).unwrap();
    ns.kubectl(&["create", "-f", file.to_str().unwrap()]).unwrap();
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "web" },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "template": pods("web") },
    });
    ns.apply_as("other-manager", &set).await;
    until_event(&ns, "web", "FailedCreate").await;
    let refused = run(&ns, &["why", "rs/web"]);
    let configuration = run(&ns, &["why", &format!("validatingwebhookconfiguration/{}", ns.name())]);
    ns.kubectl(&["delete", "-f", file.to_str().unwrap()]).unwrap();
    assert!(refused.contains("failed calling webhook \"pods.example.org\""), "{refused}");
    assert!(refused.contains("service \"hooks\" not found"), "{refused}");
    assert!(configuration.starts_with("exit 1"), "{configuration}");
    let words = "webhook pods.example.org cannot be called, and what it would review is refused: Service NS/hooks does not exist";
    assert!(configuration.contains(words), "{configuration}");
}
