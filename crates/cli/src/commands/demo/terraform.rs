//! Applies and plans the demo with Terraform or OpenTofu, with this program as the provider.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use sandbox::{Environment, Layout, gobuild};
use serde_json::Value;
use tokio::process::Command;

use super::processes::Processes;
use super::untrue;
use crate::support::exit::Failure;

/// The files of the configuration.
const FILES: [(&str, &str); 5] = [
    ("main.tf", include_str!("../../../../../examples/demo/main.tf")),
    ("definition.yaml", super::DEFINITION),
    ("composition.yaml", super::COMPOSITION),
    ("claim.yaml", super::CLAIM),
    ("front.yaml", super::FRONT),
];

/// A configuration and the program that applies it.
pub(super) struct Terraform {
    /// `terraform` or `tofu`.
    pub(super) name: &'static str,
    program: PathBuf,
    folder: PathBuf,
    kubeconfig: PathBuf,
}

impl Terraform {
    /// The first that is installed.
    pub(super) fn find(environment: &Environment) -> Option<(&'static str, PathBuf)> {
        ["terraform", "tofu"]
            .into_iter()
            .find_map(|name| Some((name, gobuild::find_program(name, &environment.path)?)))
    }

    /// Writes the configuration.
    pub(super) fn set_up(
        (name, program): (&'static str, PathBuf),
        processes: &Processes,
        layout: &Layout,
    ) -> Result<Self, Failure> {
        let folder = processes.folder.join("terraform");
        let plugins = folder.join("plugins");
        fs::create_dir_all(&plugins)?;
        symlink(processes.program(), plugins.join(provider::PROGRAM))?;
        for (name, content) in FILES {
            fs::write(folder.join(name), content)?;
        }
        let overrides = format!(
            "provider_installation {{\n  dev_overrides {{\n    \"jmorris0x0/k8sconnect\" = {:?}\n  }}\n  direct {{}}\n}}\n",
            plugins.display().to_string()
        );
        fs::write(folder.join("terraform.rc"), overrides)?;
        let compartment = serde_json::json!({ "compartment": processes.compartment });
        fs::write(folder.join("demo.auto.tfvars.json"), compartment.to_string())?;
        Ok(Self { name, program, folder, kubeconfig: layout.kubeconfig() })
    }

    /// Applies everything; returns Terraform's summary line.
    pub(super) async fn apply(&self) -> Result<String, Failure> {
        let printed = self.succeeded(&["apply", "-auto-approve", "-input=false", "-no-color"]).await?;
        let summary = printed.lines().find(|line| line.starts_with("Apply complete!"));
        Ok(summary.ok_or_else(|| untrue("the apply did not complete"))?.to_owned())
    }

    /// The output `endpoint`.
    pub(super) async fn endpoint(&self) -> Result<String, Failure> {
        self.succeeded(&["output", "-raw", "endpoint"]).await
    }

    /// The claim's `status` in the state.
    pub(super) async fn status(&self) -> Result<Value, Failure> {
        let shown = self.succeeded(&["show", "-json"]).await?;
        let state: Value = serde_json::from_str(&shown)
            .map_err(|error| untrue(format!("cannot read the state: {error}")))?;
        let resources = state.pointer("/values/root_module/resources").and_then(Value::as_array);
        let claim = resources.into_iter().flatten().find(|it| it["address"] == "k8sconnect_object.orders");
        Ok(claim.map_or(Value::Null, |claim| claim["values"]["status"].clone()))
    }

    /// The only warning of a plan about drift, as title and detail.
    pub(super) async fn warning(&self) -> Result<String, Failure> {
        let warnings = warnings(&self.succeeded(&["plan", "-input=false", "-json"]).await?);
        let [warning] = &warnings[..] else {
            return Err(untrue(format!("expected one warning, found {}", warnings.len())));
        };
        // Omits the provider's advice and links, which are for users with a real conflict.
        Ok(warning.split("\n\nIf ").next().unwrap_or(warning).to_owned())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    async fn succeeded(&self, arguments: &[&str]) -> Result<String, Failure> {
        let output = self.run(arguments).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let name = self.name;
        let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
        Err(untrue(format!("`{name} {}` failed:\n{printed}", arguments.join(" "))))
    }

    async fn run(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("TF_CLI_CONFIG_FILE", self.folder.join("terraform.rc"))
            .env("TF_IN_AUTOMATION", "1")
            .env("CHECKPOINT_DISABLE", "1")
            .kill_on_drop(true);
        Ok(command.output().await?)
    }
}

/// The warnings about drift in the output of `plan -json`, which is one JSON object per line.
fn warnings(output: &str) -> Vec<String> {
    let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let warning = |line: Value| {
        let text = |name: &str| line["diagnostic"][name].as_str().unwrap_or_default().to_owned();
        let is_drift = text("severity") == "warning" && text("summary").starts_with("Drift");
        is_drift.then(|| format!("Warning: {}\n\n{}", text("summary"), text("detail")))
    };
    lines.filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_about_drift_are_found_in_the_output() {
        let output = r#"{"@message":"Plan: 1","type":"change_summary"}
{"type":"diagnostic","diagnostic":{"severity":"warning","summary":"Drift Detected","detail":"a → b"}}
{"type":"diagnostic","diagnostic":{"severity":"warning","summary":"Development overrides","detail":"x"}}
not json"#;
        assert_eq!(warnings(output), ["Warning: Drift Detected\n\na → b"]);
    }
}
