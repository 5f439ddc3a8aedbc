//! Programs of others that check what we release, and functions that people use. They take minutes to build, so only the long tests
//! use them.

use std::path::{Path, PathBuf};
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
    /// Runs scripts as Argo CD does.
    Lua,
    /// Crossplane's own command line.
    Crossplane,
    /// function-auto-ready
    AutoReady,
    /// function-go-templating
    GoTemplating,
    /// function-patch-and-transform
    PatchAndTransform,
}

impl ReleaseTool {
    /// A command of the program.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    pub fn command(self) -> Command {
        static PROGRAMS: [OnceLock<PathBuf>; 8] = [const { OnceLock::new() }; 8];
        Command::new(PROGRAMS[self as usize].get_or_init(|| self.build()))
    }

    /// The source of the program, where Go keeps it: its examples are there too.
    ///
    /// # Panics
    ///
    /// If it cannot be downloaded.
    pub fn source(self) -> PathBuf {
        let (folder, module) = match self {
            Self::AutoReady => ("function-auto-ready", "github.com/crossplane/function-auto-ready"),
            Self::GoTemplating => {
                ("function-go-templating", "github.com/crossplane-contrib/function-go-templating")
            }
            Self::PatchAndTransform => {
                ("function-patch-and-transform", "github.com/crossplane-contrib/function-patch-and-transform")
            }
            other => panic!("the source of {other:?} is of no use"),
        };
        let tools = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools"));
        let mut list = Command::new("go");
        list.args(["list", "-m", "-f", "{{.Dir}}", module]).current_dir(tools.join(folder));
        let output = list.output().expect("go starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
    }

    fn build(self) -> PathBuf {
        macro_rules! module {
            ($name:literal, $package:expr, $seconds:literal) => {
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
            Self::Lua => module!("lua", "github.com/yuin/gopher-lua/cmd/glua", 10),
            Self::Crossplane => {
                module!("crossplane-cli", "github.com/crossplane/cli/v2/cmd/crossplane", 300)
            }
            Self::AutoReady => {
                module!("function-auto-ready", "github.com/crossplane/function-auto-ready", 120)
            }
            Self::GoTemplating => {
                let package = "github.com/crossplane-contrib/function-go-templating";
                module!("function-go-templating", package, 120)
            }
            Self::PatchAndTransform => {
                let package = "github.com/crossplane-contrib/function-patch-and-transform";
                module!("function-patch-and-transform", package, 120)
            }
        };
        go_program::build(&module, module.name).join(module.name)
    }
}
