//! The process that owns a sandbox: it starts the programs, watches them, writes down what runs and ends it all.
//!
//! It lives in a session of its own, so that neither a terminal nor a test run takes it along or waits for it. Its
//! children live as long as it does: they end when their standard input closes, which a SIGKILL does as well.

mod children;
mod descriptors;
mod furniture;
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
use super::layout::{Layout, make_private_folder, open_private, write_private};
use super::lifecycle::end_members;
use super::logs::last_lines;
use super::process::Identity;
use super::programs::Program;
use super::state::{Failure, Options, Phase, Running, State, Step};
use super::{kubeconfig, lease};
use children::Children;

/// How often a start is repeated with another port, when somebody else was faster to take one that was free.
const ATTEMPTS: usize = 3;

/// How long a start goes on when nobody waits for it any more.
const ABANDONED: Duration = Duration::from_secs(2);

/// Runs the sandbox in `folder` until it is asked to end, nobody needs it any more, or a program fails.
///
/// A failure is written to the state file, which is where the process that asked for the sandbox looks.
pub async fn supervise(folder: &Path) -> Result<(), Error> {
    // It fails only for a process that leads a group already, and then there is nothing to leave.
    let _ = rustix::process::setsid();
    descriptors::close_inherited();
    let layout = Layout::at(folder);
    let text = fs::read(layout.options()).map_err(Error::files("read", &layout.options()))?;
    let options: Options = serde_json::from_slice(&text)
        .map_err(io::Error::from)
        .map_err(Error::files("read", &layout.options()))?;
    let mut stop = signal(SignalKind::terminate()).map_err(Error::files("watch signals for", folder))?;
    let mut supervisor = Supervisor::new(layout, options).map_err(Error::files("write", folder))?;
    let end = supervisor.run(&mut stop).await;
    supervisor.finish(end).await.map_err(Error::files("remove", folder))
}

struct Supervisor {
    layout: Layout,
    state: State,
    children: Children,
}

/// Why a sandbox ends.
enum End {
    /// Somebody asked, or nobody needs it; the lock keeps new users out until it is gone.
    Wanted {
        _lock: Option<fs::File>,
    },
    Failed(Failure),
}

