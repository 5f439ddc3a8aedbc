//! Real clients of a Terraform provider: OpenTofu and Terraform 1.14, built from their Go modules, and Terraform where it is
//! installed.
//!
//! A [`Workspace`] is a folder with a configuration, for a client and a provider under development; its methods run the
//! client's commands and capture the output.

mod client;
mod run;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

pub use client::Client;
pub use run::Run;
pub use running::Running;

/// A configuration, its state, and the client that runs it.
#[derive(Debug)]
pub struct Workspace {
    folder: TempDir,
    client: Client,
}

impl Workspace {
    /// An empty folder for `client`, with the program of each provider, by address (`acme/greeter`).
    ///
    /// # Panics
    ///
    /// If the folder cannot be written.
    pub fn new(client: Client, providers: &[(&str, &Path)]) -> Self {
        let folder = TempDir::new().expect("tests can write temporary files");
        let workspace = Self { folder, client };
        let (mut overrides, mut required) = (Vec::new(), Vec::new());
        for (address, program) in providers {
            let name = address.rsplit('/').next().unwrap_or(address);
            // In a folder of its own: in cargo's target folder other files share the prefix.
            let plugin = workspace.path(&format!("plugin-{name}"));
            fs::create_dir(&plugin).expect("the folder was created here");
            let link = plugin.join(format!("terraform-provider-{name}"));
            std::os::unix::fs::symlink(program, link).expect("the folder was created here");
            overrides.push(format!("    {address:?} = {:?}\n", plugin.display().to_string()));
            required.push(format!("    {name} = {{ source = {address:?} }}\n"));
        }
        let (overrides, required) = (overrides.concat(), required.concat());
        workspace.write(
            "client.tfrc",
            &format!("provider_installation {{\n  dev_overrides {{\n{overrides}  }}\n  direct {{}}\n}}\n"),
        );
        workspace
            .write("providers.tf", &format!("terraform {{\n  required_providers {{\n{required}  }}\n}}\n"));
        workspace
    }

    /// Writes or replaces a file of the configuration.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("the folder was created here");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The client's default registry, which states contain.
    pub fn registry(&self) -> &'static str {
        if self.client.name() == "tofu" { "registry.opentofu.org" } else { "registry.terraform.io" }
    }

    /// `validate`
    pub fn validate(&self) -> Run {
        self.run(&["validate", "-no-color"])
    }

    /// `plan` with further arguments.
    pub fn plan(&self, more: &[&str]) -> Run {
        self.run_with(&["plan", "-no-color", "-input=false"], more)
    }

    /// `apply -auto-approve` with further arguments.
    pub fn apply(&self, more: &[&str]) -> Run {
        self.run_with(&["apply", "-no-color", "-input=false", "-auto-approve"], more)
    }

    /// Starts a command that runs while the test continues.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command().args(arguments))
    }

    /// `destroy -auto-approve`
    pub fn destroy(&self) -> Run {
        self.run(&["destroy", "-no-color", "-input=false", "-auto-approve"])
    }

    /// `import` of `id` to `address`.
    pub fn import(&self, address: &str, id: &str) -> Run {
        self.run(&["import", "-no-color", "-input=false", address, id])
    }

    /// The attributes of the resource at `address` in the state; null if there is none.
    ///
    /// # Panics
    ///
    /// If the state cannot be shown.
    pub fn attributes(&self, address: &str) -> Value {
        let shown = self.run(&["show", "-json"]).expect_success();
        let state: Value = serde_json::from_str(shown.stdout()).expect("`show -json` writes JSON");
        let resources = state.pointer("/values/root_module/resources").and_then(Value::as_array);
        let found = resources.into_iter().flatten().find(|resource| resource["address"] == address);
        found.map_or(Value::Null, |resource| resource["values"].clone())
    }

    /// The planned change of the resource at `address`: actions such as `["create"]` or `["no-op"]`, before and after.
    ///
    /// # Panics
    ///
    /// If planning fails.
    pub fn change(&self, address: &str) -> Value {
        self.plan(&["-out=plan.bin"]).expect_success();
        let shown = self.run(&["show", "-json", "plan.bin"]).expect_success();
        let plan: Value = serde_json::from_str(shown.stdout()).expect("`show -json` writes JSON");
        let changes = plan["resource_changes"].as_array();
        let found = changes.into_iter().flatten().find(|change| change["address"] == address);
        found.map_or(Value::Null, |change| change["change"].clone())
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command().args(arguments))
    }

    fn run_with(&self, arguments: &[&str], more: &[&str]) -> Run {
        Run::of(self.command().args(arguments).args(more))
    }

    /// The client in this folder, without the environment variables that change its behaviour.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.client.program());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TF_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.folder.path())
            .env("TF_CLI_CONFIG_FILE", self.path("client.tfrc"))
            .env("TF_IN_AUTOMATION", "1")
            .env("CHECKPOINT_DISABLE", "1")
            .env_remove("KUBECONFIG");
        command
    }
}
