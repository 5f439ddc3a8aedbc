//! The texts people read when a wait is not met.

use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::{Value, json};

use super::*;
use crate::{Check, Cut, Written, WrittenWait};

fn wait(written: WrittenWait) -> Wait {
    WrittenWait { timeout: Written::Known("30s".to_owned()), ..written }.parse(None, Cut::Root).wait.unwrap()
}

fn condition(kind: &str) -> Wait {
    wait(WrittenWait { condition: Written::Known(kind.to_owned()), ..Default::default() })
}

fn rollout() -> Wait {
    wait(WrittenWait { rollout: Written::Known(true), ..Default::default() })
}

fn field(path: &str) -> Wait {
    wait(WrittenWait { field: Written::Known(path.to_owned()), ..Default::default() })
}

fn values(pairs: &[(&str, &str)]) -> Wait {
    let values = pairs.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    wait(WrittenWait { field_value: Written::Known(values), ..Default::default() })
}

fn target(gvk: &str, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(gvk.parse::<GroupVersionKind>().unwrap(), Namespace::new(namespace), name)
}

/// The text of a timeout, under the title all of them have.
fn timeout(wait: &Wait, target: &ObjectRef, object: &Value, pods: &[Value]) -> String {
    let diagnostic = wait.diagnose(target, Cause::TimedOut { object, pods });
    assert_eq!(diagnostic.summary, "Wait Operation Failed");
    assert_eq!(diagnostic.code, codes::TIMED_OUT);
    assert!(diagnostic.detail.contains("timeout"), "users match on the word");
    diagnostic.detail
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web", "tier": "front"}}},
        "status": {
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2,
            "conditions": [
                {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": "Deployment does not have minimum availability."},
                {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"},
            ],
        },
    })
}

fn pods() -> Vec<Value> {
    let pod = |name: &str, status: Value| json!({"metadata": {"name": name}, "status": status});
    vec![
        pod(
            "web-1",
            json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]}),
        ),
        pod(
            "web-2",
            json!({"containerStatuses": [
                {"name": "fine", "state": {"running": {}}},
                {"name": "app", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "x".repeat(100)}}},
            ]}),
        ),
        pod(
            "web-3",
            json!({"containerStatuses": [
                {"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}}, "lastState": {"terminated": {"exitCode": 3}}},
            ]}),
        ),
        pod(
            "web-4",
            json!({"containerStatuses": [{"name": "app", "state": {"terminated": {"reason": "Error", "exitCode": 1}}}]}),
        ),
    ]
}

