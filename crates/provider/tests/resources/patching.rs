use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;
use crate::config_map;

const ADDRESS: &str = "k8sconnect_patch.settings";

fn settings() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}})
}

async fn case(test: &str) -> Case {
    let case = Case::new(test, Client::any()).await;
    let mut object = settings();
    object["data"] = json!({"level": "info", "mode": "fast"});
    case.namespace.apply_as("somebody", &object).await;
    case
}

fn patch(case: &Case, content: &str) {
    config_map::patch(case, "settings", content);
}

async fn data(case: &Case) -> Value {
    case.namespace.get(&settings()).await.expect("the target stays")["data"].clone()
}

/// The managers of patches on the target.
async fn patch_managers(case: &Case) -> Vec<String> {
    let live = case.namespace.get(&settings()).await.expect("the target stays");
    let entries = live["metadata"]["managedFields"].as_array().into_iter().flatten();
    let names = entries.map(|entry| entry["manager"].as_str().expect("a name").to_owned());
    names.filter(|name| name.starts_with("k8sconnect")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bug_19g_a_patch_holds_its_fields_until_it_is_destroyed_and_leaves_their_values() {
    let mut case = case("patch_apply").await;
    patch(&case, "patch = \"data: {level: debug, extra.key: x}\"");
    let taken = case.workspace.apply(&[]).expect_success().text();
    assert!(taken.contains("Ownership Conflict - Taking Field from Active Controller"), "{taken}");
    assert_eq!(data(&case).await, json!({"level": "debug", "mode": "fast", "extra.key": "x"}));
    let attributes = case.workspace.attributes(ADDRESS);
    let expected = json!({"data.extra.key": "x", "data.level": "debug"});
    assert_eq!(attributes["managed_state_projection"], expected);
    assert_eq!(attributes["managed_fields"]["data.level"], "k8sconnect-patch");
    let id = attributes["id"].as_str().unwrap();
    assert_eq!(patch_managers(&case).await, [format!("k8sconnect-patch-{id}")]);

    case.requests();
    patch(&case, "patch = \"{\\\"data\\\": {\\\"extra.key\\\": \\\"x\\\", \\\"level\\\": \\\"debug\\\"}}\"");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let looked = case.requests();
    assert!(looked.len() <= 2 && looked.iter().all(|request| request.starts_with("get ")), "{looked:#?}");

    case.namespace.merge_as("kubectl-edit", &settings(), &json!({"data": {"level": "theirs"}})).await;
    let drift = case.workspace.plan(&[]).expect_success().text();
    assert!(drift.contains("Field Ownership Conflict") && drift.contains("kubectl-edit"), "{drift}");
    assert_eq!(data(&case).await["level"], "theirs", "a plan writes nothing");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(data(&case).await["level"], "debug");

    case.workspace.destroy().expect_success();
    assert_eq!(data(&case).await, json!({"level": "debug", "mode": "fast", "extra.key": "x"}));
    assert_eq!(patch_managers(&case).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_of_merge_and_json_patches_is_planned_and_corrected() {
    let case = case("patch_other").await;
    let contents = [
        "merge_patch = jsonencode({ data = { level = \"debug\", mode = null } })",
        "json_patch = jsonencode([{ op = \"replace\", path = \"/data/level\", value = \"trace\" }, \
         { op = \"remove\", path = \"/data/theirs\" }])",
    ];
    for (content, level) in contents.into_iter().zip(["debug", "trace"]) {
        case.namespace.merge_as("somebody", &settings(), &json!({"data": {"theirs": "x"}})).await;
        patch(&case, content);
        case.workspace.apply(&[]).expect_success();
        assert_eq!(data(&case).await["level"], level);
        assert_eq!(case.workspace.attributes(ADDRESS)["managed_state_projection"], json!(null));
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();

        case.namespace.merge_as("kubectl-edit", &settings(), &json!({"data": {"level": "theirs"}})).await;
        let corrected = case.workspace.apply(&[]).expect_success().text();
        assert!(corrected.contains("Field Ownership Conflict"), "{corrected}");
        assert_eq!(data(&case).await["level"], level);
    }
    assert_eq!(data(&case).await, json!({"level": "trace"}));
    case.workspace.destroy().expect_success();
    assert_eq!(data(&case).await, json!({"level": "trace"}));
    assert_eq!(patch_managers(&case).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_patched_is_refused() {
    let case = Case::new("patch_refused", Client::any()).await;
    patch(&case, "patch = \"data: {level: debug}\"");
    let absent = case.workspace.apply(&[]).expect_failure().text();
    assert!(absent.contains("Target Resource Not Found"), "{absent}");

    case.object(
        "settings",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: NS",
        "",
    );
    patch(&case, "patch = \"data: {level: debug}\"\n  depends_on = [k8sconnect_object.settings]");
    let own = case.workspace.apply(&[]).expect_failure().text();
    assert!(own.contains("Cannot Patch Own Resource"), "{own}");

    let import = case.workspace.import(ADDRESS, "x").expect_failure().text();
    assert!(import.contains("Import Not Supported"), "{import}");
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_every_version_plan_as_no_changes() {
    let case = case("patch_states").await;
    let kinds = [
        ("a", "patch = \"data: {a: x}\""),
        ("b", "merge_patch = jsonencode({ data = { b = \"x\", gone = null } })"),
        (
            "c",
            "json_patch = jsonencode([{ op = \"add\", path = \"/data/c\", value = \"x\" }, { op = \"remove\", path = \"/data/mode\" }])",
        ),
    ];
    for (name, content) in kinds {
        let target = format!(
            "{{ api_version = \"v1\", kind = \"ConfigMap\", name = \"settings\", namespace = {:?} }}",
            case.namespace.name()
        );
        let text =
            format!("resource \"k8sconnect_patch\" {name:?} {{\n  target = {target}\n  {content}\n}}\n");
        case.workspace.write(&format!("{name}.tf"), &text);
    }
    case.workspace.apply(&["-parallelism=1"]).expect_success();
    assert_eq!(data(&case).await, json!({"a": "x", "b": "x", "c": "x", "level": "info"}));
    let path = case.workspace.path("terraform.tfstate");
    let ours: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for version in [0, 1, 2] {
        let mut state = ours.clone();
        state["serial"] = json!(100 + version);
        for resource in state["resources"].as_array_mut().unwrap() {
            let instance = &mut resource["instances"][0];
            instance["schema_version"] = json!(version);
            instance.as_object_mut().unwrap().remove("private");
            let attributes = instance["attributes"].as_object_mut().unwrap();
            match version {
                0 => _ = attributes.remove("managed_fields"),
                1 => _ = attributes.insert("managed_fields".to_owned(), json!("{\"f:data\":{}}")),
                _ => {}
            }
        }
        std::fs::write(&path, state.to_string()).unwrap();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bug_19f_a_change_inside_a_list_is_applied() {
    let case = Case::new("patch_list", Client::any()).await;
    let service = |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports}});
    case.namespace
        .apply_as("somebody", &service(json!([{"name": "http", "port": 80, "targetPort": 8080}])))
        .await;
    for number in [8081, 8082] {
        let text = format!(
            "resource \"k8sconnect_patch\" \"web\" {{\n  target = {{ api_version = \"v1\", kind = \"Service\", name = \"web\", \
             namespace = {:?} }}\n  patch = \"spec: {{ports: [{{port: 80, targetPort: {number}}}]}}\"\n}}\n",
            case.namespace.name()
        );
        case.workspace.write("patch.tf", &text);
        case.workspace.apply(&[]).expect_success();
        let live = case.namespace.get(&service(json!([]))).await.unwrap();
        assert_eq!(live["spec"]["ports"][0]["targetPort"], number);
        assert_eq!(live["spec"]["ports"][0]["name"], "http", "what others hold stays");
    }
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
