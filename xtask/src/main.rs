//! Development tasks that need nothing installed: `cargo xtask --help` lists them.

mod codegen;
mod tidy;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Generate Rust code from the protocol files in `proto/`
    Codegen {
        /// Only tell whether the committed code is what would be generated
        #[arg(long)]
        check: bool,
    },
    /// Check what no compiler checks: layers, file sizes, module docs, reasons for dependencies
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Codegen { check } => codegen::run(&root(), check),
        Task::Tidy => tidy::run(),
    }
}

/// The root of the workspace, wherever the task is called from.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}
