//! The provider against the fastest of its peers, `kubectl_manifest` with server-side apply, through a real client.
//!
//! For each number of ConfigMaps, in one run and against one fresh sandbox, both plan, apply, plan without a change,
//! change everything and destroy. Printed are seconds, the provider's peak memory and the requests per object in the API
//! server's audit log, each with its bar; and how soon both answer the client that started them. The state is kept by a
//! server, unless `--local-state` is given.
//!
//! `cargo run --release -p bench --bin terraform` builds what it needs: our provider, `plimsoll` for the sandbox, and the
//! peer from its Go module. It wants `terraform` on `PATH`; `--tofu` builds and takes OpenTofu instead.

mod control_plane;
mod folder;
mod handshake;
mod lifecycle;
mod peer;
mod programs;
mod state_server;
mod table;
mod usage;

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Parser;
use testkit::terraform::Client;

use control_plane::ControlPlane;
use folder::State;
use lifecycle::{How, Measured};
use peer::Peer;

/// Compares the provider with its fastest peer.
#[derive(Parser)]
struct Arguments {
    /// How many objects, one table each.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1000])]
    objects: Vec<usize>,
    /// How often both do everything; medians are shown. Beyond 200 objects once is enough.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How many resources the client works at in parallel; ten is its own default.
    #[arg(long, default_value_t = 10)]
    parallelism: usize,
    /// Keep the state in a local file, which Terraform writes anew after every resource: minutes for 1,000 objects.
    #[arg(long)]
    local_state: bool,
    /// Take OpenTofu instead of Terraform.
    #[arg(long)]
    tofu: bool,
    /// A provider that is built already.
    #[arg(long)]
    provider: Option<PathBuf>,
    /// A plimsoll that is built already.
    #[arg(long)]
    plimsoll: Option<PathBuf>,
    /// Only our own figures.
    #[arg(long)]
    alone: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let how = How {
        client: if arguments.tofu { Client::tofu() } else { Client::any() },
        state: if arguments.local_state { State::Local } else { State::Remote },
        parallelism: arguments.parallelism,
    };
    let ours = match arguments.provider {
        Some(program) => program.canonicalize()?,
        None => programs::cargo("provider", "terraform-provider-k8sconnect")?,
    };
    let plimsoll = match arguments.plimsoll {
        Some(program) => program.canonicalize()?,
        None => programs::cargo("cli", "plimsoll")?,
    };
    let mut peers = vec![Peer::ours(ours)];
    if !arguments.alone {
        peers.push(Peer::yardstick(programs::yardstick()?));
    }
    let names = peers.iter().map(|peer| peer.name).collect::<Vec<_>>();
    for peer in &peers {
        handshake::measure(peer)?;
    }

    let control_plane = ControlPlane::start(plimsoll)?;
    let mut all = Vec::new();
    for objects in arguments.objects {
        let rounds = if objects > 200 { 1 } else { arguments.rounds.max(1) };
        let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); peers.len()];
        for _ in 0..rounds {
            for (peer, measured) in peers.iter().zip(&mut measured) {
                measured.push(lifecycle::run(peer, &control_plane, &how, objects)?);
            }
        }
        let medians: Vec<Measured> = measured.iter().map(|all| Measured::median(all)).collect();
        writeln!(
            io::stdout(),
            "\n{objects} ConfigMaps, {} -parallelism={}, {:?} state, median of {rounds}",
            how.client.name(),
            how.parallelism,
            how.state,
        )?;
        table::print(&names, &medians, objects)?;
        all.push((objects, medians));
    }
    if let [(few, first), .., (many, last)] = all.as_slice() {
        table::print_growth(&names, (*few, first), (*many, last))?;
    }
    Ok(())
}
