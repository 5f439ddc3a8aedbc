//! The pages for the Terraform registry are fresh and true.

use std::path::Path;

use provider::Provider;
use tfplugin::provider::Provider as _;
use tfplugin::schema::{Attribute, Kind};

use crate::pages::pages;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn text_of(path: &str) -> String {
    pages().into_iter().find(|page| page.path == path).unwrap_or_else(|| panic!("no page {path}")).text
}

#[test]
fn the_committed_pages_are_what_the_schemas_say() {
    let mut committed = Vec::new();
    let folders =
        ["actions", "data-sources", "ephemeral-resources", "functions", "list-resources", "resources"];
    for folder in [""].into_iter().chain(folders) {
        for file in std::fs::read_dir(root().join("docs").join(folder)).unwrap().flatten() {
            if file.file_type().unwrap().is_file() {
                committed.push(Path::new(folder).join(file.file_name()).display().to_string());
            }
        }
    }
    committed.sort();
    let mut expected: Vec<String> = pages().into_iter().map(|page| page.path).collect();
    expected.sort();
    assert_eq!(committed, expected, "run `cargo xtask docs`");
    for page in pages() {
        let text = std::fs::read_to_string(root().join("docs").join(&page.path)).unwrap();
        assert!(text == page.text, "docs/{} is stale: run `cargo xtask docs`", page.path);
    }
}

#[test]
fn the_registry_manifest_names_the_protocol() {
    let text = std::fs::read_to_string(root().join("terraform-registry-manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest, serde_json::json!({"version": 1, "metadata": {"protocol_versions": ["6.0"]}}));
}

#[test]
fn every_attribute_is_described_and_every_type_has_a_page() {
    fn check(page: &str, attributes: &[Attribute]) {
        for attribute in attributes {
            assert!(attribute.description.ends_with('.'), "{page}: {}", attribute.name);
            if let Kind::Nested(nested) = &attribute.kind {
                check(page, nested);
            }
        }
    }
    let provider = Provider::default();
    check("provider", &provider.schema().attributes);
    for resource in provider.resources() {
        check(resource.type_name(), &resource.schema().attributes);
    }
    for source in provider.data_sources() {
        check(source.type_name(), &source.schema().attributes);
    }
    for resource in provider.ephemeral_resources() {
        check(resource.type_name(), &resource.schema().attributes);
    }
    for resource in provider.list_resources() {
        check(resource.type_name(), &resource.schema().attributes);
    }
    for action in provider.actions() {
        check(action.type_name(), &action.schema().attributes);
    }
    for function in provider.functions() {
        let signature = function.signature();
        let texts = signature.parameters.iter().map(|parameter| &parameter.description);
        for text in texts.chain([&signature.summary, &signature.description]) {
            assert!(text.ends_with('.'), "{}: {text}", function.name());
        }
    }
    assert_eq!(pages().len(), 19);
}

#[test]
fn the_pages_describe_only_what_exists() {
    let all: String = pages().into_iter().map(|page| page.text).collect();
    for stale in ["Managed Fields Override", "patch_content", "cluster_connection", "300s", "[*]", ".*`"] {
        assert!(!all.contains(stale), "{stale}");
    }
    // Validation accepts the paths in the prose.
    for path in [
        "spec.replicas",
        "spec.template.spec.containers[name=web].image",
        "metadata.annotations['example.com/key']",
    ] {
        assert!(text_of("resources/object.md").contains(&format!("`{path}`")), "{path}");
        assert!(fields::IgnoreFields::parse([path]).is_ok(), "{path}");
    }
    // Keys include the group, as the data sources build them, and deletion timeouts depend on the kind.
    assert!(text_of("data-sources/yaml_split.md").contains("apps.deployment.shop.web"));
    let object = text_of("resources/object.md");
    assert!(object.contains("15 minutes for namespaces and CRDs") && object.contains("`status`"), "{object}");
}
