//! The published schemas of `-o json`, to which tests hold real output.

use std::fs;

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/reference");
/// Others refer to its definitions.
const REPORT: &str = "report";

fn read(name: &str) -> Value {
    let path = format!("{FOLDER}/{name}-v1.schema.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let schema: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(schema["$id"], format!("https://plimsoll.dev/schemas/{name}-v1.schema.json"));
    schema
}

fn with_validator<T>(name: &str, of: impl FnOnce(&Validator) -> T) -> T {
    let (schema, report) = (read(name), read(REPORT));
    if name == REPORT {
        return of(&jsonschema::validator_for(&report).expect("a valid schema"));
    }
    let id = report["$id"].as_str().unwrap_or_default();
    let registry = Registry::new().add(id, &report).expect("an address").prepare().expect("a schema");
    of(&jsonschema::options().with_registry(&registry).build(&schema).expect("a valid schema"))
}

/// The document that a command has printed with `-o json`, which is as the schema says. Nothing may be added to it: a field
/// that is not in the schema has not been published.
pub(crate) fn check(name: &str, output: &str) -> Value {
    let document: Value = serde_json::from_str(output).unwrap_or_else(|error| panic!("{error}: {output}"));
    with_validator(name, |validator| {
        let errors = validator.iter_errors(&document);
        let errors: Vec<String> = errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}\n{output}");
        let mut more = document.clone();
        let first = if more.is_array() { more.get_mut(0) } else { Some(&mut more) };
        if let Some(first) = first {
            first["unpublished"] = json!(1);
            assert!(!validator.is_valid(&more), "{name} accepts any field");
        }
    });
    document
}
