//! `plimsoll plan`, `plimsoll apply` and `plimsoll drift`

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{in_one_line, plimsoll, run, run_with, transcript, with_input};

fn settings(value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "colour": value } })
}

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-plan").await
}

#[tokio::test]
async fn a_plan_shows_fields_and_its_exit_status_tells_whether_anything_changes() {
    let ns = namespace().await;
    let plan = |value: &str| run_with(&ns, &["plan", "-f", "-"], &settings(value).to_string());
    insta::assert_snapshot!(plan("red"), @r#"
    exit 2
    --- stdout
    + ConfigMap NS/settings
        data.colour = "red"
    --- stderr
    1 to create
    "#);
    insta::assert_snapshot!(run_with(&ns, &["apply", "-f", "-"], &settings("red").to_string()), @r#"
    exit 0
    --- stdout
    + ConfigMap NS/settings
        data.colour = "red"
    --- stderr
    1 created
    "#);
    insta::assert_snapshot!(plan("red"), @"
    exit 0
    --- stderr
    1 unchanged
    ");
    insta::assert_snapshot!(plan("blue"), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/settings
        data.colour: "red" → "blue"   held by plimsoll
    --- stderr
    1 to change
    "#);
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-", "-o", "json"], &settings("blue").to_string()), @r#"
    exit 2
    --- stdout
    {
      "objects": [
        {
          "action": "change",
          "apiVersion": "v1",
          "fields": [
            {
              "allocated": false,
              "field": "data.colour",
              "heldAfter": [
                "plimsoll"
              ],
              "heldNow": [
                "plimsoll"
              ],
              "new": "blue",
              "old": "red",
              "row": {
                "name": "update",
                "number": 14
              }
            }
          ],
          "findings": [],
          "kind": "ConfigMap",
          "name": "settings",
          "namespace": "NS",
          "releases": [],
          "takes": []
        }
      ],
      "problems": [],
      "schema": "plimsoll.dev/report/v1"
    }
    --- stderr
    1 to change
    "#);
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-", "-o", "name", "-q"], &settings("blue").to_string()), @"
    exit 2
    --- stdout
    configmap/settings
    ");
}

#[tokio::test]
async fn fields_that_another_manager_changes_are_named_with_their_manager() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &settings("red")).await;
    ns.merge_as("kubectl-edit", &settings(""), &json!({ "data": { "colour": "green" } })).await;
    let input = settings("red").to_string();
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &input), @r#"
    exit 1
    --- stdout
    ~ ConfigMap NS/settings
        data.colour: "green" → "red"   held by kubectl-edit, then by plimsoll
    --- stderr
    error[field-conflict]: Plan: Field Manager Conflict
     --> <stdin>:1:28
      |
    1 | {"apiVersion":"v1","data":{"colour":"red"},"kind":"ConfigMap","metadata":{"name":"settings"}}
      |                            ^^^^^^^^
      |
      = object: ConfigMap NS/settings
      = field: data.colour

      Other managers hold fields of ConfigMap NS/settings that would be set:

        - data.colour (managed by kubectl-edit)

    hint: Leave the fields to the other managers with --ignore PATH or --leave-to MANAGER, or take them
          with --take PATH, or all of them with --force-conflicts.
    1 to change
    "#);
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-", "--force-conflicts"], &input), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/settings
        data.colour: "green" → "red"   held by kubectl-edit, then by plimsoll
    --- stderr
    warning[ownership-taking]: Fields Set by Another Manager (ConfigMap NS/settings)
      object: ConfigMap NS/settings

      Another manager has set these fields, and they will be set to what is written here:

        data.colour: "green" → "red" (modified by: kubectl-edit, last set TIME)

      If that manager sets them again, every plan will show a difference.

    hint: To leave them to the other manager, remove them from the file, or pass --ignore or --leave-to.

    help: plimsoll explain ownership-taking
    1 to change
    "#);
    insta::assert_snapshot!(run_with(&ns, &["apply", "-f", "-", "-q"], &input), @r#"
    exit 1
    --- stderr
    error[field-conflict]: Apply: Field Manager Conflict
     --> <stdin>:1:28
      |
    1 | {"apiVersion":"v1","data":{"colour":"red"},"kind":"ConfigMap","metadata":{"name":"settings"}}
      |                            ^^^^^^^^
      |
      = object: ConfigMap NS/settings
      = field: data.colour

      Other managers hold fields of ConfigMap NS/settings that would be set:

        - data.colour (managed by kubectl-edit)

    hint: Leave the fields to the other managers with --ignore PATH or --leave-to MANAGER, or take them
          with --take PATH, or all of them with --force-conflicts.
    "#);
    let forced = run_with(&ns, &["apply", "-f", "-", "--force-conflicts", "-q"], &input);
    assert!(forced.starts_with("exit 0"), "{forced}");
    assert_eq!(ns.get(&settings("")).await.unwrap()["data"]["colour"], "red");
}

#[tokio::test]
async fn forty_columns_put_managers_on_their_own_line() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &settings("red")).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, settings("blue").to_string()).unwrap();
    let output =
        plimsoll(&ns, &["plan", "-f", path.to_str().unwrap()]).env("COLUMNS", "40").output().unwrap();
    insta::assert_snapshot!(transcript(&output, &ns), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/settings
        data.colour: "red" → "blue"
          held by plimsoll
    --- stderr
    1 to change
    "#);
}

