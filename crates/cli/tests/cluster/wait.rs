//! `plimsoll wait`

use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{in_one_line, plimsoll, run, run_with};

/// A Deployment whose pods fit on no node.
pub(crate) fn unschedulable(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": {
                    "nodeSelector": { "disk": "none-such" },
                    "containers": [{ "name": "web", "image": "web:1" }],
                },
            },
        },
    })
}

fn settings(value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "colour": value, "size": "9" } })
}

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-wait").await
}

#[tokio::test]
async fn a_field_is_printed_without_the_rest_of_its_object() {
    let ns = namespace().await;
    ns.apply_as("other-manager", &settings("red")).await;
    insta::assert_snapshot!(run(&ns, &["wait", "cm/settings", "--for", "field=data.colour"]), @r#"
    exit 0
    --- stdout
    data:
      colour: red
    --- stderr
    met ConfigMap NS/settings field "data.colour"
    "#);
    insta::assert_snapshot!(run(&ns, &["wait", "cm/settings", "--for", "field=data.colour", "-o", "json", "-q"]), @r#"
    exit 0
    --- stdout
    {
      "data": {
        "colour": "red"
      }
    }
    "#);
    insta::assert_snapshot!(run(&ns, &["wait", "configmaps/settings", "--for", "value=data.size=9", "-o", "name", "-q"]), @"
    exit 0
    --- stdout
    configmap/settings
    ");
}

#[tokio::test]
async fn a_wait_that_times_out_is_explained() {
    let ns = namespace().await;
    let deployment = unschedulable("web");
    ns.apply_as("other-manager", &deployment).await;
    ns.until(&deployment, "its controller has seen it", |object| {
        object.is_some_and(|object| object["status"]["observedGeneration"] == 1)
    })
    .await;
    let transcript = run(&ns, &["wait", "deploy/web", "--for", "rollout", "--timeout", "500ms"]);
    assert!(transcript.starts_with("exit 1\n"), "{transcript}");
    assert!(transcript.contains("Deployment did not complete rollout within 500ms"), "{transcript}");
    assert!(transcript.contains("0 of 1 updated replicas are available"), "{transcript}");
    insta::assert_snapshot!(run(&ns, &["wait", "cm/none", "--for", "field=data.x", "--timeout", "100ms"]), @r#"
    exit 1
    --- stderr
    ConfigMap NS/none does not exist yet; waiting
    error[wait-did-not-appear]: Wait Operation Failed
      object: ConfigMap NS/none

      ConfigMap "none" (namespace: "NS") did not appear within 100ms

      Common causes:
        - It has not been created yet, or has another name or namespace
        - The controller that creates it is not running, or failed
        - A quota or an admission webhook refused it

      Look for it:
        kubectl get configmap none -n NS
        kubectl get events -n NS --field-selector involvedObject.name=none

      If it only needs more time, set a longer timeout than 100ms.
    "#);
}

#[tokio::test]
async fn a_wait_that_can_never_be_met_fails_early() {
    let ns = namespace().await;
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "migrate" },
        "spec": { "suspend": true, "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "m", "image": "m:1" }],
        } } },
    });
    ns.apply_as("other-manager", &job).await;
    let failed = json!([{ "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too many",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": "2026-01-01T00:00:00Z" },
        { "type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded", "message": "too many",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": "2026-01-01T00:00:00Z" }]);
    let patch =
        json!({ "status": { "startTime": "2026-01-01T00:00:00Z", "conditions": failed } }).to_string();
    ns.kubectl(&["patch", "job", "migrate", "--subresource", "status", "--type", "merge", "--patch", &patch])
        .unwrap();
    let transcript = run(&ns, &["wait", "job/migrate", "--for", "condition=Complete", "--timeout", "10m"]);
    assert!(
        in_one_line(&transcript).contains("the Job failed (BackoffLimitExceeded): too many"),
        "{transcript}"
    );
}

/// A kind that publishes conditions, and an object of it at generation 2; returns its `TYPE/NAME`.
fn widget(ns: &Namespace) -> String {
    let group = format!("{}.example.com", ns.name());
    let conditions = json!({ "type": "array", "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let properties = json!({
        "spec": { "type": "object", "properties": { "size": { "type": "integer" } } },
        "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "conditions": conditions } },
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
            }],
        },
    });
    let widget = |size: u8| json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "a" }, "spec": { "size": size } });
    for text in [format!("{definition}\n---\n{}", widget(1)), widget(2).to_string()] {
        let applied = run_with(ns, &["apply", "-f", "-"], &text);
        assert!(applied.starts_with("exit 0"), "{applied}");
    }
    format!("widgets.{group}/a")
}

