//! A state and objects that the Go provider k8sconnect 0.3.8 left behind: seven objects, two waits and three patches. The test follows
//! the chapter about it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::oracle::Oracle;
use testkit::terraform::Client;

use crate::blocks::{self, Block};
use crate::left_behind::LeftBehind;
use crate::user::User;

const CHAPTER: &str = "../../book/src/migration/k8sconnect.md";
const CONFIGURATION: &str = include_str!("left_by_go/main.tf");
/// The resources of the Go provider 0.3.8, each with its version and its type for Terraform.
const SCHEMA: &str = include_str!("left_by_go/schema.json");
/// Attributes that only our resources have. Those that the Go provider does not know, its framework leaves out.
const NEW: [&str; 7] = [
    "conflict_policy",
    "patch_wo",
    "patch_wo_version",
    "status",
    "wait_for",
    "yaml_body_wo",
    "yaml_body_wo_version",
];
const LEFT: LeftBehind = LeftBehind {
    state: include_str!("left_by_go/terraform.tfstate.json"),
    objects: include_str!("left_by_go/objects.json"),
    address: "198.18.45.255",
};

/// The commands of the chapter, block by block, and its provider block.
fn chapter() -> (Vec<Vec<String>>, String) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(CHAPTER);
    let page = std::fs::read_to_string(page).unwrap();
    let (mut commands, mut provider) = (Vec::new(), String::new());
    for block in blocks::of(&page) {
        match block {
            Block::Commands(block) => commands.push(block),
            Block::File { content, .. } => provider = content,
            Block::Transcript(_) => {}
        }
    }
    (commands, provider)
}

/// Checks what the Go provider does with a state: Terraform decodes the attributes that its schema has by their types. Of the others,
/// there are exactly the `new` ones.
fn accept(state: &str, new: &[&str]) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let state: Value = serde_json::from_str(state).unwrap();
    let (mut seen, mut unknown) = (0, BTreeSet::new());
    for resource in state["resources"].as_array().unwrap() {
        let kind = resource["type"].as_str().unwrap();
        for instance in resource["instances"].as_array().unwrap() {
            let known = &schema[kind];
            assert_eq!(instance["schema_version"], known["version"], "{kind}");
            let types = known["type"][1].as_object().unwrap();
            let (named, others): (Vec<_>, Vec<_>) = instance["attributes"]
                .as_object()
                .unwrap()
                .iter()
                .partition(|(name, _)| types.contains_key(name.as_str()));
            unknown.extend(others.into_iter().map(|(name, _)| name.clone()));
            let named: Value = named.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let question = json!({"type": known["type"], "json": named.to_string()});
            Oracle::shared().ask("cty.json", &question).unwrap_or_else(|error| panic!("{kind}: {error}"));
            seen += 1;
        }
    }
    assert_eq!(seen, 12);
    assert_eq!(unknown.iter().collect::<Vec<_>>(), new);
}

#[test]
fn the_schema_of_the_go_provider_is_that_of_its_state() {
    accept(LEFT.state, &[]);
}

#[test]
fn the_commands_of_the_chapter_take_over_what_the_go_provider_left_and_change_nothing() {
    let sandbox = Sandbox::dedicated("left-by-go");
    LEFT.restore(&sandbox);
    let kubeconfig = sandbox.kubeconfig();
    let (blocks, provider) = chapter();
    assert_eq!(blocks.len(), 3, "{blocks:?}");
    let mut last = None;
    for client in Client::all() {
        let user = User::without_provider(client);
        let variable = format!("kubeconfig = {:?}\n", kubeconfig.display().to_string());
        user.workspace.write("terraform.tfvars", &variable);
        user.requires("jmorris0x0/k8sconnect", "~> 0.3");
        user.locks_the_go_provider();
        user.workspace.write("main.tf", CONFIGURATION);
        user.workspace.write("terraform.tfstate", &LEFT.state(&sandbox, user.workspace.registry()));
        let follow = |command: &str| {
            let command = command.replace("registry.terraform.io", user.workspace.registry());
            let words: Vec<&str> = command.split_whitespace().collect();
            match words[..] {
                ["plimsoll", "terraform", "install"] => user.install(&[]),
                // The test cannot answer its question.
                ["terraform", "state", "replace-provider", from, to] => user
                    .run(&["state", "replace-provider", "-auto-approve", from, to])
                    .expect_success()
                    .text(),
                ["terraform", ref arguments @ ..] => user.run(arguments).expect_success().text(),
                _ => panic!("the chapter has another command: {command}"),
            }
        };
        let shown: Vec<String> = blocks[0].iter().map(|command| follow(command)).collect();
        assert!(shown[2].contains("No changes."), "{}", shown[2]);
        user.run(&["plan", "-detailed-exitcode"]).expect_success();

        // Taking over writes nothing at all.
        let before = LEFT.live(&sandbox);
        user.run(&["apply", "-auto-approve"]).expect_success();
        assert_eq!(LEFT.live(&sandbox), before);
        accept(&std::fs::read_to_string(user.workspace.path("terraform.tfstate")).unwrap(), &NEW);

        // To the address of its own.
        user.requires("plimsoll.dev/plimsoll/k8sconnect", "~> 0");
        blocks[1].iter().for_each(|command| drop(follow(command)));
        user.run(&["plan", "-detailed-exitcode"]).expect_success();

        // One connection for all, which changes nothing but the state.
        user.workspace.write("provider.tf", &provider);
        let shared = "cluster = { kubeconfig = file(var.kubeconfig) }";
        assert!(CONFIGURATION.contains(shared));
        user.workspace.write("main.tf", &CONFIGURATION.replace(shared, "cluster = null"));
        let before = LEFT.live(&sandbox);
        let shown: Vec<String> = blocks[2].iter().map(|command| follow(command)).collect();
        assert!(shown[0].contains("0 to add, 12 to change, 0 to destroy"), "{}", shown[0]);
        assert!(!shown[0].contains("(known after apply)") && !shown[0].contains("Warning"), "{}", shown[0]);
        assert_eq!(LEFT.live(&sandbox), before);
        user.run(&["plan", "-detailed-exitcode"]).expect_success();
        let state = std::fs::read_to_string(user.workspace.path("terraform.tfstate")).unwrap();
        assert!(!state.contains("certificate-authority-data"), "{state}");
        last = Some(user);
    }
    let user = last.expect("there is a client");
    user.run(&["destroy", "-auto-approve"]).expect_success();
    let left = |what: &[&str]| {
        let got = sandbox.kubectl(&[&["get", "--ignore-not-found", "--output=json"], what].concat());
        serde_json::from_slice::<Value>(&got.stdout).ok()
    };
    assert_eq!(left(&["namespace", "legacy"]), None);
    assert_eq!(left(&["crd", "widgets.legacy.example.com"]), None);
    // What was patched stays, with its values, and the patches no longer hold anything.
    for name in ["foreign", "foreign-json"] {
        let map =
            left(&["configmap", name, "--show-managed-fields"]).expect("a patch does not delete its target");
        assert_eq!(map["data"]["added"], "1");
        assert!(!map["metadata"]["managedFields"].to_string().contains("k8sconnect-patch"), "{map}");
    }

    // A state that only ours has written, for everything created anew.
    user.run(&["apply", "-auto-approve"]).expect_success();
    accept(&std::fs::read_to_string(user.workspace.path("terraform.tfstate")).unwrap(), &NEW);
    user.run(&["destroy", "-auto-approve"]).expect_success();
}
