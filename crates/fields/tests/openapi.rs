//! Whether the table of built-in kinds says what the API server says.

#[path = "../examples/schema-table.rs"]
#[expect(dead_code, reason = "as a program it has a way to print")]
mod schema_table;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use testkit::Sandbox;

/// The server leaves out what is switched off, so that it says less than the table, and nothing else.
#[test]
fn the_table_of_built_in_kinds_is_the_api_server_s() {
    let folder = tempfile::tempdir().unwrap();
    let documents: Value = serde_json::from_slice(&raw("/openapi/v3")).unwrap();
    for (name, document) in documents["paths"].as_object().unwrap() {
        if is_built_in(name) {
            let text = raw(document["serverRelativeURL"].as_str().unwrap());
            std::fs::write(folder.path().join(name.replace('/', "_")), text).unwrap();
        }
    }
    let server = schema_table::table(folder.path().to_str().unwrap()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema/builtin.txt");
    let (known, served) = (entries(&std::fs::read_to_string(path).unwrap()), entries(&server));
    assert!(served.len() > 300, "the server says too little: {}", served.len());
    let strange: Vec<&String> = served.difference(&known).collect();
    assert!(strange.is_empty(), "write the table anew (examples/schema-table.rs):\n{strange:#?}");
}

/// Whether a document is about kinds that Kubernetes comes with, and not about those that other tests define.
fn is_built_in(name: &str) -> bool {
    match name.split('/').collect::<Vec<_>>()[..] {
        ["api", "v1"] => true,
        ["apis", group, _] => !group.contains('.') || group.ends_with(".k8s.io"),
        _ => false,
    }
}

/// Each kind, and each type with its fields.
fn entries(table: &str) -> BTreeSet<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        match entries.last_mut() {
            Some(entry) if line.starts_with(' ') => *entry = format!("{entry}\n{line}"),
            _ => entries.push(line.to_owned()),
        }
    }
    entries.into_iter().collect()
}

fn raw(path: &str) -> Vec<u8> {
    let output = Sandbox::shared().kubectl(&["get", "--raw", path]);
    assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
