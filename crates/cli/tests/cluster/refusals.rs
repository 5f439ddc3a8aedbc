//! What `plimsoll plan` and `plimsoll apply` report if something is missing or in the way: once, at once, and with
//! advice for a command line.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run_with, transcript, webhook_for, with_input};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-refusals").await
}

fn written(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}

#[tokio::test]
async fn a_namespace_that_nothing_creates_is_reported_once_without_waiting() {
    let ns = namespace().await;
    let settings = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "none-such" } });
    let input = written(&["a", "b", "c", "d", "e", "f"].map(settings));
    let apply = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["apply", "-f", "-"]).env("KUBECONFIG", Sandbox::shared().kubeconfig());
        command.env("COLUMNS", "100").env("NO_COLOR", "1");
        command
    };
    insta::assert_snapshot!(transcript(&with_input(apply(), &input), &ns), @r#"
    exit 1
    --- stdout
    ! ConfigMap none-such/a
    ! ConfigMap none-such/b
    ! ConfigMap none-such/c
    ! ConfigMap none-such/d
    ! ConfigMap none-such/e
    ! ConfigMap none-such/f
    --- stderr
    error[namespace-missing]: Apply: Namespace Not Found
      object: ConfigMap none-such/a

      Namespace "none-such" not found.

      ConfigMap none-such/a needs it to exist.

      The same applies to 5 others: ConfigMap none-such/b, ConfigMap none-such/c, ConfigMap none-such/d
      and 2 more.

    hint: Check its spelling, add it to the files, or create it first: kubectl create namespace
          none-such
    6 refused
    "#);
}

#[tokio::test]
async fn the_entry_of_a_secret_that_is_not_base64_is_named_and_its_value_is_not() {
    let ns = namespace().await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" },
        "data": { "user": "YWxpY2U=", "tls.key": "hunter2!" },
    });
    for command in ["plan", "apply"] {
        let refused = run_with(&ns, &[command, "-f", "-"], &secret.to_string());
        assert!(refused.contains(r#"Not base64: data["tls.key"]."#), "{refused}");
        assert!(refused.contains("or write them as they are under stringData"), "{refused}");
        assert!(!refused.contains("hunter2") && !refused.contains("alice"), "{refused}");
    }
}

#[tokio::test]
async fn an_apply_does_not_wait_for_a_kind_that_nothing_creates() {
    let ns = namespace().await;
    let slip = json!({ "apiVersion": "apps/v1", "kind": "Deploymnet", "metadata": { "name": "web" } });
    insta::assert_snapshot!(run_with(&ns, &["apply", "-f", "-"], &slip.to_string()), @r#"
    exit 1
    --- stdout
    ! Deploymnet web
    --- stderr
    error[kind-missing]: Apply: Custom Resource Definition Not Found
      object: Deploymnet web

      CRD for Deploymnet/web not found: no matches for kind "Deploymnet" in "apps/v1".

      The cluster serves the group apps in version v1, but not this kind.

      Did you mean apps/v1 Deployment?

    hint: Correct apiVersion and kind (apiVersion: apps/v1, kind: Deployment), or install the CRD.
    1 refused
    "#);
}

#[tokio::test]
async fn immutable_fields_get_advice_for_the_command_line() {
    let ns = namespace().await;
    let secret = |value: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "fixed" }, "immutable": true, "data": { "a": value } });
    ns.apply_as("plimsoll", &secret("1")).await;
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &secret("2").to_string()), @r#"
    exit 1
    --- stdout
    ! ConfigMap NS/fixed
    --- stderr
    error[field-immutable]: Plan: Immutable Field Changed
     --> <stdin>:1:28
      |
    1 | {"apiVersion":"v1","data":{"a":"2"},"immutable":true,"kind":"ConfigMap","metadata":{"name":"f...
      |                            ^^^
      |
      = object: ConfigMap NS/fixed
      = field: data.a

      These fields of ConfigMap NS/fixed cannot be changed:

        data.a: "1" → "2"

      The server rejected ConfigMap NS/fixed:

        Field: data
        Error: Forbidden: field is immutable when `immutable` is set

    hint: Revert the change, or delete the object and create it again with --replace.
    1 refused
    "#);
}

#[tokio::test]
async fn a_quota_is_not_reported_as_missing_rights() {
    let ns = namespace().await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" }, "spec": { "hard": { "count/podtemplates": "0" } },
    });
    ns.apply_as("another-manager", &quota).await;
    ns.until(&quota, "it has a status", |object| object.is_some_and(|it| it["status"]["hard"].is_object()))
        .await;
    let pod = json!({ "containers": [{ "name": "a", "image": "b" }] });
    let template = json!({ "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": "t" }, "template": { "spec": pod } });
    insta::assert_snapshot!(run_with(&ns, &["apply", "-f", "-"], &template.to_string()), @r#"
    exit 1
    --- stdout
    ! PodTemplate NS/t
    --- stderr
    error[permission-denied]: Apply: Insufficient Permissions
      object: PodTemplate NS/t

      Could not apply PodTemplate NS/t. The server says: podtemplates "t" is forbidden:
      exceeded quota: none, requested: count/podtemplates=1, used: count/podtemplates=0, limited:
      count/podtemplates=0

    hint: Follow the server's message: a webhook, policy, quota or ongoing deletion forbids this, and no
          permission is missing.
    1 refused
    "#);
}

