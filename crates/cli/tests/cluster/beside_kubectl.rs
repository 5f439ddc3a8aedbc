//! Everyday tasks, done with kubectl and with plimsoll: the same objects are left, and the exit status means the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, with_input};

/// What both tools do. `{dir}` is a folder with the files below; standard input is a ConfigMap `piped`.
struct Task {
    name: &'static str,
    kubectl: &'static str,
    plimsoll: &'static str,
    /// The exit statuses of kubectl and of plimsoll.
    exit: (i32, i32),
}

const fn task(name: &'static str, kubectl: &'static str, plimsoll: &'static str, exit: i32) -> Task {
    Task { name, kubectl, plimsoll, exit: (exit, exit) }
}

/// In order: each task finds what the ones before it left.
const TASKS: &[Task] = &[
    task("a diff of a new object", "diff --server-side -f {dir}/new.yaml", "plan -f {dir}/new.yaml", 1)
        .ours(2),
    task(
        "a dry run",
        "apply --server-side --dry-run=server -f {dir}/new.yaml",
        "apply --dry-run=server -f {dir}/new.yaml",
        0,
    ),
    task("an apply", "apply --server-side -f {dir}/new.yaml", "apply -f {dir}/new.yaml", 0),
    task("a second apply", "apply --server-side -f {dir}/new.yaml", "apply -f {dir}/new.yaml", 0),
    task("a diff of nothing", "diff --server-side -f {dir}/new.yaml", "plan -f {dir}/new.yaml", 0),
    task("a change", "apply --server-side -f {dir}/changed.yaml", "apply -f {dir}/changed.yaml", 0),
    task("a folder", "apply --server-side -f {dir}/folder", "apply -f {dir}/folder", 0),
    task(
        "a folder with its subfolders",
        "apply --server-side -R -f {dir}/folder",
        "apply -R -f {dir}/folder",
        0,
    ),
    task("a quoted pattern", "apply --server-side -f {dir}/patt*.yaml", "apply -f {dir}/patt*.yaml", 0),
    task(
        "several files with a comma",
        "apply --server-side -f {dir}/new.yaml,{dir}/list.yaml",
        "apply -f {dir}/new.yaml,{dir}/list.yaml",
        0,
    ),
    task("standard input", "apply --server-side -f -", "apply -f -", 0),
    task(
        "a file that does not exist",
        "apply --server-side -f {dir}/none.yaml",
        "apply -f {dir}/none.yaml",
        1,
    ),
    task(
        "a manifest that is no YAML",
        "apply --server-side -f {dir}/broken.yaml",
        "apply -f {dir}/broken.yaml",
        1,
    ),
    task("an unknown kind", "apply --server-side -f {dir}/unknown.yaml", "apply -f {dir}/unknown.yaml", 1),
    task("an unknown field", "apply --server-side -f {dir}/invalid.yaml", "apply -f {dir}/invalid.yaml", 1),
    task(
        "another namespace than that of the option",
        "apply --server-side -f {dir}/elsewhere.yaml",
        "apply -f {dir}/elsewhere.yaml",
        1,
    ),
    task(
        "a conflict",
        "apply --server-side --field-manager other -f {dir}/changed.yaml",
        "apply --field-manager other -f {dir}/changed.yaml",
        1,
    ),
    task(
        "a conflict that is forced",
        "apply --server-side --field-manager other --force-conflicts -f {dir}/changed.yaml",
        "apply --field-manager other --force-conflicts -f {dir}/changed.yaml",
        0,
    ),
    task(
        "a wait for a condition",
        "wait apiservice/v1. --for=condition=Available --timeout=5s",
        "wait apiservice/v1. --for=condition=Available --timeout=5s",
        0,
    ),
    task(
        "a set",
        "apply --server-side --applyset=shop --prune -f {dir}/set.yaml",
        "apply --applyset=shop --prune -f {dir}/set.yaml",
        0,
    ),
    task(
        "a prune",
        "apply --server-side --applyset=shop --prune -f {dir}/set-of-one.yaml",
        "apply --applyset=shop --prune -f {dir}/set-of-one.yaml",
        0,
    ),
    task(
        "a set without a name",
        "apply --server-side --prune -f {dir}/set.yaml",
        "apply --prune -f {dir}/set.yaml",
        1,
    ),
    task("a generated name", "create -f {dir}/generated.yaml", "create -f {dir}/generated.yaml", 0),
    task("a create of what exists", "create -f {dir}/new.yaml", "create -f {dir}/new.yaml", 1),
    task(
        "a wait for a value",
        "wait cm/new --for=jsonpath={.data.k}=changed --timeout=5s",
        "wait cm/new --for=jsonpath={.data.k}=changed --timeout=5s",
        0,
    ),
    task(
        "a wait for several objects",
        "wait cm -l app=folder --for=jsonpath={.data.k}=folder --timeout=5s",
        "wait cm -l app=folder --for=jsonpath={.data.k}=folder --timeout=5s",
        0,
    ),
    task(
        "a wait that times out",
        "wait cm/new --for=jsonpath={.data.k}=x --timeout=1s",
        "wait cm/new --for=jsonpath={.data.k}=x --timeout=1s",
        1,
    ),
    task(
        "a wait for what is gone",
        "wait cm/none --for=delete --timeout=5s",
        "wait cm/none --for=delete --timeout=5s",
        0,
    ),
    task(
        "a wait for a selection of nothing",
        "wait cm -l app=none --for=create --timeout=1s",
        "wait cm -l app=none --for=create --timeout=1s",
        1,
    ),
    task("a delete", "delete cm/piped", "delete cm/piped", 0),
    task("a delete of what is gone", "delete cm/piped", "delete cm/piped", 1),
    task(
        "the same, if that is fine",
        "delete cm piped --ignore-not-found",
        "delete cm piped --ignore-not-found",
        0,
    ),
    task("a delete by label", "delete cm -l app=folder", "delete cm -l app=folder", 0),
    task("a delete by a label that nothing has", "delete cm -l app=none", "delete cm -l app=none", 0),
    task("a delete by file", "delete -f {dir}/list.yaml", "delete -f {dir}/list.yaml", 0),
    task("an unknown kind on the command line", "delete nonesuch/a", "delete nonesuch/a", 1),
    task("a kind without a name", "delete cm", "delete cm", 1),
];

