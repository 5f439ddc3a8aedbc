//! Programs of others that check what we release. They take minutes to build, so only the long tests use them.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use sandbox::gobuild::{Binary, Module};

use crate::go_program;

#[derive(Clone, Copy, Debug)]
pub enum ReleaseTool {
    /// Installs the chart.
    Helm,
    /// Validates the image.
    Crane,
    /// Checks the workflows.
    Actionlint,
}

impl ReleaseTool {
    /// A command of the program.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    pub fn command(self) -> Command {
        static PROGRAMS: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
        Command::new(PROGRAMS[self as usize].get_or_init(|| self.build()))
    }

    fn build(self) -> PathBuf {
        macro_rules! module {
            ($name:literal, $package:literal, $seconds:literal) => {
                Module {
                    name: $name,
                    files: &[
                        ("go.mod", include_str!(concat!("../../../tools/", $name, "/go.mod"))),
                        ("go.sum", include_str!(concat!("../../../tools/", $name, "/go.sum"))),
                    ],
                    binaries: &[Binary { package: $package, file: $name, links: &[] }],
                    ldflags: "",
                    cold_build: Duration::from_secs($seconds),
                }
            };
        }
        let module = match self {
            Self::Helm => module!("helm", "helm.sh/helm/v4/cmd/helm", 240),
            Self::Crane => module!("crane", "github.com/google/go-containerregistry/cmd/crane", 60),
            Self::Actionlint => module!("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", 30),
        };
        go_program::build(&module, module.name).join(module.name)
    }
}