#[tokio::test]
async fn long_values_are_cut_around_the_difference() {
    let ns = namespace().await;
    let service = |value: &str| {
        let prefix = "app.kubernetes.io";
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
            "spec": {
                "ports": [{ "port": 80 }],
                "selector": { format!("{prefix}/component"): "storefront", format!("{prefix}/instance"): "release", format!("{prefix}/name"): value },
            },
        })
    };
    ns.apply_as("plimsoll", &service("shop")).await;
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &service("shopping").to_string()), @"
    exit 2
    --- stdout
    ~ Service NS/web
        spec.selector:   held by plimsoll
            app.kubernetes.io/component: storefront
            app.kubernetes.io/instance: release
          - app.kubernetes.io/name: shop
          + app.kubernetes.io/name: shopping
    --- stderr
    1 to change
    ");
}

#[tokio::test]
async fn files_are_checked_before_the_cluster() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let without_cluster = |arguments: &[&str], input: &str| {
        let mut command = plimsoll(&ns, arguments);
        command.env_remove("KUBECONFIG").env("HOME", folder.path()).current_dir(folder.path());
        transcript(&with_input(command, input), &ns)
    };
    insta::assert_snapshot!(without_cluster(&["plan", "-f", "none.yaml"], ""), @"
    exit 1
    --- stderr
    error[file-unreadable]: cannot read none.yaml

      Cause: No such file or directory (os error 2).
    ");
    insta::assert_snapshot!(without_cluster(&["apply", "-f", "-"], "# Source: shop/templates/hpa.yaml\n---\n"), @"
    exit 1
    --- stderr
    error[file-unreadable]: the input contains no objects

    hint: Check the command or file that produces it: comments and empty documents are not objects.
    ");
    std::fs::write(folder.path().join("shop.yaml"), "").unwrap();
    insta::assert_snapshot!(without_cluster(&["plan", "shop.yaml"], ""), @"
    exit 1
    --- stderr
    error: unexpected argument 'shop.yaml' found

      tip: to pass a file or a folder, write '-f shop.yaml'

    Usage: plimsoll plan [OPTIONS]

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn a_reader_plans_and_applies_unchanged_objects() {
    let ns = namespace().await;
    let reader = format!("reader-of-{}", ns.name());
    let user = format!("--user={reader}");
    ns.kubectl(&["create", "role", "reader", "--verb=get,list", "--resource=resourcequotas"]).unwrap();
    ns.kubectl(&["create", "rolebinding", "reader", "--role=reader", &user]).unwrap();
    let quota = |name: &str| json!({ "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": name }, "spec": { "hard": { "pods": "9" } } });
    let input = written(&["a", "b", "c", "d", "e", "f"].map(quota));
    assert!(run_with(&ns, &["apply", "-f", "-"], &input).contains("6 created"));
    let apply =
        || run_with(&ns, &["apply", "-f", "-", "--as", &reader], &input).replace("reader-of-NS", "READER");
    let plan = |more: &[&str]| {
        let args = [&["plan", "-f", "-", "--as", &reader], more].concat();
        run_with(&ns, &args, &input).replace("reader-of-NS", "READER")
    };
    // Neither a dry run nor the list of webhooks is allowed: what can be compared locally is shown as such.
    insta::assert_snapshot!(plan(&[]), @"
    exit 0
    --- stderr
    note[not-asked]: ResourceQuota NS/a was only compared locally
      object: ResourceQuota NS/a

      You are not allowed to dry-run it. It is as written, but a webhook or an admission policy could
      still change it.

      The same applies to 5 others: ResourceQuota NS/b, ResourceQuota
      NS/c, ResourceQuota NS/d and 2 more.

    help: plimsoll explain not-asked
    6 unchanged (not asked)
    ");
    let asked: Value = serde_json::from_str(
        plan(&["-o", "json"]).split("--- stdout\n").nth(1).unwrap().split("--- stderr").next().unwrap(),
    )
    .unwrap();
    assert_eq!(
        (&asked["objects"][0]["action"], &asked["objects"][0]["asked"]),
        (&json!("none"), &json!(false))
    );
    // The reader may not list webhooks, so every object is dry-run, and rejected.
    insta::assert_snapshot!(apply(), @r#"
    exit 1
    --- stdout
    ! ResourceQuota NS/a
    ! ResourceQuota NS/b
    ! ResourceQuota NS/c
    ! ResourceQuota NS/d
    ! ResourceQuota NS/e
    ! ResourceQuota NS/f
    --- stderr
    error[permission-denied]: Apply: Insufficient Permissions
      object: ResourceQuota NS/a

      Could not apply ResourceQuota NS/a. The server says: resourcequotas "a" is
      forbidden: User "READER" cannot patch resource "resourcequotas" in API group
      "" in the namespace "NS"

      The same applies to 5 others: ResourceQuota NS/b, ResourceQuota
      NS/c, ResourceQuota NS/d and 2 more.

    hint: Ask an administrator of the cluster for a Role or ClusterRole with the verb and resource named
          above; `kubectl auth can-i` shows what is granted.
    6 refused
    "#);
    let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,mutatingadmissionpolicies,validatingadmissionpolicies";
    ns.kubectl(&["create", "clusterrole", &reader, "--verb=list", &format!("--resource={kinds}")]).unwrap();
    ns.kubectl(&["create", "clusterrolebinding", &reader, &format!("--clusterrole={reader}"), &user])
        .unwrap();
    let transcript = apply();
    ns.kubectl(&["delete", "clusterrole,clusterrolebinding", &reader]).unwrap();
    insta::assert_snapshot!(transcript, @"
    exit 0
    --- stderr
    6 unchanged
    ");
}

#[tokio::test]
async fn a_reader_plans_and_applies_one_unchanged_object() {
    let ns = namespace().await;
    let reader = format!("reader-of-{}", ns.name());
    let user = format!("--user={reader}");
    ns.kubectl(&["create", "role", "reader", "--verb=get,list", "--resource=limitranges"]).unwrap();
    ns.kubectl(&["create", "rolebinding", "reader", "--role=reader", &user]).unwrap();
    let limits = json!({ "apiVersion": "v1", "kind": "LimitRange", "metadata": { "name": "a" }, "spec": { "limits": [] } });
    let input = written(&[limits]);
    assert!(run_with(&ns, &["apply", "-f", "-"], &input).contains("1 created"));
    let check = |expected: [(&str, &str); 2]| {
        for (command, words) in expected {
            let transcript = run_with(&ns, &[command, "-f", "-", "--as", &reader], &input);
            assert!(transcript.contains(words), "{command}: {transcript}");
        }
    };
    check([("plan", "1 unchanged (not asked)"), ("apply", "1 refused")]);

    let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,mutatingadmissionpolicies,validatingadmissionpolicies";
    ns.kubectl(&["create", "clusterrole", &reader, "--verb=list", &format!("--resource={kinds}")]).unwrap();
    ns.kubectl(&["create", "clusterrolebinding", &reader, &format!("--clusterrole={reader}"), &user])
        .unwrap();
    check([("plan", "1 unchanged\n"), ("apply", "1 unchanged\n")]);

    // A webhook concerns the kind, and only the API server knows what it would do.
    let hook = webhook_for(&ns, "limitranges");
    check([("plan", "1 unchanged (not asked)"), ("apply", "1 refused")]);
    check([("drift", "1 in sync (not asked)"), ("apply", "1 refused")]);
    ns.kubectl(&["delete", "-f", hook.path().to_str().unwrap()]).unwrap();
    ns.kubectl(&["delete", "clusterrole,clusterrolebinding", &reader]).unwrap();
}

#[tokio::test]
async fn an_interrupted_apply_reports_what_was_not_applied() {
    let ns = namespace().await;
    let settings = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "a": "b" } });
    // An operator among the objects might create the kind, so the apply waits for it.
    let late =
        json!({ "apiVersion": "none-such.example.org/v1", "kind": "Late", "metadata": { "name": "late" } });
    let mut apply = plimsoll(&ns, &["apply", "-f", "-"]);
    apply.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut apply = apply.spawn().unwrap();
    apply.stdin.take().unwrap().write_all(written(&[late, settings.clone()]).as_bytes()).unwrap();
    ns.until(&settings, "it is applied", |object| object.is_some()).await;
    Command::new("kill").args(["-INT", &apply.id().to_string()]).status().unwrap();
    let transcript = transcript(&apply.wait_with_output().unwrap(), &ns);
    // How much was known at that moment is up to timing; but the late object was not applied.
    let none = "error[interrupted]: interrupted: 2 objects were not applied";
    let one = "1 created\nerror[interrupted]: interrupted: 1 object was not applied";
    assert!(
        transcript.starts_with("exit 130\n") && (transcript.contains(none) || transcript.contains(one)),
        "{transcript}"
    );
}

/// As when cert-manager's manifest and its first objects are applied together: the kind, the configuration of its webhook, and
/// an object that the webhook reviews before it runs.
#[tokio::test(flavor = "multi_thread")]
async fn an_apply_waits_for_a_webhook_that_is_about_to_come_up() {
    let ns = namespace().await;
    let webhook = testkit::Webhook::start().await;
    let group = format!("{}.example.com", ns.name());
    let admission = webhook.admission(ns.name(), (&group, "widgets"), ns.name());
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": { "name": "w", "namespace": ns.name() },
    });
    let mut apply = plimsoll(&ns, &["apply", "-f", "-"]);
    apply.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut apply = apply.spawn().unwrap();
    apply.stdin.take().unwrap().write_all(written(&[definition, admission, widget]).as_bytes()).unwrap();
    webhook.until_refused().await;
    webhook.set_up(true);
    let transcript = transcript(&apply.wait_with_output().unwrap(), &ns);
    assert!(transcript.starts_with("exit 0\n") && transcript.contains("3 created"), "{transcript}");
    ns.kubectl(&["delete", "validatingwebhookconfiguration", ns.name()]).unwrap();
}

