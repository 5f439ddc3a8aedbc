//! The programs that run Terraform configurations.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use sandbox::Environment;
use sandbox::gobuild::{self, Binary, BuildEvent, Module};

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
            log("terraform is not on PATH: skipping its part of the tests");
            return None;
        };
        Some(Self { name: "terraform", program })
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
    let environment = Environment::from_process().expect("tests have a home folder");
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
    let mut tenths = 0;
    let built = module.ensure(&environment.cache, &environment.path, &mut |event| match event {
        BuildEvent::Started { estimate, .. } => {
            log(&format!("building OpenTofu, which takes up to {} minutes", estimate.as_secs() / 60));
        }
        BuildEvent::Compiled { done, total } if done * 10 / total.max(1) > tenths => {
            tenths = done * 10 / total.max(1);
            log(&format!("building OpenTofu: {done} of {total} packages"));
        }
        _ => {}
    });
    match built {
        Ok(folder) => folder.join("tofu"),
        Err(error) => panic!("cannot build OpenTofu: {error:?}"),
    }
}

#[expect(clippy::print_stderr, reason = "a test that takes minutes, or is skipped, says so")]
fn log(text: &str) {
    eprintln!("{text}");
}
