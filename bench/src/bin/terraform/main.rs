//! The provider against the fastest of its peers, `kubectl_manifest` with server-side apply, through a real client.
//!
//! For each number of ConfigMaps, in one run and against one fresh sandbox, both plan, apply, plan without a change,
//! change everything and destroy. Printed are seconds, the provider's peak memory and the requests per object in the API
//! server's audit log, each with its bar; and how soon both answer the client that started them. A plan without a change is
//! also compared with what Terraform itself needs: with a provider of our schema that answers at once, on our state.
//!
//! Everything: `--objects 100,1000,3000 --state http,local --connection provider,resource`, which takes hours.
//!
//! `cargo run --profile dist -p bench --bin terraform` builds what it needs: our provider, `plimsoll` for the sandbox, and the
//! peer from its Go module. It wants `terraform` on `PATH`; `--tofu` builds and takes OpenTofu instead.

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

use bench::Run;
use bench::control_plane::ControlPlane;
use clap::Parser;
use testkit::terraform::Client;

use folder::State;
use lifecycle::{How, Measured};
use peer::{Connection, Peer};
use programs::Program;

/// Compares the provider with its fastest peer. `--json FILE` writes the figures, too.
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
    /// Where states are kept. A local one takes minutes for 1,000 objects.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [State::Http])]
    state: Vec<State>,
    /// Where our configuration has the connection.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Connection::Provider])]
    connection: Vec<Connection>,
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
    let mut run = Run::begin()?;
    let arguments = Arguments::parse_from(["terraform"].into_iter().chain(run.arguments()));
    let ours = match arguments.provider {
        Some(program) => program.canonicalize()?,
        None => programs::cargo("provider", Program::Bin("terraform-provider-k8sconnect"))?,
    };
    let plimsoll = match arguments.plimsoll {
        Some(program) => program.canonicalize()?,
        None => programs::cargo("cli", Program::Bin("plimsoll"))?,
    };
    let mut peers = vec![Peer::ours(ours)];
    let floor = Peer::floor(&peers[0], programs::cargo("provider", Program::Example("floor"))?);
    if !arguments.alone {
        peers.push(Peer::yardstick(programs::yardstick()?));
    }
    let names = peers.iter().map(|peer| peer.name).collect::<Vec<_>>();
    for peer in &peers {
        handshake::measure(&mut run, peer)?;
    }

    let control_plane = ControlPlane::start(plimsoll)?;
    let client = if arguments.tofu { Client::tofu() } else { Client::any() };
    for state in arguments.state {
        for connection in arguments.connection.iter().copied() {
            let how = How { client: client.clone(), state, connection, parallelism: arguments.parallelism };
            let mut all = Vec::new();
            for objects in arguments.objects.iter().copied() {
                let rounds = if objects > 200 { 1 } else { arguments.rounds.max(1) };
                let medians = compare(&peers, &floor, &control_plane, &how, (objects, rounds))?;
                for (peer, measured) in peers.iter().zip(&medians) {
                    table::record(&mut run, peer, &how, measured, objects);
                }
                table::hold(&mut run, &how, &medians, objects)?;
                all.push((objects, medians));
            }
            if let [(few, first), .., (many, last)] = all.as_slice() {
                table::print_growth(&names, (*few, first), (*many, last))?;
                table::hold_growth(&mut run, &how, (*few, first), (*many, last))?;
            }
        }
    }
    run.end()
}

/// One table.
fn compare(
    peers: &[Peer],
    floor: &Peer,
    control_plane: &ControlPlane,
    how: &How,
    (objects, rounds): (usize, usize),
) -> Result<Vec<Measured>, Box<dyn Error>> {
    let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); peers.len()];
    for _ in 0..rounds {
        for (index, (peer, measured)) in peers.iter().zip(&mut measured).enumerate() {
            let floor = (index == 0).then_some(floor);
            measured.push(lifecycle::run(peer, floor, control_plane, how, objects)?);
        }
    }
    let medians: Vec<Measured> = measured.iter().map(|all| Measured::median(all)).collect();
    writeln!(
        io::stdout(),
        "\n{objects} ConfigMaps, {} -parallelism={}, {:?} state, connection in the {:?}, median of {rounds}",
        how.client.name(),
        how.parallelism,
        how.state,
        how.connection,
    )?;
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    table::print(&names, &medians, lifecycle::terraform_data(how, objects)?, objects)?;
    Ok(medians)
}
