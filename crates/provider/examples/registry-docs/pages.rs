//! The pages for the Terraform registry, generated from the schemas, so that they always match the provider.
//!
//! `cargo xtask docs` writes them to `docs/`; a test fails when they are stale.

use std::fmt::Write as _;

use provider::Provider;
use tfplugin::provider::{Provider as _, Signature};
use tfplugin::schema::{Attribute, Kind, Presence, Schema};
use tfplugin::types::Type;

/// A file under `docs/`.
pub(crate) struct Page {
    /// As in `resources/object.md`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The parts of a page that do not come from the schema.
struct Extra {
    example: &'static str,
    prose: &'static str,
    import: Option<&'static str>,
}

const NEEDS_1_11: &str = "Needs Terraform or OpenTofu 1.11. Terraform opens it at plan and again at apply.\n";

pub(crate) fn pages() -> Vec<Page> {
    let provider = Provider::default();
    let mut pages = vec![index(&provider.schema())];
    for resource in provider.resources() {
        pages.push(page("Resource", resource.type_name(), &resource.schema()));
    }
    for source in provider.data_sources() {
        pages.push(page("Data Source", source.type_name(), &source.schema()));
    }
    for resource in provider.ephemeral_resources() {
        pages.push(page("Ephemeral Resource", resource.type_name(), &resource.schema()));
    }
    for resource in provider.list_resources() {
        pages.push(page("List Resource", resource.type_name(), &resource.schema()));
    }
    for action in provider.actions() {
        pages.push(page("Action", action.type_name(), &action.schema()));
    }
    for function in provider.functions() {
        pages.push(function_page(function.name(), &function.signature()));
    }
    pages
}

fn index(schema: &Schema) -> Page {
    let example = include_str!("../../../../examples/provider/provider.tf");
    let prose = include_str!("provider.md");
    let text = format!(
        "---\npage_title: \"Provider: k8sconnect\"\ndescription: |-\n  {about}\n---\n\n# k8sconnect Provider\n\n{about}\n\n{prose}\n## \
         Example Usage\n\n```terraform\n{example}```\n\n{schema}",
        about = schema.description,
        schema = schema_section(schema),
    );
    Page { path: "index.md".to_owned(), text }
}

fn page(what: &str, type_name: &str, schema: &Schema) -> Page {
    let extra = extra(what, type_name);
    let about = &schema.description;
    let mut text = format!(
        "---\npage_title: \"{type_name} {what} - terraform-provider-k8sconnect\"\nsubcategory: \"\"\ndescription: |-\n  {about}\n---\n\n# \
         {type_name} ({what})\n\n{about}\n\n## Example Usage\n\n```terraform\n{}```\n\n",
        extra.example
    );
    if !extra.prose.is_empty() {
        text.push_str(extra.prose);
        text.push('\n');
    }
    text.push_str(&schema_section(schema));
    if let Some(import) = extra.import {
        let _infallible = write!(text, "\n## Import\n\n```shell\n{import}```\n");
    }
    let folder = match what {
        "Resource" => "resources",
        "Data Source" => "data-sources",
        "Ephemeral Resource" => "ephemeral-resources",
        "List Resource" => "list-resources",
        _ => "actions",
    };
    let name = type_name.trim_start_matches("k8sconnect_");
    Page { path: format!("{folder}/{name}.md"), text }
}

fn function_page(name: &str, signature: &Signature) -> Page {
    let Signature { summary, description, parameters, result } = signature;
    let typed: Vec<String> = parameters
        .iter()
        .map(|parameter| format!("{} {}", parameter.name, short_type(&parameter.ty)))
        .collect();
    let mut text = format!(
        "---\npage_title: \"{name} Function - terraform-provider-k8sconnect\"\nsubcategory: \"\"\ndescription: |-\n  {summary}\n---\n\n# \
         function: {name}\n\n{description} Needs Terraform 1.8 or OpenTofu 1.7.\n\n## Example Usage\n\n```terraform\n{}```\n\n## \
         Signature\n\n```text\n{name}({}) {}\n```\n\n## Arguments\n\n",
        function_example(name),
        typed.join(", "),
        short_type(result),
    );
    for (index, parameter) in parameters.iter().enumerate() {
        let ty = type_text(&parameter.ty);
        let _infallible =
            writeln!(text, "{}. `{}` ({ty}) {}", index + 1, parameter.name, parameter.description);
    }
    Page { path: format!("functions/{name}.md"), text }
}

fn function_example(name: &str) -> &'static str {
    match name {
        "yaml_split" => include_str!("../../../../examples/functions/yaml_split/function.tf"),
        "yaml_scoped" => include_str!("../../../../examples/functions/yaml_scoped/function.tf"),
        "encode" => include_str!("../../../../examples/functions/encode/function.tf"),
        "decode" => include_str!("../../../../examples/functions/decode/function.tf"),
        _ => include_str!("../../../../examples/functions/owners/function.tf"),
    }
}

/// A type in the notation of configurations.
fn short_type(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Dynamic => "dynamic".to_owned(),
        Type::List(element) => format!("list({})", short_type(element)),
        Type::Set(element) => format!("set({})", short_type(element)),
        Type::Map(element) => format!("map({})", short_type(element)),
        Type::Tuple(_) => "tuple".to_owned(),
        Type::Object(_) => "object".to_owned(),
    }
}