#[tokio::test]
async fn a_kind_and_a_namespace_may_come_with_the_same_files() {
    let ns = namespace().await;
    let group = format!("{}.example.org", ns.name());
    let inner = format!("{}-inner", ns.name());
    // Kinds outlive the test, and a short name shared by several would resolve to the first.
    let short = ns.name().replace('-', "");
    let files = [
        json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "w", "namespace": inner }, "spec": { "size": 3 } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c", "namespace": inner }, "data": { "k": "v" } }),
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": inner } }),
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": format!("widgets.{group}") },
            "spec": {
                "group": group, "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": [short] },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer" } } } },
                } } }],
            },
        }),
    ];
    let input = files.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    // These objects name their namespace, so the command line does not.
    let without_namespace = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(arguments).env("KUBECONFIG", Sandbox::shared().kubeconfig()).env("NO_COLOR", "1");
        let output = with_input(command, &input);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let planned = without_namespace(&["plan", "-f", "-"]);
    assert_eq!(planned, (Some(2), "2 to create, 2 to create later\n".to_owned()));
    let applied = without_namespace(&["apply", "-f", "-"]);
    assert_eq!(applied, (Some(0), "4 created\n".to_owned()));
    let again = without_namespace(&["plan", "-f", "-"]);
    assert_eq!(again, (Some(0), "4 unchanged\n".to_owned()));
    // Only the CRD knows the short name of a custom kind.
    let widget = format!("{short}/w");
    let output = plimsoll(&ns, &["owners", &widget, "-A", "-o", "name"]).output().unwrap();
    assert!(!output.status.success(), "--all-namespaces and --namespace contradict each other");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(["owners", &widget, "-n", &inner, "-o", "name"])
        .env("KUBECONFIG", Sandbox::shared().kubeconfig());
    assert_eq!(String::from_utf8_lossy(&command.output().unwrap().stdout), "plimsoll\n");
}

#[tokio::test]
async fn invalid_documents_are_reported_and_the_others_planned() {
    let ns = namespace().await;
    let input = format!("{}\n---\nkind: ConfigMap\n  broken: [\n---\nkind: None\n", settings("red"));
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &input), @r#"
    exit 1
    --- stdout
    + ConfigMap NS/settings
        data.colour = "red"
    --- stderr
    error[yaml-syntax]: this is not valid YAML
     --> <stdin>:4:9
      |
    4 |   broken: [
      |         ^ mapping values are not allowed in this context

      Reading stopped at 4:9: mapping values are not allowed in this context. This is document 2 of 3.

    hint: Put a text that contains `: ` in quotes, or begin the inner mapping on a line of its own.
    error[manifest-shape]: apiVersion is missing
     --> <stdin>:6:1
      |
    6 | kind: None
      | ^^^^^^^^^^
      |
      = field: apiVersion

      Every Kubernetes object has it.

    hint: Write the API version of the kind, for instance `apiVersion: apps/v1`.
    error[manifest-shape]: metadata.name is missing
     --> <stdin>:6:1
      |
    6 | kind: None
      | ^^^^^^^^^^
      |
      = field: metadata.name

      Every object has a name; the API server makes one up only from metadata.generateName.

    hint: Write the name of the object under `metadata`.
    1 to create, 3 problems
    "#);
    let applied = run_with(&ns, &["apply", "-f", "-"], &input);
    assert!(applied.starts_with("exit 1") && applied.contains("nothing was applied"), "{applied}");
    assert_eq!(ns.get(&settings("")).await, None);
}

