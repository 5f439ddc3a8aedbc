//! The process that owns a sandbox: it starts the programs, watches them, records what is running and stops them.
//!
//! It has a session of its own, so it neither ends with a terminal or test run nor blocks one. Its children exit when
//! their standard input closes, and therefore also when the supervisor is killed.

mod children;
mod cluster_objects;
mod descriptors;
mod readiness;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::change_lock::ChangeLock;
use super::credentials::Credentials;
use super::error::Error;
use super::flags::{ETCD_SOCKET, arguments};
use super::layout::{Layout, open_private, write_private};
use super::lifecycle::kill_members;
use super::logs::last_lines;
use super::options::SupervisorOptions;
use super::process::ProcessIdentity;
use super::programs::Program;
use super::state::{Failure, Phase, ProgramProcess, StartupStep, StateFile};
use super::{kubeconfig, lease};
use crate::folder;
use children::Children;

/// Attempts to start with a free port, in case another process takes the port first.
const ATTEMPTS: usize = 3;

/// How long a start continues after its client is gone.
const ABANDONED_AFTER: Duration = Duration::from_secs(2);

/// Runs the sandbox in `folder` until it is asked to stop, its last lease expires, or a program fails.
///
/// A failure is recorded in the state file, where clients look for it.
pub async fn supervise(folder: &Path) -> Result<(), Error> {
    // It fails only for a process group leader, which needs no new session.
    let _ = rustix::process::setsid();
    descriptors::close_inherited();
    let layout = Layout::at(folder);
    let text = fs::read(layout.options()).map_err(Error::files("read", &layout.options()))?;
    let options: SupervisorOptions = serde_json::from_slice(&text)
        .map_err(io::Error::from)
        .map_err(Error::files("read", &layout.options()))?;
    let mut stop = signal(SignalKind::terminate()).map_err(Error::files("watch signals for", folder))?;
    let mut supervisor = Supervisor::new(layout, options).map_err(Error::files("write", folder))?;
    let outcome = supervisor.run(&mut stop).await;
    supervisor.finish(outcome).await.map_err(Error::files("remove", folder))
}

struct Supervisor {
    layout: Layout,
    state: StateFile,
    children: Children,
}

/// A stop that was requested, or that follows the last lease. The lock blocks new leases until the folder is removed.
type Stopped = Option<fs::File>;

impl Supervisor {
    fn new(layout: Layout, options: SupervisorOptions) -> io::Result<Self> {
        let state = StateFile {
            phase: Phase::Starting { step: StartupStep::Etcd },
            supervisor: ProcessIdentity::of_self()?,
            started: Timestamp::now(),
            options,
            server: String::new(),
            versions: BTreeMap::new(),
            processes: Vec::new(),
        };
        state.write(&layout)?;
        let children = Children::new(layout.clone());
        Ok(Self { layout, state, children })
    }

    async fn run(&mut self, stop: &mut Signal) -> Result<Stopped, Failure> {
        let started = Instant::now();
        let timeout = self.state.options.request.timeout;
        let layout = self.layout.clone();
        let expired = async |linger| {
            lease::expired(&layout, linger).await.map(Some).map_err(Failure::of("cannot check the lease"))
        };
        for attempt in 1.. {
            let outcome = tokio::select! {
                outcome = self.start() => outcome,
                _ = stop.recv() => return Ok(None),
                // The client that started the sandbox holds a lease while it waits.
                outcome = expired(ABANDONED_AFTER) => return outcome,
                () = tokio::time::sleep(timeout.saturating_sub(started.elapsed())) => {
                    return Err(self.timed_out());
                }
            };
            match outcome {
                Ok(()) => break,
                Err(failure) if attempt < ATTEMPTS && self.can_use_another_port(&failure) => {
                    self.reset().await.map_err(Failure::of("cannot retry with another port"))?;
                }
                Err(failure) => return Err(failure),
            }
        }
        self.state.phase = Phase::Ready { after: started.elapsed() };
        self.write_state()?;
        let (linger, state_file) = (self.state.options.request.linger, layout.state());
        tokio::select! {
            failure = self.children.first_exit() => Err(Failure { was_ready: true, ..failure }),
            _ = stop.recv() => Ok(None),
            outcome = expired(linger.unwrap_or_default()), if linger.is_some() => outcome,
            // The folder was removed by hand.
            () = readiness::is_removed(&state_file) => Ok(None),
        }
    }

