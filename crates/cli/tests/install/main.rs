//! `plimsoll install` and `uninstall` on a control plane of their own, because the roles of a cluster have fixed names.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

#[path = "../book/blocks.rs"]
mod blocks;
mod gitops;
mod helm;
mod lifecycle;
mod manifests;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use diag::Source;
use manifest::Limits;
use serde_json::Value;

/// Whether the long tests run, which build programs of others first.
fn is_whole() -> bool {
    std::env::var_os("PLIMSOLL_WHOLE").is_some()
}

fn plimsoll(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments).env("COLUMNS", "1000").env("NO_COLOR", "1").env_remove("KUBECONFIG");
    command
}

/// Runs `plimsoll` against a cluster; its messages and its data.
fn run(kubeconfig: &Path, arguments: &[&str]) -> (bool, String) {
    let output = plimsoll(arguments).env("KUBECONFIG", kubeconfig).output().unwrap();
    (output.status.success(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The objects that a command prints as YAML, by kind and name.
fn objects(output: &Output) -> BTreeMap<String, Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let source = Source::new("output", text(&output.stdout));
    let documents = manifest::read(&source, &Limits::default()).documents.into_iter();
    let values = documents.map(|document| document.unwrap().into_value()).filter(|value| !value.is_null());
    let keyed = values.map(|object| {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let key = format!("{} {}/{}", object["kind"].as_str().unwrap(), name("namespace"), name("name"));
        (key, object)
    });
    keyed.collect()
}
