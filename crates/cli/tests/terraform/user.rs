//! A user who has installed the provider.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use testkit::terraform::{Client, Run, Workspace};

/// A user with an empty home, in which the provider is installed.
pub(crate) struct User {
    pub(crate) home: TempDir,
    pub(crate) workspace: Workspace,
}

impl User {
    pub(crate) fn new(client: Client) -> Self {
        let user = Self::without_provider(client);
        user.install(&[]);
        user
    }

    pub(crate) fn without_provider(client: Client) -> Self {
        let workspace = Workspace::new(client, &[]);
        // Not even the settings of the other tests.
        workspace.write("client.tfrc", "");
        Self { home: TempDir::new().unwrap(), workspace }
    }

    /// `plimsoll terraform install`; what it printed.
    pub(crate) fn install(&self, more: &[&str]) -> String {
        self.plimsoll(&[&["install"], more].concat())
    }

    /// `plimsoll terraform …`; what it printed.
    pub(crate) fn plimsoll(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.arg("terraform").args(arguments).env("HOME", self.home.path()).env("COLUMNS", "1000");
        let output = command.env_remove("TF_CLI_CONFIG_FILE").output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout) + &text(&output.stderr)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.workspace.command();
        let output = command.args(arguments).arg("-no-color").env("HOME", self.home.path()).output().unwrap();
        Run::from_output(format!("{command:?}"), &output)
    }

    pub(crate) fn requires(&self, source: &str, version: &str) {
        let text = format!(
            "terraform {{\n  required_providers {{\n    k8sconnect = {{ source = {source:?}, version = {version:?} }}\n  }}\n}}\n"
        );
        self.workspace.write("providers.tf", &text);
    }

    /// The lock file of a user of the Go provider's release 0.3.8.
    pub(crate) fn locks_the_go_provider(&self) {
        let address = format!("{}/jmorris0x0/k8sconnect", self.workspace.registry());
        self.workspace.write(
            ".terraform.lock.hcl",
            &format!(
                "provider {address:?} {{\n  version     = \"0.3.8\"\n  constraints = \"~> 0.3\"\n  hashes = [\n    \
                 \"h1:LDsHmGz2Oxq9b8vTQ0Rvt1xZsGcLpJ2rX4n7rTQyW0E=\",\n    \
                 \"zh:5a1f0f8e6b1f3d7f4f4c1b7a2d0c6e9b8a7f6e5d4c3b2a190817263544536271\",\n  ]\n}}\n"
            ),
        );
    }

    pub(crate) fn lock(&self) -> String {
        fs::read_to_string(self.workspace.path(".terraform.lock.hcl")).unwrap()
    }

    pub(crate) fn mirror(&self) -> PathBuf {
        self.home.path().join(".terraform.d/plugins")
    }
}
