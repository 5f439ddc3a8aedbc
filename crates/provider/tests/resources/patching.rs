//! `k8sconnect_patch`: what it sets, what it reports, and what its destruction leaves.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;
use crate::config_map;

const ADDRESS: &str = "k8sconnect_patch.settings";

fn settings() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}})
}

async fn case(test: &str, client: Client) -> Case {
    let case = Case::new(test, client).await;
    let mut object = settings();
    object["data"] = json!({"level": "info", "mode": "fast"});
    case.namespace.apply_as("other-manager", &object).await;
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
async fn a_patch_holds_its_fields_until_it_is_destroyed_and_leaves_their_values() {
    for client in Client::all() {
        let mut case = case("patch_apply", client).await;
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
        patch(
            &case,
            "patch = \"{\\\"data\\\": {\\\"extra.key\\\": \\\"x\\\", \\\"level\\\": \\\"debug\\\"}}\"",
        );
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
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_of_merge_and_json_patches_is_planned_and_corrected() {
    for client in Client::all() {
        let case = case("patch_other", client).await;
        let contents = [
            "merge_patch = jsonencode({ data = { level = \"debug\", mode = null } })",
            "json_patch = jsonencode([{ op = \"replace\", path = \"/data/level\", value = \"trace\" }, \
             { op = \"remove\", path = \"/data/theirs\" }])",
        ];
        for (content, level) in contents.into_iter().zip(["debug", "trace"]) {
            case.namespace.merge_as("other-manager", &settings(), &json!({"data": {"theirs": "x"}})).await;
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
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_patches_are_rejected() {
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
    // Without an explicit dependency, both are planned in no particular order.
    patch(&case, "patch = \"data: {level: debug}\"");
    let own = case.workspace.plan(&[]).expect_failure().text();
    assert!(own.contains("Cannot Patch Own Resource"), "{own}");

    let import = case.workspace.import(ADDRESS, "x").expect_failure().text();
    assert!(import.contains("Import Not Supported"), "{import}");
}

/// The server says only that there is an error in the request.
#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_cannot_be_applied_is_explained() {
    let case = case("patch_opaque", Client::any()).await;
    for (operation, path) in [("test", "/data/level"), ("replace", "/data/absent/x")] {
        let operations = format!("[{{ op = {operation:?}, path = {path:?}, value = \"other\" }}]");
        patch(&case, &format!("json_patch = jsonencode({operations})"));
        let failed = case.workspace.plan(&[]).expect_failure().text();
        assert!(failed.contains("every `test` has to hold"), "{operation}: {failed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_every_version_plan_as_no_changes() {
    let case = case("patch_states", Client::any()).await;
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
async fn a_change_inside_a_list_is_applied() {
    let case = Case::new("patch_list", Client::any()).await;
    let service = |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports}});
    case.namespace
        .apply_as("other-manager", &service(json!([{"name": "http", "port": 80, "targetPort": 8080}])))
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

/// The connection to the sandbox as an attribute of a resource.
fn own_cluster(case: &Case) -> String {
    let view = testkit::Sandbox::shared().kubectl(&["config", "view", "--raw", "--minify", "-o", "json"]);
    case.workspace.write("kubeconfig.json", &String::from_utf8(view.stdout).expect("kubectl prints text"));
    "cluster = { kubeconfig = file(\"kubeconfig.json\") }".to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_values_are_no_drift_and_the_state_has_the_stored_form() {
    let case = Case::new("patch_alike", Client::any()).await;
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "paused": true, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
            "containers": [{"name": "proxy", "image": "p:1"}, {"name": "web", "image": "w:1"}],
        }},
    }});
    case.namespace.apply_as("other-manager", &web).await;
    let limits = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "web", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}},
    ]}}}});
    let target = format!(
        "{{ api_version = \"apps/v1\", kind = \"Deployment\", name = \"web\", namespace = {:?} }}",
        case.namespace.name()
    );
    case.workspace.write("limits.json", &limits.to_string());
    case.workspace.write(
        "patch.tf",
        &format!("resource \"k8sconnect_patch\" \"web\" {{\n  target = {target}\n  patch = file(\"limits.json\")\n}}\n"),
    );
    case.workspace.apply(&[]).expect_success();
    let values = case.workspace.attributes("k8sconnect_patch.web")["managed_state_projection"].clone();
    let path = "spec.template.spec.containers[0].resources.limits";
    assert_eq!(values[format!("{path}.cpu")], "1", "{values}");
    assert_eq!(values[format!("{path}.memory")], "1Gi", "{values}");
    // Without the stored baseline, everything is compared again.
    case.edit_state("k8sconnect_patch", |instance| _ = instance.as_object_mut().unwrap().remove("private"));
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_whose_connection_is_unusable_can_be_destroyed() {
    let case = case("patch_unusable", Client::any()).await;
    let own = own_cluster(&case);
    patch(&case, &format!("patch = \"data: {{level: debug}}\"\n  {own}"));
    case.workspace.apply(&[]).expect_success();
    let unusable = json!("apiVersion: v1\ncontexts: []\n");
    case.edit_state("k8sconnect_patch", |instance| {
        instance["attributes"]["cluster"]["kubeconfig"] = unusable.clone();
    });
    let provider = std::fs::read_to_string(case.workspace.path("provider.tf")).unwrap();
    case.provider("");
    let destroy = ["destroy", "-no-color", "-auto-approve", "-refresh=false"];
    let destroyed = case.workspace.run(&destroy).expect_success().text();
    assert!(destroyed.contains("Patch Not Released"), "{destroyed}");
    assert_eq!(patch_managers(&case).await.len(), 1, "no credentials to release the fields");

    // With a provider cluster that is the same one, the fields are released after all.
    case.workspace.write("provider.tf", &provider);
    case.workspace.apply(&[]).expect_success();
    case.edit_state("k8sconnect_patch", |instance| {
        instance["attributes"]["cluster"]["kubeconfig"] = unusable;
    });
    case.workspace.run(&destroy).expect_success();
    assert_eq!(patch_managers(&case).await.len(), 1, "that of the patch before");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_is_another_patch_and_another_wait() {
    let case = case("patch_elsewhere", Client::any()).await;
    patch(&case, "patch = \"data: {level: debug}\"");
    config_map::wait(&case, "settings", "field = \"data.mode\"");
    case.workspace.apply(&[]).expect_success();
    // The stored uid of another cluster: {"cluster_uid": base64("\"elsewhere\"")}.
    for resource in ["k8sconnect_patch", "k8sconnect_wait"] {
        case.edit_state(resource, |instance| {
            instance["private"] = json!("eyJjbHVzdGVyX3VpZCI6IkltVnNjMlYzYUdWeVpTST0ifQ==");
        });
    }
    let waited = case.workspace.change("k8sconnect_wait.settings");
    assert_eq!(waited["actions"], json!(["create"]), "{waited}");
    let own = own_cluster(&case);
    patch(&case, &format!("patch = \"data: {{level: debug}}\"\n  {own}"));
    let change = case.workspace.change(ADDRESS);
    assert_eq!(change["actions"], json!(["delete", "create"]), "{change}");
    assert_eq!(change["replace_paths"], json!([["cluster"]]), "{change}");

    // A target that is missing there says nothing about the cluster that was patched.
    patch(&case, "patch = \"data: {level: debug}\"");
    case.namespace.kubectl(&["delete", "configmap", "settings"]).unwrap();
    let planned = case.workspace.plan(&[]).expect_failure().text();
    assert!(planned.contains("Cluster Changed"), "{planned}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_patch_of_a_secret_shows_nothing_of_it() {
    let case = Case::new("patch_secret", Client::any()).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"a": "aHVudGVyMg=="}});
    case.namespace.apply_as("other-manager", &secret).await;
    let target = format!(
        "{{ api_version = \"v1\", kind = \"Secret\", name = \"db\", namespace = {:?} }}",
        case.namespace.name()
    );
    // The API server quotes the whole object it would have produced, or the unexpected value.
    for content in [
        "merge_patch = jsonencode({ data = { pin = 4711 } })",
        "json_patch = jsonencode([{ op = \"add\", path = \"/data/pin\", value = 4711 }])",
        "patch = \"data: {pin: 4711}\"",
        "patch = \"stringData: {pin: 4711}\"",
    ] {
        let text = format!("resource \"k8sconnect_patch\" \"db\" {{\n  target = {target}\n  {content}\n}}\n");
        case.workspace.write("patch.tf", &text);
        let refused = case.workspace.plan(&[]).expect_failure().text();
        let output = refused.split("Error: Dry-run Patch").nth(1).unwrap_or_else(|| panic!("{refused}"));
        assert!(!output.contains("aHVudGVyMg") && !output.contains("4711"), "{output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_only_patch_is_in_the_target_and_not_in_the_state() {
    for client in Client::all() {
        let case = Case::new("patch-write-only", client).await;
        let target = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
        let mut settings = target.clone();
        settings["data"] = json!({"level": "info"});
        case.namespace.apply_as("team", &settings).await;
        let secret = |value: &str, version: u8| {
            format!(
                "patch = \"data: {{mode: a}}\"\n  patch_wo = \"data: {{key: {value}}}\"\n  patch_wo_version = {version}"
            )
        };
        config_map::patch(&case, "settings", &secret("hunter2", 1));
        let first = case.workspace.apply(&[]).expect_success();
        let data = async || case.namespace.get(&target).await.unwrap()["data"].clone();
        assert_eq!(data().await, json!({"level": "info", "mode": "a", "key": "hunter2"}));
        config_map::patch(&case, "settings", &secret("hunter3", 1));
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        config_map::patch(&case, "settings", &secret("hunter3", 2));
        let second = case.workspace.apply(&[]).expect_success();
        assert_eq!(data().await["key"], "hunter3");
        settings["data"] = json!({"key": "other"});
        case.namespace.apply_as("rotator", &settings).await;
        let drift = case.workspace.plan(&[]).expect_success();
        assert!(drift.text().contains("(write-only, changed outside by rotator)"), "{}", drift.output());
        let third = case.workspace.apply(&[]).expect_success();
        assert_eq!(data().await["key"], "hunter3");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        let state = std::fs::read_to_string(case.workspace.path("terraform.tfstate")).unwrap();
        for text in [&state, &first.output(), &second.output(), &drift.output(), &third.output()] {
            assert!(!text.contains("hunter"), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_patch_is_refused_by_a_plan_and_blocks_no_destroy() {
    for client in Client::all() {
        let case = case("patch_empty", client).await;
        patch(&case, "patch = \"\"");
        case.workspace.validate().expect_success();
        let refused = case.workspace.plan(&[]).expect_failure().text();
        assert!(refused.contains("Failed to Parse Patch") && refused.contains("patch is empty"), "{refused}");
        assert!(!refused.contains("apiVersion"), "{refused}");

        // A version that accepted it has stored it.
        patch(&case, "patch = \"data: {level: debug}\"");
        case.workspace.apply(&[]).expect_success();
        case.edit_state("k8sconnect_patch", |instance| instance["attributes"]["patch"] = json!(""));
        case.workspace.plan(&[]).expect_success();
        patch(&case, "patch = \"\"");
        case.workspace.destroy().expect_success();
        assert_eq!(patch_managers(&case).await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_of_a_patch_is_reported_once_and_in_one_line_if_that_is_asked_for() {
    let case = case("patch_once", Client::any()).await;
    patch(&case, "patch = \"data: {level: debug}\"");
    case.workspace.apply(&[]).expect_success();
    case.namespace.merge_as("kubectl-edit", &settings(), &json!({"data": {"level": "theirs"}})).await;
    let shown = case.workspace.plan(&[]).expect_success().text();
    assert_eq!(
        shown.matches("Warning: Field Ownership Conflict - Controllers Fighting").count(),
        1,
        "{shown}"
    );
    assert!(!shown.contains("Drift Detected"), "{shown}");
    assert!(shown.contains("data.level: \"theirs\" → \"debug\" (modified by: kubectl-edit)"), "{shown}");

    let unrefreshed = case.workspace.plan(&["-detailed-exitcode", "-refresh=false"]).expect_success().text();
    assert!(!unrefreshed.contains("will set them again"), "{unrefreshed}");
    assert!(unrefreshed.contains("This plan leaves them as they are"), "{unrefreshed}");

    let reach = Case::reach();
    case.provider(&format!("managed_fields_verbosity = \"minimal\"\n  cluster = {{ {reach} }}"));
    let minimal = case.workspace.plan(&[]).expect_success().text();
    assert!(minimal.contains("1 field set again") && !minimal.contains("theirs\" →"), "{minimal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_target_and_our_own_object_are_rejected_with_the_resource_to_use() {
    let case = Case::new("patch_hints", Client::any()).await;
    patch(&case, "patch = \"data: {level: debug}\"");
    let missing = case.workspace.apply(&[]).expect_failure().text();
    let text = missing.replace("│", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Target Resource Not Found") && text.contains("use k8sconnect_object"),
        "{missing}"
    );
    let body =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: NS}\ndata: {level: info}";
    case.object("settings", body, "");
    case.workspace
        .run(&["apply", "-no-color", "-auto-approve", "-target=k8sconnect_object.settings"])
        .expect_success();
    let own = case.workspace.plan(&[]).expect_failure().text();
    let text = own.replace("│", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Cannot Patch Own Resource") && text.contains("list them in its ignore_fields"),
        "{own}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_policy_warns_fails_or_ignores_for_a_patch_too() {
    let case = case("patch_policy", Client::any()).await;
    let with = |policy: &str| {
        patch(&case, &format!("patch = \"data: {{level: debug}}\"\n  conflict_policy = {policy:?}"));
    };
    let title = "Field Ownership Conflict - Controllers Fighting";
    with("ignore");
    case.workspace.apply(&[]).expect_success();
    case.namespace.merge_as("kubectl-edit", &settings(), &json!({"data": {"level": "theirs"}})).await;
    with("fail");
    let failed = case.workspace.apply(&[]).expect_failure().text();
    assert!(failed.contains(&format!("Error: {title}")), "{failed}");
    assert_eq!(data(&case).await["level"], "theirs");
    with("warn");
    let warned = case.workspace.plan(&[]).expect_success().text();
    assert!(warned.contains(&format!("Warning: {title}")), "{warned}");
    with("ignore");
    let ignored = case.workspace.apply(&[]).expect_success().text();
    assert!(!ignored.contains(title), "{ignored}");
    assert_eq!(data(&case).await["level"], "debug");
    with("fail");
    case.workspace.destroy().expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_longer_write_only_in_a_patch_is_set_to_what_the_patch_says() {
    let case = case("patch_dropped", Client::any()).await;
    let body = "patch = \"data: {level: debug, mode: slow}\"";
    patch(&case, &format!("{body}\n  patch_wo = \"data: {{level: hunter2}}\""));
    case.workspace.apply(&[]).expect_success();
    assert_eq!(data(&case).await, json!({"level": "hunter2", "mode": "slow"}));
    patch(&case, body);
    let shown = case.workspace.apply(&[]).expect_success();
    assert_eq!(data(&case).await, json!({"level": "debug", "mode": "slow"}));
    assert!(!shown.output().contains("hunter2"), "{}", shown.output());
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
