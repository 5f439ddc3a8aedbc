//! The programs that speak Terraform's language.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use sandbox::Environment;
use sandbox::gobuild::{self, Binary, BuildEvent, Module};

/// A client of providers.
#[derive(Clone, Debug)]
pub struct Client {
    name: &'static str,
    program: PathBuf,
}

impl Client {
    /// OpenTofu, built once and kept in the cache.
    ///
    /// # Panics
    ///
    /// If it cannot be built: no test that asks for it can say anything then.
    pub fn tofu() -> Self {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        Self { name: "tofu", program: PROGRAM.get_or_init(build_tofu).clone() }
    }

    /// Terraform, where it is installed.
    pub fn terraform() -> Option<Self> {
        let environment = Environment::from_process().expect("tests have a home folder");
        let Some(program) = gobuild::find_program("terraform", &environment.path) else {
            tell("terraform is not on PATH: its part of the tests is left out");
            return None;
        };
        Some(Self { name: "terraform", program })
    }

    /// One client, whichever takes less to get.
    pub fn any() -> Self {
        Self::terraform().unwrap_or_else(Self::tofu)
    }

    /// Every client there is.
    pub fn all() -> Vec<Self> {
        Self::terraform().into_iter().chain([Self::tofu()]).collect()
    }

    /// What people call it.
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
            tell(&format!("building OpenTofu, which takes up to {} minutes", estimate.as_secs() / 60));
        }
        BuildEvent::Compiled { done, total } if done * 10 / total.max(1) > tenths => {
            tenths = done * 10 / total.max(1);
            tell(&format!("building OpenTofu: {done} of {total} packages"));
        }
        _ => {}
    });
    match built {
        Ok(folder) => folder.join("tofu"),
        Err(error) => panic!("OpenTofu cannot be built: {error:?}"),
    }
}

#[expect(clippy::print_stderr, reason = "a test that takes minutes, or is left out, says so")]
fn tell(text: &str) {
    eprintln!("{text}");
}
