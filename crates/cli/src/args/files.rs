//! The file arguments of every command that reads manifests.

use std::path::PathBuf;

use clap::Args;

/// Where manifests are.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FileArgs {
    /// File, folder of *.yaml, *.yml and *.json files, quoted pattern, URL, or `-` for standard input; several with commas or repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE", value_delimiter = ',')]
    pub(crate) filenames: Vec<PathBuf>,
    /// Kustomization folder to build; needs kustomize or kubectl
    #[arg(short = 'k', long, value_name = "DIR", conflicts_with = "filenames")]
    pub(crate) kustomize: Option<PathBuf>,
    /// Include subfolders
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
}

impl FileArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.filenames.is_empty() && self.kustomize.is_none()
    }
}