#[tokio::test]
async fn a_status_of_the_previous_generation_does_not_end_a_wait() {
    let ns = namespace().await;
    let widget = widget(&ns);
    let report = |generation: u8| {
        let conditions = json!([{ "type": "Ready", "status": "True" }]);
        let status = json!({ "status": { "observedGeneration": generation, "endpoint": "x", "conditions": conditions } });
        ns.kubectl(&[
            "patch",
            &widget,
            "--subresource",
            "status",
            "--type",
            "merge",
            "-p",
            &status.to_string(),
        ])
        .unwrap();
    };
    let forms = ["condition=ready", "field=status.endpoint", "value=status.endpoint=x", "rollout"];
    report(1);
    for form in forms {
        let transcript = run(&ns, &["wait", &widget, "--for", form, "--timeout", "300ms"]);
        assert!(transcript.starts_with("exit 1\n"), "{form}: {transcript}");
        let why = "the controller has observed generation 1 of 2";
        assert!(in_one_line(&transcript).contains(why), "{form}: {transcript}");
    }
    report(2);
    for form in forms {
        let transcript = run(&ns, &["wait", &widget, "--for", form]);
        assert!(transcript.starts_with("exit 0\n"), "{form}: {transcript}");
    }
}

#[tokio::test]
async fn an_object_that_no_controller_has_seen_is_not_ready() {
    let ns = namespace().await;
    let widget = widget(&ns);
    let why = "its controller has not reported a condition yet";
    for command in [
        &["wait", &widget, "--for", "rollout", "--timeout", "300ms"][..],
        &["why", &widget],
        &["tree", &widget],
    ] {
        let transcript = run(&ns, command);
        assert!(transcript.contains(why), "{command:?}: {transcript}");
    }
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "none-such",
            "resources": { "requests": { "storage": "1Gi" } },
        },
    });
    let transcript = run_with(&ns, &["apply", "-f", "-", "--wait", "--timeout", "500ms"], &claim.to_string());
    assert!(
        transcript.starts_with("exit 1\n") && transcript.contains("did not become ready within 500ms"),
        "{transcript}"
    );
    assert!(transcript.contains("it is Pending"), "{transcript}");
}