#[test]
fn an_object_that_never_existed() {
    let claim = target("v1/PersistentVolumeClaim", "shop", "data");
    let diagnostic = field("status.phase").diagnose(&claim, Cause::DidNotAppear);
    assert_eq!(
        (diagnostic.code, diagnostic.object.as_deref()),
        (codes::DID_NOT_APPEAR, Some("PersistentVolumeClaim shop/data"))
    );
    insta::assert_snapshot!(diagnostic.detail, @r#"
    PersistentVolumeClaim "data" (namespace: "shop") did not appear within 30s

    Common causes:
      - It has not been created yet, or has another name or namespace
      - The controller that creates it is not running, or failed
      - A quota or an admission webhook refused it

    Look for it:
      kubectl get persistentvolumeclaim data -n shop
      kubectl get events -n shop --field-selector involvedObject.name=data

    If it only needs more time, set a longer timeout than 30s.
    "#);
    let widget = target("example.com/v1/Widget", "", "big");
    insta::assert_snapshot!(rollout().diagnose(&widget, Cause::DidNotAppear).detail, @r#"
    Widget "big" did not appear within 30s

    Common causes:
      - It has not been created yet, or has another name or namespace
      - The controller that creates it is not running, or failed
      - A quota or an admission webhook refused it

    Look for it:
      kubectl get widget.example.com big
      kubectl get events --field-selector involvedObject.name=big

    If it only needs more time, set a longer timeout than 30s.
    "#);
}

#[test]
fn a_condition_that_is_false() {
    let web = target("apps/v1/Deployment", "shop", "web");
    insta::assert_snapshot!(timeout(&condition("Available"), &web, &deployment(), &pods()), @r#"
    Wait Timeout: Deployment/shop/web

    Deployment did not reach condition "Available"=True within 30s

    Current status:
      Replicas: 0/2 ready, 0 available, 2 unavailable
      Conditions:
        Available=False (MinimumReplicasUnavailable): Deployment does not have minimum availability.
        Progressing=True (ReplicaSetUpdated)
      Pod issues:
        web-1: cannot be scheduled (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.
        web-2: container "app" is waiting (ImagePullBackOff)
        web-3: container "app" is waiting (CrashLoopBackOff): back-off 10s restarting, last exit code 3

    Condition "Available" exists with status False, reason MinimumReplicasUnavailable, message: Deployment does not have minimum availability.

    To investigate:
      kubectl describe deployment web -n shop
      kubectl get deployment web -n shop -o yaml
      kubectl get pods -l 'app=web,tier=front' -n shop
      kubectl get events -n shop --field-selector involvedObject.name=web

    If it only needs more time, set a longer timeout than 30s.
    "#);
}

#[test]
fn a_condition_that_never_appeared() {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "spec": {"selector": {"matchLabels": {"job-name": "migrate"}}},
        "status": {"active": 1, "conditions": [{"type": "Suspended", "status": "False", "reason": "JobResumed"}]},
    });
    let migrate = target("batch/v1/Job", "shop", "migrate");
    insta::assert_snapshot!(timeout(&condition("Complete"), &migrate, &job, &pods()[3..]), @r#"
    Wait Timeout: Job/shop/migrate

    Job did not reach condition "Complete"=True within 30s

    Current status:
      Pods: 1 active, 0 succeeded, 0 failed
      Conditions:
        Suspended=False (JobResumed)
      Pod issues:
        web-4: container "app" exited with code 1 (Error)

    Condition "Complete" never appeared; check its name against those above.

    To investigate:
      kubectl describe job migrate -n shop
      kubectl get job migrate -n shop -o yaml
      kubectl get pods -l 'job-name=migrate' -n shop
      kubectl get events -n shop --field-selector involvedObject.name=migrate

    If it only needs more time, set a longer timeout than 30s.
    "#);
}

#[test]
fn an_object_without_any_condition() {
    let mut web = deployment();
    web["status"] = json!({});
    let name = target("apps/v1/Deployment", "shop", "web");
    insta::assert_snapshot!(timeout(&condition("Available"), &name, &web, &[]), @r#"
    Wait Timeout: Deployment/shop/web

    Deployment did not reach condition "Available"=True within 30s: no conditions found

    The controller of this Deployment has not reported anything yet; is it running?

    Current status:
      Replicas: 0/2 ready, 0 available, 2 unavailable

    To investigate:
      kubectl describe deployment web -n shop
      kubectl get deployment web -n shop -o yaml
      kubectl get pods -l 'app=web,tier=front' -n shop
      kubectl get events -n shop --field-selector involvedObject.name=web

    If it only needs more time, set a longer timeout than 30s.
    "#);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let name = target("v1/ConfigMap", "shop", "settings");
    insta::assert_snapshot!(timeout(&condition("Ready"), &name, &map, &[]), @r#"
    Wait Timeout: ConfigMap/shop/settings

    ConfigMap did not reach condition "Ready"=True within 30s: no conditions found

    Not every kind reports conditions. If ConfigMap does not, wait for a field or for its value instead:
      wait_for = { field = "status.someField" }
      wait_for = { field_value = { "status.phase" = "Active" } }

    To investigate:
      kubectl describe configmap settings -n shop
      kubectl get configmap settings -n shop -o yaml
      kubectl get events -n shop --field-selector involvedObject.name=settings

    If it only needs more time, set a longer timeout than 30s.
    "#);
}

#[test]
fn a_rollout_that_does_not_finish() {
    let web = target("apps/v1/Deployment", "shop", "web");
    insta::assert_snapshot!(timeout(&rollout(), &web, &deployment(), &pods()[..1]), @"
    Wait Timeout: Deployment/shop/web

    Deployment did not complete rollout within 30s

    Still to come: 0 of 2 updated replicas are available; Available is False (MinimumReplicasUnavailable): Deployment does not have minimum availability.

    Current status:
      Replicas: 0/2 ready, 0 available, 2 unavailable
      Conditions:
        Available=False (MinimumReplicasUnavailable): Deployment does not have minimum availability.
        Progressing=True (ReplicaSetUpdated)
      Pod issues:
        web-1: cannot be scheduled (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.

    To investigate:
      kubectl describe deployment web -n shop
      kubectl get deployment web -n shop -o yaml
      kubectl get pods -l 'app=web,tier=front' -n shop
      kubectl get events -n shop --field-selector involvedObject.name=web

    If it only needs more time, set a longer timeout than 30s.
    ");
    let agent = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "status": {"observedGeneration": 1, "desiredNumberScheduled": 3, "numberReady": 1, "updatedNumberScheduled": 2},
    });
    insta::assert_snapshot!(timeout(&rollout(), &target("apps/v1/DaemonSet", "kube-system", "agent"), &agent, &[]), @"
    Wait Timeout: DaemonSet/kube-system/agent

    DaemonSet did not complete rollout within 30s

    Still to come: 2 of 3 pods are updated

    Current status:
      Replicas: 1/3 ready, 2/3 updated

    To investigate:
      kubectl describe daemonset agent -n kube-system
      kubectl get daemonset agent -n kube-system -o yaml
      kubectl get events -n kube-system --field-selector involvedObject.name=agent

    If it only needs more time, set a longer timeout than 30s.
    ");
}

#[test]
fn a_field_that_stays_empty() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "status": {"loadBalancer": {}}});
    let name = target("v1/Service", "shop", "web");
    insta::assert_snapshot!(timeout(&field("status.loadBalancer.ingress"), &name, &service, &[]), @r#"
    Wait Timeout: Service/shop/web

    Service "web" in namespace "shop" field "status.loadBalancer.ingress" was not populated within 30s

    Last seen: field "status.loadBalancer.ingress" is not set: ingress is not found

    Common causes:
      - The controller that fills it in is not running, or has not got to it yet
      - It waits for something outside the cluster, such as a load balancer or a volume
      - The path is not the one this kind has: status.loadBalancer.ingress

    To investigate:
      kubectl describe service web -n shop
      kubectl get service web -n shop -o yaml
      kubectl get events -n shop --field-selector involvedObject.name=web

    If it only needs more time, set a longer timeout than 30s.
    "#);
}

#[test]
fn values_that_stay_different() {
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "status": {"phase": "Pending", "reason": "x"}});
    let wait = values(&[("status.phase", "Bound"), ("status.reason", "x"), ("status.message", "ok")]);
    insta::assert_snapshot!(timeout(&wait, &target("v1/PersistentVolume", "", "disk"), &volume, &[]), @r#"
    Wait Timeout: PersistentVolume/disk

    PersistentVolume "disk" did not reach the expected field values within 30s

    Expected values:
      status.message: "ok"
      status.phase: "Bound"
      status.reason: "x"

    Current values:
      status.message: (not set)
      status.phase: "Pending"
      status.reason: as expected

    To investigate:
      kubectl describe persistentvolume disk
      kubectl get persistentvolume disk -o yaml
      kubectl get events --field-selector involvedObject.name=disk

    If it only needs more time, set a longer timeout than 30s.
    "#);
}

#[test]
fn the_content_of_a_secret_is_never_shown() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMg=="}});
    let text =
        timeout(&values(&[("data.password", "c2VjcmV0")]), &target("v1/Secret", "shop", "db"), &secret, &[]);
    assert!(!text.contains("aHVudGVyMg") && !text.contains("c2VjcmV0"), "{text}");
}

#[test]
fn a_wait_that_is_given_up_early() {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "spec": {"selector": {"matchLabels": {"job-name": "migrate"}}},
        "status": {"failed": 1, "conditions": [
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}]},
    });
    let wait = condition("Complete");
    let Check::Never(why) = wait.check(&job) else { panic!("a failed Job does not complete") };
    let migrate = target("batch/v1/Job", "shop", "migrate");
    let diagnostic = wait.diagnose(&migrate, Cause::Never { why: &why, object: &job, pods: &pods()[3..] });
    assert_eq!(diagnostic.code, codes::NEVER);
    insta::assert_snapshot!(diagnostic.detail, @r#"
    Wait Timeout Cut Short: Job/shop/migrate

    Job did not reach condition "Complete"=True: the Job failed (BackoffLimitExceeded): Job has reached the specified backoff limit
    Waiting for the rest of the timeout of 30s would not help.

    Current status:
      Pods: 0 active, 0 succeeded, 1 failed
      Conditions:
        Failed=True (BackoffLimitExceeded): Job has reached the specified backoff limit
      Pod issues:
        web-4: container "app" exited with code 1 (Error)

    To investigate:
      kubectl describe job migrate -n shop
      kubectl get job migrate -n shop -o yaml
      kubectl get pods -l 'job-name=migrate' -n shop
      kubectl get events -n shop --field-selector involvedObject.name=migrate
    "#);
}

