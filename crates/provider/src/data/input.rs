//! Where manifests come from: a text, files that match a pattern, or a kustomization.

use std::fs;

use diag::{Diagnostic, Source};
use sha2::{Digest, Sha256};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::ReadDataRequest;
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;

use super::manifests::{self, LOADING, Manifest};
use super::{glob, kustomize};
use crate::{codes, stop};

const NAMES: [&str; 3] = ["content", "pattern", "kustomize_path"];

/// The attributes for the source of manifests.
pub(super) fn schema(about: &str) -> Schema {
    Schema::new()
        .description(about)
        .attribute(
            Attribute::computed("id", Type::String).description("A hash of the input, prefixed with the name of the input."),
        )
        .attribute(
            Attribute::optional("content", Type::String)
                .description("The manifests as multi-document YAML."),
        )
        .attribute(
            Attribute::optional("pattern", Type::String).description(
                "A pattern for files with manifests: `manifests/*.yaml`, or `manifests/**/*.yaml` to include subfolders.",
            ),
        )
        .attribute(Attribute::optional("kustomize_path", Type::String).description(
            "A folder with a kustomization. It is built with the `kustomize` or the `kubectl` on the `PATH` of the machine that runs \
             Terraform; one of them has to be installed.",
        ))
}

/// Exactly one of them must be set; one that is not known yet counts.
pub(super) fn validate(config: &Object) -> Diagnostics {
    let given: Vec<&str> = NAMES.into_iter().filter(|name| !config.get(name).is_null()).collect();
    if given.len() == 1 {
        let is_late = config.get("kustomize_path").is_unknown();
        return is_late.then(kustomize::missing_builder).flatten().into_iter().collect();
    }
    let found =
        if given.is_empty() { "None is set".to_owned() } else { format!("Found: {}", given.join(", ")) };
    Diagnostic::error(codes::INPUT_CHOICE, "Invalid Configuration")
        .detail(format!(
            "Exactly one of 'content', 'pattern', or 'kustomize_path' must be specified.\n\n{found}."
        ))
        .into()
}

pub(super) struct Loaded {
    pub(super) id: String,
    pub(super) manifests: Vec<Manifest>,
    pub(super) diagnostics: Diagnostics,
}

/// Reads the manifests that the configuration of the data source `type_name` names.
pub(super) async fn load(type_name: &str, request: &ReadDataRequest) -> Result<Loaded, Diagnostics> {
    let config = &request.config;
    let wrong = validate(config);
    if wrong.has_errors() {
        return Err(wrong);
    }
    let id = |kind: &str, text: &str| format!("{kind}-{}", &format!("{:x}", Sha256::digest(text))[..8]);
    let mut diagnostics = Diagnostics::new();
    let (id, sources) = if let Some(text) = config.text("content") {
        (id("content", text), vec![Source::new("content", text)])
    } else if let Some(pattern) = config.text("pattern") {
        (id("pattern", pattern), files(pattern)?)
    } else if let Some(path) = config.text("kustomize_path") {
        let built =
            stop::run_unless_stopped(&request.stop, std::time::Duration::ZERO, kustomize::build(path)).await;
        let built = built
            .unwrap_or_else(|| Err("failed to build kustomization: Terraform was interrupted".to_owned()));
        let built = built.map_err(|why| refused(&why))?;
        let title = format!("Kustomize Warning (data.{type_name} at {path:?})");
        let warning =
            |text: String| Diagnostic::warning(codes::KUSTOMIZE_WARNING, title.clone()).detail(text);
        diagnostics.add(built.warnings.into_iter().map(warning).collect::<Diagnostics>());
        (id("kustomize", path), vec![Source::new(format!("the kustomization {path}"), built.text)])
    } else {
        return Err(unknown().into());
    };
    let mut manifests = Vec::new();
    let mut problems = Vec::new();
    for source in &sources {
        match manifests::split(source) {
            Ok(found) => manifests.extend(found),
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems.into());
    }
    if manifests.is_empty() {
        return Err(refused(&nothing(config)));
    }
    Ok(Loaded { id, manifests, diagnostics })
}

fn files(pattern: &str) -> Result<Vec<Source>, Diagnostics> {
    let paths = glob::files(pattern)
        .map_err(|error| refused(&format!("The pattern {pattern:?} is malformed: {}.", error.kind())))?;
    if paths.is_empty() {
        return Err(refused(&format!("No files matched pattern {pattern:?}.")));
    }
    let read = |path: &std::path::PathBuf| {
        let name = path.display().to_string();
        let bytes = fs::read(path).map_err(|error| refused(&format!("{name} cannot be read: {error}.")))?;
        manifest::decode(&name, &bytes).map_err(|problem| crate::report::titled(*problem, LOADING).into())
    };
    paths.iter().map(read).collect()
}