impl Supervisor {
    fn new(layout: Layout, options: Options) -> io::Result<Self> {
        let state = State {
            name: options.name.clone(),
            phase: Phase::Starting { step: Step::Etcd },
            supervisor: Identity::of_self()?,
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

    async fn run(&mut self, stop: &mut Signal) -> End {
        let started = Instant::now();
        let timeout = self.state.options.timeout;
        let layout = self.layout.clone();
        for attempt in 1.. {
            let outcome = tokio::select! {
                outcome = self.start() => outcome,
                _ = stop.recv() => return End::Wanted { _lock: None },
                // Who asked for the sandbox waits for it with a lease in hand; without one, nobody does any more.
                lock = lease::expired(&layout, ABANDONED) => return Self::unneeded(lock),
                () = tokio::time::sleep(timeout.saturating_sub(started.elapsed())) => {
                    return End::Failed(self.too_late());
                }
            };
            match outcome {
                Ok(()) => break,
                Err(failure) if attempt < ATTEMPTS && self.may_choose_another_port(&failure) => {
                    if let Err(error) = self.start_over().await {
                        return End::Failed(Failure::caused("cannot start over with another port", &error));
                    }
                }
                Err(failure) => return End::Failed(failure),
            }
        }
        self.state.phase = Phase::Ready { after: started.elapsed() };
        if let Err(error) = self.state.write(&self.layout) {
            return End::Failed(Failure::caused("cannot write the state file", &error));
        }
        self.watch(stop).await
    }

    /// Starts every program and waits until the sandbox can be used.
    async fn start(&mut self) -> Result<(), Failure> {
        let port = match self.state.options.port {
            Some(port) => port,
            None => free_port().map_err(|error| Failure::caused("cannot get a port", &error))?,
        };
        self.state.server = format!("https://127.0.0.1:{port}");
        self.launch(Program::Etcd, port)?;
        // Keys take as long as etcd does to start.
        let credentials = tokio::task::spawn_blocking(Credentials::generate)
            .await
            .map_err(io::Error::other)
            .flatten()
            .map_err(|error| Failure::caused("cannot make keys", &error))?;
        let config = kubeconfig::render(&self.state.name, &self.state.server, &credentials);
        self.furnish_folder(&credentials, &config)
            .map_err(|error| Failure::caused("cannot write to the sandbox's folder", &error))?;
        let client = readiness::client(&config).await?;

        self.children.unless_one_ends(readiness::exists(&self.layout.root().join(ETCD_SOCKET))).await?;
        self.launch(Program::KubeApiserver, port)?;
        self.step(Step::ApiServer)?;
        self.children.unless_one_ends(readiness::api_answers(&client)).await?;
        // The API server now spends a second mostly waiting, which is enough for these to start.
        self.launch(Program::Kwok, port)?;
        self.launch(Program::KubeScheduler, port)?;
        self.children.unless_one_ends(furniture::place(&client)).await??;
        self.children.unless_one_ends(readiness::api_is_ready(&client)).await?;
        // It asks once a second whether the server is ready, so the first answer had better be yes.
        self.launch(Program::KubeControllerManager, port)?;
        self.step(Step::Node)?;
        self.children.unless_one_ends(readiness::node_is_ready(&client)).await?;
        self.state.versions =
            self.children.unless_one_ends(readiness::versions(&client, &self.state.options)).await?;
        Ok(())
    }

    async fn watch(&mut self, stop: &mut Signal) -> End {
        let state_file = self.layout.state();
        let unneeded = async {
            match self.state.options.linger {
                Some(linger) => lease::expired(&self.layout, linger).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            failure = self.children.first_end() => End::Failed(Failure { was_ready: true, ..failure }),
            _ = stop.recv() => End::Wanted { _lock: None },
            lock = unneeded => Self::unneeded(lock),
            // Somebody has removed the folder by hand.
            () = readiness::vanishes(&state_file) => End::Wanted { _lock: None },
        }
    }

    fn unneeded(lock: io::Result<fs::File>) -> End {
        match lock {
            Ok(lock) => End::Wanted { _lock: Some(lock) },
            Err(error) => End::Failed(Failure::caused("cannot look at the lease", &error)),
        }
    }

    /// Ends the children. What was asked to end leaves nothing behind; a failure stays to be looked at.
    async fn finish(&mut self, end: End) -> io::Result<()> {
        if let End::Wanted { .. } = end {
            self.state.phase = Phase::Stopping;
            // If the folder is gone there is nobody to read it.
            let _ = self.state.write(&self.layout);
        }
        self.children.end().await?;
        match end {
            End::Wanted { .. } => {
                // What others have started beside the programs has nothing to talk to any more.
                let ended = end_members(&self.layout, &self.state.name);
                self.remove_folder()?;
                ended.map_err(io::Error::other)
            }
            End::Failed(failure) => {
                self.state.phase = Phase::Failed { failure };
                self.state.processes.clear();
                self.state.write(&self.layout)
            }
        }
    }

    fn remove_folder(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.layout.root()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A client that has asked for the end removes it; at an end that nobody asked for there may be none.
        if let Some(lock) = ChangeLock::try_take(&self.layout)? {
            lock.remove();
        }
        Ok(())
    }

    fn launch(&mut self, program: Program, port: u16) -> Result<(), Failure> {
        let arguments = arguments(program, &self.layout, &self.state.options, port);
        let process = self.children.start(program, self.state.options.path_of(program), &arguments)?;
        self.state.processes.push(Running { program, process });
        self.state.write(&self.layout).map_err(|error| Failure::caused("cannot write the state file", &error))
    }

    fn step(&mut self, step: Step) -> Result<(), Failure> {
        self.state.phase = Phase::Starting { step };
        self.state.write(&self.layout).map_err(|error| Failure::caused("cannot write the state file", &error))
    }

    fn furnish_folder(&self, credentials: &Credentials, config: &str) -> io::Result<()> {
        let layout = &self.layout;
        credentials.write(layout)?;
        write_private(&layout.kubeconfig(), config.as_bytes())?;
        write_private(&layout.components_kubeconfig(), config.as_bytes())?;
        write_private(&layout.stages(), include_bytes!("stages.yaml"))?;
        write_private(&layout.audit_policy(), include_bytes!("audit-policy.yaml"))?;
        drop(open_private(&layout.lease())?);
        make_private_folder(&layout.bin())?;
        let link = layout.bin().join(Program::Kubectl.name());
        match std::os::unix::fs::symlink(self.state.options.path_of(Program::Kubectl), link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    fn may_choose_another_port(&self, failure: &Failure) -> bool {
        self.state.options.port.is_none()
            && failure.log.iter().any(|line| line.contains("address already in use"))
    }

    async fn start_over(&mut self) -> io::Result<()> {
        self.children.end().await?;
        self.state.processes.clear();
        fs::remove_file(self.layout.root().join(ETCD_SOCKET))?;
        fs::remove_dir_all(self.layout.logs())?;
        make_private_folder(&self.layout.logs())?;
        match fs::remove_dir_all(self.layout.etcd()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn too_late(&self) -> Failure {
        let Phase::Starting { step } = self.state.phase else { unreachable!("only a start has a deadline") };
        let log = |program| last_lines(&self.layout.log(program));
        let of = |program, reason| Failure {
            program: Some(program),
            log: log(program),
            ..Failure::because(reason)
        };
        match step {
            Step::Etcd => of(Program::Etcd, "did not accept connections in time"),
            Step::ApiServer => of(Program::KubeApiserver, "was not ready in time"),
            // The one makes the default ServiceAccount, the other keeps the node.
            Step::Node => Failure {
                log: [log(Program::KubeControllerManager), log(Program::Kwok)].concat(),
                ..Failure::because("the node was not ready in time")
            },
        }
    }
}

/// A port that is free now.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