#[test]
fn pods_are_found_by_the_labels_of_workloads_and_jobs() {
    assert_eq!(pod_selector(&deployment()).as_deref(), Some("app=web,tier=front"));
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"matchLabels": {"app": "web"}}}});
    assert_eq!(pod_selector(&service), None);
    let empty =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": {"matchLabels": {}}}});
    assert_eq!(pod_selector(&empty), None);
}

/// The patterns of the provider's own acceptance tests.
#[test]
fn texts_have_the_words_that_users_match_on() {
    let ordered = |text: &str, words: &[&str]| {
        let mut rest = text;
        words.iter().all(|word| rest.split_once(word).map(|(_, behind)| rest = behind).is_some())
    };
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "status": {}});
    let name = target("batch/v1/Job", "shop", "migrate");
    for wait in [condition("Complete"), rollout()] {
        let timed_out = timeout(&wait, &name, &job, &[]);
        assert!(ordered(&timed_out, &["Wait Timeout", "Job", "did not"]), "{timed_out}");
        let never = wait.diagnose(&name, Cause::Never { why: "it failed", object: &job, pods: &[] }).detail;
        assert!(ordered(&never, &["Wait Timeout", "Job", "did not"]), "{never}");
        assert!(never.contains("timeout"), "{never}");
        let absent = wait.diagnose(&name, Cause::DidNotAppear).detail;
        assert!(absent.contains("did not appear") && absent.contains("timeout"), "{absent}");
    }
}
