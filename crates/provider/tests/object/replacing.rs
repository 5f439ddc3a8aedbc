//! When an object is replaced, and when it is not.

use serde_json::json;
use testkit::terraform::Client;

use crate::case::Case;

const JOB: &str = "apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: NS}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: a, image: 'a:1'}";

#[tokio::test(flavor = "multi_thread")]
async fn an_immutable_field_replaces_the_object_and_a_mere_mistake_does_not() {
    let case = Case::new("replace", Client::any()).await;
    let address = "k8sconnect_object.once";
    case.object("once", JOB, "");
    case.workspace.apply(&[]).expect_success();
    let before = case.workspace.attributes(address)["id"].clone();

    // A forbidden value is not an immutable field.
    case.object("once", &JOB.replace("restartPolicy: Never", "restartPolicy: Always"), "");
    let refused = case.workspace.plan(&[]).expect_failure().text();
    assert!(!refused.contains("must be replaced"), "{refused}");

    case.object("once", &JOB.replace("suspend: true", "suspend: true\n  completionMode: Indexed"), "");
    let change = case.workspace.change(address);
    assert_eq!(change["actions"], json!(["delete", "create"]), "{change}");
    let applied = case.workspace.apply(&[]).expect_success().text();
    assert!(applied.contains("Immutable Field Changed - Replacement Required"), "{applied}");
    assert!(!applied.contains("Resource Already Exists"), "{applied}");
    assert_ne!(case.workspace.attributes(address)["id"], before);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_name_replaces_and_another_key_of_the_resource_hands_over() {
    let case = Case::new("rename", Client::any()).await;
    let write = |key: &str, name: &str| {
        let body = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {}}}",
            case.namespace.name()
        );
        case.workspace.write(
            "a.tf",
            &format!("resource \"k8sconnect_object\" \"a\" {{\n  for_each = toset([{key:?}])\n  yaml_body = <<-YAML\n{body}\nYAML\n}}\n"),
        );
    };
    write("x", "one");
    case.workspace.apply(&[]).expect_success();
    write("x", "two");
    let renamed = case.workspace.apply(&[]).expect_success().text();
    assert!(renamed.contains("Resource Identity Changed - Replacement Required"), "{renamed}");
    let wanted = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    assert_eq!(case.namespace.get(&wanted("one")).await, None);

    // The old key's resource is destroyed while the new key's is created, in no particular order.
    write("y", "two");
    case.workspace.apply(&[]).expect_success();
    assert!(case.namespace.get(&wanted("two")).await.is_some());
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_turns_out_to_name_another_object_is_an_error_and_the_next_apply_replaces_the_object() {
    for client in Client::all() {
        let case = Case::new("late", client).await;
        let write = |trigger: &str| {
            let data =
                format!("resource \"terraform_data\" \"x\" {{\n  triggers_replace = {trigger:?}\n}}\n");
            case.workspace.write("x.tf", &data);
        };
        let body =
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${terraform_data.x.id}', namespace: NS}";
        case.object("a", body, "");
        write("one");
        case.workspace.apply(&[]).expect_success();
        let before = case.workspace.attributes("k8sconnect_object.a");
        for saved in [false, true] {
            write(if saved { "three" } else { "two" });
            let refused = if saved {
                case.workspace.plan(&["-out=kept"]).expect_success();
                case.workspace.run(&["apply", "-no-color", "kept"])
            } else {
                case.workspace.apply(&[])
            };
            let refused = refused.expect_failure().text();
            assert!(refused.contains("Error: Resource Identity Changed - Replacement Required"), "{refused}");
            assert!(refused.contains("Apply again to replace the resource."), "{refused}");
            assert!(!refused.contains("inconsistent"), "{refused}");
            assert_eq!(case.workspace.attributes("k8sconnect_object.a"), before, "nothing was changed");
        }
        // A plan that does not refresh is not mistaken for one.
        case.workspace.plan(&["-out=kept", "-refresh=false"]).expect_success();
        let output = case.workspace.run(&["apply", "-no-color", "kept"]).expect_success().text();
        assert!(output.contains("1 added, 0 changed, 1 destroyed"), "{output}");
        assert!(!output.contains("Apply again to replace the resource."), "{output}");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}
