//! The programs that run Terraform configurations.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use sandbox::Environment;
use sandbox::gobuild::{self, Binary, Module};

use crate::go_program;

#[derive(Clone, Debug)]
pub struct Client {
    name: &'static str,
    program: PathBuf,
}

impl Client {
    /// OpenTofu, built once and cached.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    pub fn tofu() -> Self {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        Self { name: "tofu", program: PROGRAM.get_or_init(build_tofu).clone() }
    }

    /// Terraform, if it is installed.
    pub fn terraform() -> Option<Self> {
        let environment = Environment::from_process().expect("tests have a home folder");
        let Some(program) = gobuild::find_program("terraform", &environment.path) else {
            go_program::log("terraform is not on PATH: skipping its part of the tests");
            return None;
        };
        Some(Self { name: "terraform", program })
    }

    /// Terraform 1.14, which knows lists, actions and deferrals; built once and cached.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    pub fn terraform_1_14() -> Self {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        Self { name: "terraform", program: PROGRAM.get_or_init(build_terraform).clone() }
    }

    /// Terraform if it is installed, else OpenTofu, which takes longer to get.
    pub fn any() -> Self {
        Self::terraform().unwrap_or_else(Self::tofu)
    }

    pub fn all() -> Vec<Self> {
        Self::terraform().into_iter().chain([Self::tofu()]).collect()
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }
}

fn build_tofu() -> PathBuf {
    let module = Module {
        name: "opentofu",
        files: &[
            ("go.mod", include_str!("../../../../tools/opentofu/go.mod")),
            ("go.sum", include_str!("../../../../tools/opentofu/go.sum")),
        ],
        binaries: &[Binary { package: "github.com/opentofu/opentofu/cmd/tofu", file: "tofu", links: &[] }],
        ldflags: "",
        cold_build: Duration::from_secs(540),
    };
    go_program::build(&module, "OpenTofu").join("tofu")
}

fn build_terraform() -> PathBuf {
    const GO_MOD: &str = include_str!("../../../../tools/terraform/go.mod");
    let mut files = vec![
        ("go.mod".to_owned(), GO_MOD),
        ("go.sum".to_owned(), include_str!("../../../../tools/terraform/go.sum")),
    ];
    // The modules that go.mod replaces by a folder.
    let folders = GO_MOD.lines().filter_map(|line| line.split_once("=> ./")).map(|(_, folder)| folder);
    for folder in folders {
        files.push((format!("{folder}/go.mod"), include_str!("../../../../tools/terraform/backend/go.mod")));
        files.push((
            format!("{folder}/backend.go"),
            include_str!("../../../../tools/terraform/backend/backend.go"),
        ));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let module = Module {
        name: "terraform",
        files: &files,
        binaries: &[Binary { package: "github.com/hashicorp/terraform", file: "terraform", links: &[] }],
        // Deferrals are an experiment.
        ldflags: "-X main.experimentsAllowed=yes",
        cold_build: Duration::from_secs(200),
    };
    go_program::build(&module, "Terraform").join("terraform")
}