    /// Starts every program and waits until the sandbox is ready.
    async fn start(&mut self) -> Result<(), Failure> {
        let port = match self.state.options.request.port {
            Some(port) => port,
            None => free_port().map_err(Failure::of("cannot get a port"))?,
        };
        self.state.server = format!("https://127.0.0.1:{port}");
        self.launch(Program::Etcd, port)?;
        // Generating keys takes as long as etcd needs to start.
        let credentials = tokio::task::spawn_blocking(Credentials::generate)
            .await
            .map_err(io::Error::other)
            .flatten()
            .map_err(Failure::of("cannot generate keys"))?;
        let config = kubeconfig::render(&self.state.options.request.name, &self.state.server, &credentials);
        self.write_files(&credentials, &config)
            .map_err(Failure::of("cannot write to the sandbox's folder"))?;
        let client = readiness::client(&config).await?;

        self.children.unless_one_exits(readiness::exists(&self.layout.root().join(ETCD_SOCKET))).await?;
        self.launch(Program::KubeApiserver, port)?;
        self.step(StartupStep::ApiServer)?;
        self.children.unless_one_exits(readiness::api_is_live(&client)).await?;
        // The API server is mostly idle for about a second now, enough time for these to start.
        self.launch(Program::Kwok, port)?;
        self.launch(Program::KubeScheduler, port)?;
        self.children.unless_one_exits(cluster_objects::create(&client)).await??;
        self.children.unless_one_exits(readiness::api_is_ready(&client)).await?;
        // It polls the server's readiness once a second, so it starts when the first poll succeeds.
        self.launch(Program::KubeControllerManager, port)?;
        self.step(StartupStep::Node)?;
        self.children.unless_one_exits(readiness::node_is_ready(&client)).await?;
        self.state.versions =
            self.children.unless_one_exits(readiness::versions(&client, &self.state.options)).await?;
        Ok(())
    }

    /// Stops the children. A requested stop removes everything; a failure is kept for inspection.
    async fn finish(&mut self, outcome: Result<Stopped, Failure>) -> io::Result<()> {
        if outcome.is_ok() {
            self.state.phase = Phase::Stopping;
            // It fails if the folder was removed, and then there are no readers.
            let _ = self.state.write(&self.layout);
        }
        self.children.kill().await;
        match outcome {
            Ok(_lock) => {
                // Processes that users have started in the sandbox.
                let killed = kill_members(&self.layout, &self.state.options.request.name);
                self.remove_folder()?;
                killed.map_err(io::Error::other)
            }
            Err(failure) => {
                self.state.phase = Phase::Failed { failure };
                self.state.processes.clear();
                self.state.write(&self.layout)
            }
        }
    }

    fn remove_folder(&self) -> io::Result<()> {
        folder::remove(self.layout.root())?;
        // A client that calls `down` holds the lock and removes it; otherwise that is left to the supervisor.
        if let Some(lock) = ChangeLock::try_take(&self.layout)? {
            lock.remove();
        }
        Ok(())
    }

    fn launch(&mut self, program: Program, port: u16) -> Result<(), Failure> {
        let arguments = arguments(program, &self.layout, &self.state.options.request, port);
        let process = self.children.start(program, self.state.options.path_of(program), &arguments)?;
        self.state.processes.push(ProgramProcess { program, process });
        self.write_state()
    }

    fn step(&mut self, step: StartupStep) -> Result<(), Failure> {
        self.state.phase = Phase::Starting { step };
        self.write_state()
    }

    fn write_state(&self) -> Result<(), Failure> {
        self.state.write(&self.layout).map_err(Failure::of("cannot write the state file"))
    }

    fn write_files(&self, credentials: &Credentials, config: &str) -> io::Result<()> {
        let layout = &self.layout;
        credentials.write(layout)?;
        write_private(&layout.kubeconfig(), config.as_bytes())?;
        write_private(&layout.components_kubeconfig(), config.as_bytes())?;
        write_private(&layout.stages(), include_bytes!("stages.yaml"))?;
        write_private(&layout.audit_policy(), include_bytes!("audit-policy.yaml"))?;
        drop(open_private(&layout.lease())?);
        folder::create_private(&layout.bin())?;
        let link = layout.bin().join(Program::Kubectl.name());
        match std::os::unix::fs::symlink(self.state.options.path_of(Program::Kubectl), link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    fn can_use_another_port(&self, failure: &Failure) -> bool {
        self.state.options.request.port.is_none()
            && failure.log.iter().any(|line| line.contains("address already in use"))
    }

    async fn reset(&mut self) -> io::Result<()> {
        self.children.kill().await;
        self.state.processes.clear();
        fs::remove_file(self.layout.root().join(ETCD_SOCKET))?;
        fs::remove_dir_all(self.layout.logs())?;
        folder::create_private(&self.layout.logs())?;
        folder::remove(&self.layout.etcd())
    }

    fn timed_out(&self) -> Failure {
        let Phase::Starting { step } = self.state.phase else { unreachable!("only a start has a timeout") };
        let log = |program| last_lines(&self.layout.log(program));
        let of =
            |program, reason| Failure { program: Some(program), log: log(program), ..Failure::new(reason) };
        match step {
            StartupStep::Etcd => of(Program::Etcd, "did not accept connections in time"),
            StartupStep::ApiServer => of(Program::KubeApiserver, "was not ready in time"),
            // The controller manager creates the default ServiceAccount, kwok maintains the Node.
            StartupStep::Node => Failure {
                log: [log(Program::KubeControllerManager), log(Program::Kwok)].concat(),
                ..Failure::new("the node was not ready in time")
            },
        }
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