/// The places of the first finding about the first object, and its text.
fn places(ns: &Namespace, arguments: &[&str], text: &str) -> (Vec<String>, String) {
    let output = with_input(plimsoll(ns, &[arguments, &["-f", "-", "-o", "json"]].concat()), text);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let finding = report["objects"][0]["findings"][0].clone();
    let also = finding["alsoAt"].as_array().expect("a list").iter();
    let places = std::iter::once(&finding["at"]).chain(also);
    let places = places.map(|place| place.as_str().unwrap_or("none").to_owned()).collect();
    (places, finding["detail"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn every_field_that_the_server_names_is_shown_in_its_file() {
    let ns = namespace().await;
    let check = |arguments: &[&str], text: &str, expected: &[&str]| {
        let (found, detail) = places(&ns, arguments, text);
        let found: Vec<&str> = found.iter().map(|place| place.trim_start_matches("<stdin>:")).collect();
        assert_eq!(found, expected, "{detail}");
        detail
    };
    // Several fields of a validation, by position. The target ports are defaults, so that their list elements are shown.
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  sessionAffinity: Sometimes\n  ports:\n  - name: a\n    port: 0\n  - name: b\n    port: 70000\n";
    let detail = check(&["plan"], service, &["6:3", "8:5", "9:5", "10:5", "11:5"]);
    assert!(detail.contains("Field: spec.ports[port=0,protocol=\"TCP\"].port"), "{detail}");
    // Fields of the schema check, by key: one in each item, because the server stops at the first that it meets, in no order.
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: a\n    image: b\n    imagePolicy: x\n  - name: c\n    image: d\n    ports:\n    - containerPort: 80\n      hostprt: 1\n";
    check(&["plan"], pod, &["9:5", "14:7"]);
    // A quantity, of which the server does not say where it is.
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: a\n    image: b\n    resources:\n      limits:\n        memory: 1 Gi\n";
    check(&["plan"], pod, &["11:9"]);
    // A field that is missing: the closest thing that is there.
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - image: b\n    name: a\n    volumeMounts:\n    - name: v\n";
    let (found, _) = places(&ns, &["plan"], pod);
    assert!(found.iter().any(|place| place.ends_with(":10:5") || place.ends_with(":10:7")), "{found:?}");
    // Conflicts, with dots in a name.
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    example.org/team: ours\ndata:\n  k: ours\n  app.conf: ours\n";
    let theirs = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "example.org/team": "theirs" } }, "data": { "k": "theirs", "app.conf": "theirs" } });
    ns.apply_as("others", &theirs).await;
    let detail = check(&["plan"], map, &["6:5", "8:3", "9:3"]);
    assert!(detail.contains("metadata.labels[\"example.org/team\"] (managed by others)"), "{detail}");
    assert!(detail.contains("data[\"app.conf\"] (managed by others)"), "{detail}");
    check(&["apply"], map, &["6:5", "8:3", "9:3"]);
    // The paths that are named can be pasted.
    let taken = run_with(
        &ns,
        &[
            "apply",
            "-f",
            "-",
            "--take",
            "data.k",
            "--take",
            "data[\"app.conf\"]",
            "--take",
            "metadata.labels[\"example.org/team\"]",
        ],
        map,
    );
    assert!(taken.starts_with("exit 0"), "{taken}");
}