fn extra(what: &str, type_name: &str) -> Extra {
    macro_rules! example {
        ($path:literal) => {
            include_str!(concat!("../../../../examples/", $path))
        };
    }
    let (example, prose, import) = match (what, type_name) {
        ("Resource", "k8sconnect_object") => (
            example!("resources/k8sconnect_object/resource.tf"),
            include_str!("object.md"),
            Some(example!("resources/k8sconnect_object/import.sh")),
        ),
        ("Resource", "k8sconnect_patch") => {
            (example!("resources/k8sconnect_patch/resource.tf"), include_str!("patch.md"), None)
        }
        ("Resource", _) => (example!("resources/k8sconnect_wait/resource.tf"), include_str!("wait.md"), None),
        ("Ephemeral Resource", "k8sconnect_object") => {
            (example!("ephemeral-resources/k8sconnect_object/ephemeral-resource.tf"), NEEDS_1_11, None)
        }
        ("Ephemeral Resource", _) => {
            (example!("ephemeral-resources/k8sconnect_token/ephemeral-resource.tf"), NEEDS_1_11, None)
        }
        ("List Resource", _) => (
            example!("list-resources/k8sconnect_object/list-resource.tfquery.hcl"),
            include_str!("list.md"),
            None,
        ),
        ("Action", "k8sconnect_restart") => {
            (example!("actions/k8sconnect_restart/action.tf"), include_str!("action.md"), None)
        }
        ("Action", "k8sconnect_scale") => {
            (example!("actions/k8sconnect_scale/action.tf"), include_str!("action.md"), None)
        }
        ("Action", _) => (example!("actions/k8sconnect_delete/action.tf"), include_str!("action.md"), None),
        (_, "k8sconnect_object") => (example!("data-sources/k8sconnect_object/data-source.tf"), "", None),
        (_, "k8sconnect_objects") => (example!("data-sources/k8sconnect_objects/data-source.tf"), "", None),
        (_, "k8sconnect_yaml_split") => {
            (example!("data-sources/k8sconnect_yaml_split/data-source.tf"), include_str!("yaml.md"), None)
        }
        _ => (example!("data-sources/k8sconnect_yaml_scoped/data-source.tf"), include_str!("yaml.md"), None),
    };
    Extra { example, prose, import }
}

/// The attributes, in the registry's usual form.
fn schema_section(schema: &Schema) -> String {
    let mut text = "## Schema\n".to_owned();
    let mut nested = Vec::new();
    list(&mut text, &schema.attributes, "", &mut nested);
    while !nested.is_empty() {
        let mut deeper = Vec::new();
        for (path, attributes) in nested {
            let _infallible = write!(
                text,
                "\n<a id=\"nestedatt--{}\"></a>\n### Nested Schema for `{path}`\n",
                anchor(&path)
            );
            list(&mut text, &attributes, &path, &mut deeper);
        }
        nested = deeper;
    }
    text
}

/// Lists attributes by who sets them; nested ones are collected in `nested`.
fn list(text: &mut String, attributes: &[Attribute], path: &str, nested: &mut Vec<(String, Vec<Attribute>)>) {
    let groups = [
        ("Required", Presence::Required),
        ("Optional", Presence::Optional),
        ("Read-Only", Presence::Computed),
    ];
    for (title, presence) in groups {
        let mut members: Vec<&Attribute> =
            attributes.iter().filter(|attribute| attribute.presence == presence).collect();
        if members.is_empty() {
            continue;
        }
        members.sort_by(|one, other| one.name.cmp(&other.name));
        let heading = if path.is_empty() { format!("\n### {title}\n\n") } else { format!("\n{title}:\n\n") };
        text.push_str(&heading);
        for attribute in members {
            let path =
                if path.is_empty() { attribute.name.clone() } else { format!("{path}.{}", attribute.name) };
            text.push_str(&line(attribute, &path));
            if let Kind::Nested(inner) = &attribute.kind {
                nested.push((path, inner.clone()));
            }
        }
    }
}

fn line(attribute: &Attribute, path: &str) -> String {
    let mut kind = match &attribute.kind {
        Kind::Plain(ty) => type_text(ty),
        Kind::Nested(_) => "Attributes".to_owned(),
    };
    if attribute.sensitive {
        kind.push_str(", Sensitive");
    }
    if attribute.write_only {
        kind.push_str(", Write-only");
    }
    let mut line = format!("- `{}` ({kind}) {}", attribute.name, attribute.description);
    if attribute.requires_replace {
        line.push_str(" Changing it replaces the resource.");
    }
    if matches!(attribute.kind, Kind::Nested(_)) {
        let _infallible = write!(line, " (see [below for nested schema](#nestedatt--{}))", anchor(path));
    }
    line + "\n"
}

fn type_text(ty: &Type) -> String {
    match ty {
        Type::Bool => "Boolean".to_owned(),
        Type::Number => "Number".to_owned(),
        Type::String => "String".to_owned(),
        Type::Dynamic => "Dynamic".to_owned(),
        Type::List(element) => format!("List of {}", type_text(element)),
        Type::Set(element) => format!("Set of {}", type_text(element)),
        Type::Map(element) => format!("Map of {}", type_text(element)),
        Type::Tuple(_) => "Tuple".to_owned(),
        Type::Object(_) => "Object".to_owned(),
    }
}

fn anchor(path: &str) -> String {
    path.replace('.', "--")
}
