//! Development tasks that need nothing installed: `cargo xtask --help` lists them.

mod book;
mod chart;
mod codegen;
mod count;
mod dist;
mod docs;
mod endurance;
mod kinds;
mod pictures;
mod platforms;
mod tidy;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Regenerate the book's reference pages from the code
    Book,
    /// Generate the Helm chart in `deploy/chart` from the manifests in `deploy/`
    Chart,
    /// Generate Rust code from the protocol files in `proto/`
    Codegen {
        /// Only check that the committed code is what would be generated
        #[arg(long)]
        check: bool,
    },
    /// Count the lines of production code, by crate (needs tokei)
    Count,
    /// Make a release: archives, provider, image, chart, bill of materials, checksums, signature
    Dist(dist::Arguments),
    /// Generate the pages of the Terraform registry in `docs/` from the provider's schemas
    Docs,
    /// Derive the descriptions of kinds at Oracle Cloud from Oracle's Python SDK (needs python3 and pip)
    Kinds {
        /// The folder of the package, instead of the version that pip downloads
        #[arg(long)]
        sdk: Option<PathBuf>,
    },
    /// Check that the command line tool and the provider compile for other systems, and for this one without the sandbox
    Platforms,
    /// Kill the operator at every request it makes, and check that its successor reaches the same end state
    CrashMatrix {
        /// Run only one half
        #[arg(long)]
        only: Option<endurance::Half>,
    },
    /// Run every long test in full, one after the other: what is released, cloud kinds, crash matrix, soak, idle operator, fuzz
    /// targets, simulation
    Full,
    /// Fuzz every parser of foreign bytes (needs cargo-fuzz and a nightly toolchain; runs property tests otherwise)
    Fuzz {
        /// How long to fuzz each, in seconds
        #[arg(long, default_value_t = endurance::FUZZING.as_secs())]
        seconds: u64,
    },
    /// Make every picture in the book and README: charts, the recording of the demo, screenshots of the page
    Pictures {
        /// Make only these
        #[arg(long)]
        only: Option<pictures::Part>,
    },
    /// Play random histories of both halves in virtual time, with kills, faults and frozen leaders
    Simulation {
        /// How many of the operator; its decisions about cloud resources play ten times as many
        #[arg(long, default_value_t = endurance::HISTORIES)]
        histories: u32,
    },
    /// Run the operator under faults for some minutes: 500 objects, 20 leader changes
    Soak {
        /// Build with the release profile
        #[arg(long)]
        release: bool,
    },
    /// Run the operator on 1,000 idle objects, and measure its writes and resources
    Idle {
        /// Build with the release profile
        #[arg(long)]
        release: bool,
    },
    /// Check what no compiler checks: layers, file sizes, module docs, reasons for dependencies, links, citations, words
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Book => book::run(&root()),
        Task::Chart => chart::run(&root()),
        Task::Codegen { check } => codegen::run(&root(), check),
        Task::Count => count::run(&root()),
        Task::Dist(arguments) => dist::run(&root(), &arguments),
        Task::Docs => docs::run(&root()),
        Task::Kinds { sdk } => kinds::run(&root(), sdk),
        Task::Platforms => platforms::run(&root()),
        Task::Pictures { only } => pictures::run(&root(), only),
        Task::CrashMatrix { only } => endurance::run(&root(), endurance::Test::CrashMatrix(only), false),
        Task::Full => endurance::run_all(&root()),
        Task::Fuzz { seconds } => {
            endurance::run(&root(), endurance::Test::Fuzz(Duration::from_secs(seconds)), true)
        }
        Task::Simulation { histories } => {
            endurance::run(&root(), endurance::Test::Simulation(histories), true)
        }
        Task::Soak { release } => endurance::run(&root(), endurance::Test::Soak, release),
        Task::Idle { release } => endurance::run(&root(), endurance::Test::Idle, release),
        Task::Tidy => tidy::run(),
    }
}

/// The root of the workspace, wherever the task is called from.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace").to_owned()
}