impl Task {
    /// The same with another exit status of ours: 2 means that there is something to change.
    const fn ours(self, exit: i32) -> Self {
        Self { exit: (self.exit.0, exit), ..self }
    }
}

fn map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "app": value } },
        "data": { "k": value },
    })
}

fn write_files(folder: &Path) {
    let write = |name: &str, content: &Value| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is the test's own");
        std::fs::write(path, content.to_string()).expect("the folder is the test's own");
    };
    write("new.yaml", &map("new", "new"));
    write("changed.yaml", &map("new", "changed"));
    write("folder/a.yaml", &map("folder-a", "folder"));
    write("folder/b.json", &map("folder-b", "folder"));
    write("folder/deep/c.yaml", &map("folder-c", "folder"));
    write("pattern-1.yaml", &map("pattern-1", "pattern"));
    write("pattern-2.yaml", &map("pattern-2", "pattern"));
    write(
        "list.yaml",
        &json!({ "apiVersion": "v1", "kind": "List", "items": [map("item-1", "list"), map("item-2", "list")] }),
    );
    let set = [map("member-1", "set"), map("member-2", "set")];
    write("set-of-one.yaml", &set[0]);
    write("set.yaml", &json!({ "apiVersion": "v1", "kind": "List", "items": set }));
    write(
        "unknown.yaml",
        &json!({ "apiVersion": "none.example.org/v1", "kind": "None", "metadata": { "name": "a" } }),
    );
    let mut invalid = map("invalid", "x");
    invalid["dta"] = json!({});
    write("invalid.yaml", &invalid);
    let mut elsewhere = map("elsewhere", "x");
    elsewhere["metadata"]["namespace"] = "none-such".into();
    write("elsewhere.yaml", &elsewhere);
    let mut generated = map("", "generated");
    generated["metadata"] = json!({ "generateName": "run-" });
    write("generated.yaml", &generated);
    std::fs::write(folder.join("broken.yaml"), "a: [\n").expect("the folder is the test's own");
}

/// Runs a command line in the namespace; the exit status, and the output for a failure's message.
fn run(mut command: Command, line: &str, folder: &Path) -> (i32, String) {
    let dir = folder.display().to_string();
    command.args(line.split(' ').map(|word| word.replace("{dir}", &dir)));
    let output = with_input(command, &map("piped", "piped").to_string());
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), printed)
}

/// The ConfigMaps that tasks made: data and labels by name, or by the beginning of a generated one.
fn left(ns: &Namespace) -> BTreeMap<String, (Value, Value)> {
    let printed = ns.kubectl(&["get", "cm", "-o", "json"]).expect("ConfigMaps can be read");
    let list: Value = serde_json::from_str(&printed).expect("kubectl prints JSON");
    let entry = |item: &Value| {
        let mut item = item.clone();
        // The id of a set depends on its namespace.
        if let Some(id) = item.pointer_mut("/metadata/labels/applyset.kubernetes.io~1part-of") {
            *id = "of a set".into();
        }
        let name = item["metadata"]["name"].as_str().expect("a name");
        let name = if name.starts_with("run-") { "run-" } else { name };
        (name.to_owned(), (item["data"].clone(), item["metadata"]["labels"].clone()))
    };
    let items = list["items"].as_array().expect("a list").iter().map(entry);
    items.filter(|(name, _)| name != "kube-root-ca.crt").collect()
}

#[tokio::test]
async fn everyday_tasks_have_the_outcome_and_exit_status_of_kubectl() {
    let sandbox = Sandbox::shared();
    let (theirs, ours) = (sandbox.namespace("cli-kubectl").await, sandbox.namespace("cli-beside").await);
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    for task in TASKS {
        let mut kubectl = Command::new(sandbox.layout().bin().join("kubectl"));
        kubectl.args(["--namespace", theirs.name()]).env("KUBECONFIG", sandbox.kubeconfig());
        kubectl.env("KUBECTL_APPLYSET", "true");
        // kubectl and plimsoll both accept the namespace before the command.
        let mut plimsoll = plimsoll(&ours, &[]);
        plimsoll.env("COLUMNS", "200");
        let (status, said) = run(kubectl, task.kubectl, folder.path());
        assert_eq!(status, task.exit.0, "kubectl, {}: {said}", task.name);
        let (status, said) = run(plimsoll, task.plimsoll, folder.path());
        assert_eq!(status, task.exit.1, "plimsoll, {}: {said}", task.name);
        assert_eq!(left(&ours), left(&theirs), "{}", task.name);
    }
}