fn nothing(config: &Object) -> String {
    match (config.text("content"), config.text("pattern"), config.text("kustomize_path")) {
        (Some(_), ..) => "No Kubernetes resources found in YAML content.".to_owned(),
        (_, Some(pattern), _) => {
            format!("No Kubernetes resources found in files matching pattern {pattern:?}.")
        }
        (_, _, path) => {
            format!("No Kubernetes resources found in kustomization at {:?}.", path.unwrap_or_default())
        }
    }
}

fn refused(why: &str) -> Diagnostics {
    Diagnostic::error(codes::LOADING, LOADING).detail(why).into()
}

fn unknown() -> Diagnostic {
    Diagnostic::error(codes::INPUT_UNKNOWN, "Unknown Input Value")
        .detail("The input is known only after an apply, so it cannot be split yet.")
        .hint("Apply what it depends on first, with -target.")
}

#[cfg(test)]
mod tests {
    use tfplugin::value::Value;

    use super::*;

    async fn loaded(input: (&str, Value)) -> Result<Loaded, Diagnostics> {
        let config: Object = [input].into_iter().collect();
        load(
            "k8sconnect_yaml_split",
            &ReadDataRequest { config, deferral_allowed: false, stop: tfplugin::CancellationToken::new() },
        )
        .await
    }

    fn failure(result: Result<Loaded, Diagnostics>) -> (String, String) {
        let diagnostics = result.err().expect("it fails");
        let (_, diagnostic) = diagnostics.iter().next().unwrap();
        (diagnostic.summary.clone(), diagnostic.detail.clone())
    }

    #[test]
    fn exactly_one_input_is_given() {
        let check = |given: &[&str], valid: bool| {
            let config: Object = given.iter().map(|name| (*name, Value::unknown())).collect();
            let found = validate(&config);
            assert_eq!(found.has_errors(), !valid, "{given:?}");
            for (_, diagnostic) in found.iter().filter(|(_, diagnostic)| diagnostic.is_error()) {
                let text = "Exactly one of 'content', 'pattern', or 'kustomize_path' must be specified";
                assert!(diagnostic.detail.starts_with(text), "{}", diagnostic.detail);
            }
        };
        check(&[], false);
        check(&["content"], true);
        check(&["pattern", "kustomize_path"], false);
    }

    #[tokio::test]
    async fn ids_are_the_go_providers() {
        let text = "kind: A\nmetadata: {name: a}\n";
        let id = loaded(("content", text.into())).await.unwrap_or_else(|_| panic!("it loads")).id;
        assert_eq!(id, "content-20c83abb");
    }

    #[tokio::test]
    async fn files_are_read_in_order_and_named_in_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b.yaml"), "kind: B\nmetadata: {name: b}").unwrap();
        fs::write(folder.path().join("a.yaml"), "kind: A\nmetadata: {name: a}").unwrap();
        let pattern = format!("{}/*.yaml", folder.path().display());
        let keys = loaded(("pattern", pattern.as_str().into()))
            .await
            .unwrap_or_else(|_| panic!("it loads"))
            .manifests;
        assert_eq!(keys.iter().map(|manifest| manifest.key.as_str()).collect::<Vec<_>>(), ["a.a", "b.b"]);
        fs::write(folder.path().join("c.yaml"), "metadata: {}").unwrap();
        let (title, detail) = failure(loaded(("pattern", pattern.as_str().into())).await);
        assert_eq!(title, LOADING);
        assert!(detail.contains("Document 1 of") && detail.contains("c.yaml"), "{detail}");
    }

    #[tokio::test]
    async fn an_input_without_manifests_is_an_error() {
        let check = async |name: &str, value: Value, title: &str, text: &str| {
            let (found, detail) = failure(loaded((name, value)).await);
            assert_eq!(found, title);
            assert!(detail.contains(text), "{detail}");
        };
        check("content", "# nothing".into(), LOADING, "No Kubernetes resources found in YAML content").await;
        check("pattern", "/nowhere/*.yaml".into(), LOADING, "No files matched pattern").await;
        check("kustomize_path", "/nowhere".into(), LOADING, "failed to build kustomization").await;
        check("content", Value::unknown(), "Unknown Input Value", "after an apply").await;
    }
}