#[tokio::test]
async fn deleting_the_object_ends_the_wait() {
    let ns = namespace().await;
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "finalizers": ["example.org/hold"] } });
    ns.apply_as("other-manager", &held).await;
    let mut child = plimsoll(&ns, &["wait", "cm/held", "--for", "field=data.x", "--timeout", "10m"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    ns.kubectl(&["delete", "cm", "held", "--wait=false"]).unwrap();
    let mut transcript = String::new();
    child.stderr.take().unwrap().read_to_string(&mut transcript).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(in_one_line(&transcript).contains("deletion was requested at"), "{transcript}");
    ns.merge_as("other-manager", &held, &json!({ "metadata": { "finalizers": null } })).await;
}

#[tokio::test]
async fn an_invalid_wait_is_refused_at_once() {
    let ns = namespace().await;
    insta::assert_snapshot!(run(&ns, &["wait", "svc/web", "--for", "rollout"]), @"
    exit 1
    --- stderr
    error[wait-rollout-unsupported]: Rollout Not Supported
      field: --for

      Service does not roll out, so rollout = true has nothing to wait for. Rollout is for Deployment,
      StatefulSet, DaemonSet, ReplicaSet, Job and kinds that report Ready or Available. Use field,
      field_value or condition instead.
    ");
    insta::assert_snapshot!(run(&ns, &["wait", "svc/web", "--for", "field=status["]), @r#"
    exit 1
    --- stderr
    error[wait-invalid-path]: Invalid JSONPath Syntax
      field: --for

      "status[" is not a path in kubectl's JSONPath: unterminated array.

      Examples:
        status.phase
        status.loadBalancer.ingress[0].ip
        status.conditions[?(@.type=="Ready")].status
        metadata.annotations.example\.com/name
    "#);
    insta::assert_snapshot!(run(&ns, &["wait", "svc/web", "--for", "ready"]), @r#"
    exit 1
    --- stderr
    error: invalid value 'ready' for '--for <WHAT>': "ready" is not something to wait for; write field=PATH, value=PATH=TEXT, condition=TYPE[=STATUS] or rollout

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(run(&ns, &["wait", "web", "--for", "rollout"]), @"
    exit 1
    --- stderr
    error[objects-unclear]: a kind is named, but no object

    hint: Name objects, as in `deploy/web` or `deploy web`, select them, as in `pods -l app=web` or
          `pods --all`, or pass files with -f.
    ");
}

#[tokio::test]
async fn the_forms_of_kubectl_are_understood() {
    let ns = namespace().await;
    ns.apply_as("other-manager", &settings("red")).await;
    for wanted in ["jsonpath={.data.colour}=red", "jsonpath=.data.colour=red", "create"] {
        let transcript = run(&ns, &["wait", "cm/settings", "--for", wanted]);
        assert!(transcript.starts_with("exit 0"), "{wanted}: {transcript}");
    }
    // Without time, everything is looked at once.
    for (wanted, object, expected) in [
        ("value=data.colour=red", "cm/settings", "exit 0"),
        ("value=data.colour=blue", "cm/settings", "exit 1"),
        ("create", "cm/settings", "exit 0"),
        ("delete", "cm/settings", "exit 1"),
        ("delete", "cm/none", "exit 0"),
        ("rollout", "cm/none", "exit 1"),
    ] {
        let transcript = run(&ns, &["wait", object, "--for", wanted, "--timeout", "0"]);
        assert!(transcript.starts_with(expected), "{object} {wanted}: {transcript}");
    }
    insta::assert_snapshot!(run(&ns, &["wait", "cm/none", "--for", "create", "--timeout", "100ms"]), @"
    exit 1
    --- stderr
    ConfigMap NS/none does not exist yet; waiting
    error[object-missing]: ConfigMap NS/none does not exist after 100ms

      Last state: it does not exist.

    hint: Raise --timeout if it only needs more time.
    ");
    insta::assert_snapshot!(run(&ns, &["wait", &format!("ns/{}", ns.name()), "--for", "condition=Ready=False", "--timeout", "100ms"]), @r#"
    exit 1
    --- stderr
    error[wait-never]: Wait Operation Failed
      object: Namespace NS

      Wait Timeout Cut Short: Namespace/NS

      Namespace did not reach condition "Ready"=False: Kubernetes sets no condition "Ready" on a
      Namespace, only NamespaceContentRemaining, NamespaceDeletionContentFailure,
      NamespaceDeletionDiscoveryFailure, NamespaceDeletionGroupVersionParsingFailure,
      NamespaceFinalizersRemaining
      Waiting for the rest of the timeout of 100ms would not help.

      To investigate:
        kubectl describe namespace NS
        kubectl get namespace NS -o yaml
        kubectl get events --field-selector involvedObject.name=NS
    "#);
}

#[tokio::test]
async fn a_condition_that_a_kind_never_has_ends_the_wait_at_once() {
    let ns = Sandbox::shared().namespace("cli-wait").await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": 0, "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } },
        },
    });
    ns.apply_as("plimsoll", &deployment).await;
    let met = run(&ns, &["wait", "deploy/web", "--for", "condition=available", "--timeout", "20s"]);
    assert!(met.starts_with("exit 0"), "{met}");
    // Neither object has to exist, and nothing is waited for.
    for object in ["deploy/web", "sts/none"] {
        let output = run(&ns, &["wait", object, "--for", "condition=Availible", "--timeout", "10m"]);
        assert!(output.starts_with("exit 1\n"), "{output}");
        assert!(in_one_line(&output).contains("Availible\"=True: Kubernetes sets no condition"), "{output}");
    }
    insta::assert_snapshot!(run(&ns, &["wait", "sts/none", "--for", "condition=Available", "--timeout", "10m"]), @r#"
    exit 1
    --- stderr
    error[wait-never]: Wait Operation Failed
      object: StatefulSet NS/none

      Wait Timeout Cut Short: StatefulSet/NS/none

      StatefulSet did not reach condition "Available"=True: Kubernetes sets no conditions on a
      StatefulSet
      Waiting for the rest of the timeout of 10m0s would not help.

      To investigate:
        kubectl describe statefulset none -n NS
        kubectl get statefulset none -n NS -o yaml
        kubectl get events -n NS --field-selector involvedObject.name=none
    "#);
    ns.kubectl(&[
        "patch",
        "deploy/web",
        "--subresource=status",
        "--type=json",
        "--patch",
        r#"[{"op":"add","path":"/status/conditions/-","value":{"type":"Approved","status":"True"}}]"#,
    ])
    .unwrap();
    let of_others = run(&ns, &["wait", "deploy/web", "--for", "condition=Approved", "--timeout", "20s"]);
    assert!(of_others.starts_with("exit 0"), "{of_others}");
}

#[tokio::test]
async fn the_crd_says_which_conditions_there_can_be() {
    let ns = namespace().await;
    let group = format!("{}.example.org", ns.name());
    let item = json!({ "type": "object", "properties": { "type": { "type": "string", "enum": ["Ready", "Synced"] }, "status": { "type": "string" } } });
    let listing =
        json!({ "type": "object", "properties": { "conditions": { "type": "array", "items": item } } });
    let definition = |kind: &str, status: Option<Value>| {
        let plural = format!("{}s", kind.to_lowercase());
        let mut schema = json!({ "type": "object" });
        if let Some(status) = status {
            schema["properties"]["status"] = status;
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group, "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
            },
        })
    };
    let files = [definition("Listing", Some(listing)), definition("Silent", None)];
    let files = files.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    let applied = run_with(&ns, &["apply", "-f", "-", "--wait"], &files);
    assert!(applied.starts_with("exit 0"), "{applied}");
    let check = |object: &str, words: &str| {
        let output = run(&ns, &["wait", object, "--for", "condition=Redy", "--timeout", "10m"]);
        assert!(output.starts_with("exit 1") && in_one_line(&output).contains(words), "{output}");
    };
    check(
        &format!("listings.{group}/a"),
        "the CRD of Listing allows no condition \"Redy\", only Ready, Synced",
    );
    check(&format!("silents.{group}/a"), "a Silent has no conditions, because its CRD declares none");
}

#[tokio::test]
async fn a_condition_that_no_object_of_the_kind_reports_is_pointed_out() {
    let ns = namespace().await;
    let widget = widget(&ns);
    let report = json!({ "status": { "conditions": [{ "type": "Synced", "status": "True" }] } }).to_string();
    ns.kubectl(&["patch", &widget, "--subresource", "status", "--type", "merge", "-p", &report]).unwrap();
    let (kind, _) = widget.split_once('/').unwrap();
    let unknown = run(&ns, &["wait", kind, "other", "--for", "condition=Synkd", "--timeout", "200ms"]);
    assert!(unknown.contains("warning[wait-unknown-condition]: Unknown Condition"), "{unknown}");
    assert!(in_one_line(&unknown).contains("Conditions that they report: Synced."), "{unknown}");
    // An object that does not report it yet is no reason to warn, if another one does.
    let known = run(&ns, &["wait", kind, "other", "--for", "condition=synced", "--timeout", "200ms"]);
    assert!(!known.contains("warning"), "{known}");
}

#[tokio::test]
async fn a_wait_ends_when_the_opposite_is_final() {
    let ns = Sandbox::shared().namespace("cli-wait").await;
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "done" },
        "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "a", "image": "busybox" }] } }, "suspend": true },
    });
    ns.apply_as("plimsoll", &job).await;
    let time = "2026-01-01T00:00:00Z";
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": time, "lastProbeTime": time });
    let status = json!({ "status": {
        "startTime": time, "completionTime": time, "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    } });
    ns.kubectl(&[
        "patch",
        "job/done",
        "--subresource=status",
        "--type=merge",
        "--patch",
        &status.to_string(),
    ])
    .unwrap();
    let output = run(&ns, &["wait", "job/done", "--for", "condition=failed"]);
    assert!(output.starts_with("exit 1") && output.contains("the Job completed"), "{output}");
}

#[tokio::test]
async fn values_of_secrets_are_masked_unless_asked_for() {
    let ns = Sandbox::shared().namespace("cli-wait").await;
    ns.apply_as(
        "plimsoll",
        &json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "login" }, "data": { "password": "aHVudGVyMg==" } }),
    )
    .await;
    let wait =
        |more: &[&str]| run(&ns, &[&["wait", "secret/login", "--for", "field=data.password"], more].concat());
    for format in ["text", "json", "yaml"] {
        let shown = wait(&["-o", format]);
        assert!(shown.starts_with("exit 0") && shown.contains("(sensitive "), "{shown}");
        assert!(!shown.contains("aHVudGVyMg"), "{shown}");
    }
    assert!(wait(&["--show-secrets"]).contains("password: aHVudGVyMg=="));
}