#[tokio::test]
async fn refusals_are_reported_for_each_object() {
    let ns = namespace().await;
    let typo =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "dta": { "k": "v" } });
    let kind = json!({ "apiVersion": "apps/v1", "kind": "Deploymnet", "metadata": { "name": "b" } });
    let input = format!("{typo}\n---\n{kind}\n---\n{}", settings("red"));
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &input), @r#"
    exit 1
    --- stdout
    ! ConfigMap NS/a
    + ConfigMap NS/settings
        data.colour = "red"
    ! Deploymnet b
    --- stderr
    error[field-invalid]: Plan: Field Validation Failed
     --> <stdin>:1:20
      |
    1 | {"apiVersion":"v1","dta":{"k":"v"},"kind":"ConfigMap","metadata":{"name":"a"}}
      |                    ^^^^^
      |
      = object: ConfigMap NS/a
      = field: dta

      The server rejected ConfigMap NS/a:

        Field: dta
        Error: field not declared in schema

    hint: Check the spelling and position of the fields named above; `kubectl explain` lists the valid
          ones.
    error[kind-missing]: Plan: Custom Resource Definition Not Found
      object: Deploymnet b

      CRD for Deploymnet/b not found: no matches for kind "Deploymnet" in "apps/v1".

      The cluster serves the group apps in version v1, but not this kind.

      Did you mean apps/v1 Deployment?

    hint: Correct apiVersion and kind (apiVersion: apps/v1, kind: Deployment), or install the CRD.
    1 to create, 2 refused
    "#);
    insta::assert_snapshot!(run(&ns, &["plan", "-f", "/none/such.yaml"]), @"
    exit 1
    --- stderr
    error[file-unreadable]: cannot read /none/such.yaml

      Cause: No such file or directory (os error 2).
    ");
}

#[tokio::test]
async fn secrets_are_planned_without_showing_them() {
    let ns = namespace().await;
    let secret = |value: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "stringData": { "password": value } }).to_string()
    };
    run_with(&ns, &["apply", "-f", "-"], &secret("hunter1"));
    assert!(run_with(&ns, &["plan", "-f", "-"], &secret("hunter1")).starts_with("exit 0"));
    for format in ["text", "json", "yaml"] {
        let transcript = run_with(&ns, &["plan", "-f", "-", "-o", format], &secret("hunter2"));
        assert!(transcript.starts_with("exit 2") && transcript.contains("(sensitive hmac:"), "{transcript}");
        for hidden in ["hunter", "aHVudGVy"] {
            assert!(!transcript.contains(hidden), "{transcript}");
        }
    }
}

#[tokio::test]
async fn an_apply_waits_for_rollouts() {
    let ns = namespace().await;
    let job = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "app": "web" } }, "template": {
            "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
        } },
    });
    let input = format!("{job}\n---\n{}", settings("red"));
    let transcript = run_with(&ns, &["apply", "-f", "-", "--wait"], &input);
    assert!(
        transcript.starts_with("exit 0") && transcript.contains("ready Deployment NS/web"),
        "{transcript}"
    );
    let stuck = crate::wait::unschedulable("stuck").to_string();
    let transcript = run_with(&ns, &["apply", "-f", "-", "--wait", "--timeout", "300ms"], &stuck);
    assert!(
        transcript.starts_with("exit 1")
            && in_one_line(&transcript).contains("did not complete rollout within 300ms"),
        "{transcript}"
    );
}

