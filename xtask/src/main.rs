//! Development tasks that need nothing installed: `cargo xtask --help` lists them.

mod book;
mod codegen;
mod dist;
mod docs;
mod endurance;
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
    /// Make the pages of the book's reference from the code
    Book,
    /// Generate Rust code from the protocol files in `proto/`
    Codegen {
        /// Only tell whether the committed code is what would be generated
        #[arg(long)]
        check: bool,
    },
    /// Make a release of the provider for the Terraform registry: zips, checksums, signature, manifest
    Dist {
        /// The version, without a v
        #[arg(long, default_value = env!("CARGO_PKG_VERSION"))]
        version: String,
        /// The folder to write to
        #[arg(long, default_value = "target/dist")]
        out: PathBuf,
    },
    /// Generate the pages of the Terraform registry in `docs/` from the provider's schemas
    Docs,
    /// Kill the operator at every request of its work, and see that the next one brings it to the same end
    CrashMatrix {
        /// Only one half of it
        #[arg(long)]
        only: Option<endurance::Half>,
    },
    /// Make every test that takes minutes as a whole, one after the other: the crash matrix, the soak, the idle operator
    Full,
    /// Let the operator run in bad weather for some minutes: 500 objects, 20 leader changes
    Soak {
        /// Build it as it is released
        #[arg(long)]
        release: bool,
    },
    /// Let the operator look after 1,000 objects that nothing happens to, and see what it writes and takes
    Idle {
        /// Build it as it is released
        #[arg(long)]
        release: bool,
    },
    /// Check what no compiler checks: layers, file sizes, module docs, reasons for dependencies
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Book => book::run(&root()),
        Task::Codegen { check } => codegen::run(&root(), check),
        Task::Dist { version, out } => dist::run(&root(), &version, &root().join(out)),
        Task::Docs => docs::run(&root()),
        Task::CrashMatrix { only } => endurance::run(&root(), endurance::Test::CrashMatrix(only), false),
        Task::Full => endurance::ALL.iter().try_for_each(|test| endurance::run(&root(), *test, false)),
        Task::Soak { release } => endurance::run(&root(), endurance::Test::Soak, release),
        Task::Idle { release } => endurance::run(&root(), endurance::Test::Idle, release),
        Task::Tidy => tidy::run(),
    }
}

/// The root of the workspace, wherever the task is called from.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}