#[tokio::test]
async fn drift_is_a_different_value_whichever_manager_holds_it() {
    let ns = namespace().await;
    ns.apply_as("argocd", &settings("red")).await;
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("drift.xml");
    let drift = |value: &str| {
        run_with(&ns, &["drift", "-f", "-", "--junit", junit.to_str().unwrap()], &settings(value).to_string())
    };
    insta::assert_snapshot!(drift("red"), @"
    exit 0
    --- stderr
    1 in sync
    ");
    insta::assert_snapshot!(std::fs::read_to_string(&junit).unwrap().replace(ns.name(), "NS"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites>
      <testsuite name="plimsoll drift" tests="1" failures="0" errors="0">
        <testcase classname="ConfigMap" name="NS/settings"></testcase>
      </testsuite>
    </testsuites>
    "#);
    insta::assert_snapshot!(drift("blue"), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/settings
        data.colour: "red" → "blue"   held by argocd, then by plimsoll
    --- stderr
    1 different
    "#);
    insta::assert_snapshot!(std::fs::read_to_string(&junit).unwrap().replace(ns.name(), "NS"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites>
      <testsuite name="plimsoll drift" tests="1" failures="1" errors="0">
        <testcase classname="ConfigMap" name="NS/settings"><failure message="1 field differs">data.colour: &quot;red&quot; → &quot;blue&quot;</failure></testcase>
      </testsuite>
    </testsuites>
    "#);
}

#[tokio::test]
async fn forty_columns_and_colour_say_the_same() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &settings("red")).await;
    let input = settings("blue").to_string();
    let narrow = with_input(
        {
            let mut command = plimsoll(&ns, &["plan", "-f", "-"]);
            command.env("COLUMNS", "40");
            command
        },
        &input,
    );
    insta::assert_snapshot!(transcript(&narrow, &ns), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/settings
        data.colour: "red" → "blue"
          held by plimsoll
    --- stderr
    1 to change
    "#);
    let mut coloured = plimsoll(&ns, &["plan", "-f", "-", "--color", "always"]);
    coloured.env_remove("NO_COLOR");
    let coloured = transcript(&with_input(coloured, &input), &ns);
    assert!(coloured.contains('\u{1b}'));
    let stripped = anstream::adapter::strip_str(&coloured).to_string();
    assert_eq!(stripped, run_with(&ns, &["plan", "-f", "-"], &input));
}

#[tokio::test]
async fn a_kustomization_is_built_with_an_installed_program() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.yaml"), settings("red").to_string()).unwrap();
    std::fs::write(folder.path().join("kustomization.yaml"), "resources: [a.yaml]\nnamePrefix: x-\n")
        .unwrap();
    let transcript = run(&ns, &["plan", "-k", folder.path().to_str().unwrap()]);
    assert!(transcript.contains("+ ConfigMap NS/x-settings"), "{transcript}");
    let nowhere = plimsoll(&ns, &["plan", "-k", folder.path().to_str().unwrap()])
        .env("PATH", "/none")
        .env("XDG_STATE_HOME", folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&nowhere.stderr);
    assert!(text.contains("no program to build") && text.contains("Install kustomize or kubectl"), "{text}");
}

#[tokio::test]
async fn a_dry_run_of_an_apply_writes_nothing() {
    let ns = namespace().await;
    for dry_run in ["--dry-run", "--dry-run=server"] {
        let output = run_with(&ns, &["apply", "-f", "-", dry_run], &settings("red").to_string());
        assert!(output.starts_with("exit 0") && output.contains("1 to create"), "{output}");
    }
    assert!(ns.get(&settings("")).await.is_none());
    assert!(
        run_with(&ns, &["apply", "-f", "-", "--dry-run=none"], &settings("red").to_string())
            .contains("1 created")
    );
}

#[tokio::test]
async fn a_rejected_field_is_shown_in_its_file() {
    let ns = namespace().await;
    let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n  typ: NodePort\n";
    for command in ["plan", "apply"] {
        let output = run_with(&ns, &[command, "-f", "-"], text);
        assert!(output.starts_with("exit 1") && output.contains("--> <stdin>:8:3"), "{output}");
    }
    let output = with_input(plimsoll(&ns, &["plan", "-f", "-", "-o", "json"]), text);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["objects"][0]["findings"][0]["at"], "<stdin>:8:3", "{report:#}");
    // A line of a Secret contains its values.
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringDta: {password: hunter2}\n";
    let refused = run_with(&ns, &["plan", "-f", "-"], secret);
    assert!(refused.starts_with("exit 1") && !refused.contains("hunter2"), "{refused}");
}
