//! A real control plane for tests: one shared by all, or a dedicated one for those that break it.

mod api_server;
mod namespace;
mod operator_account;
mod plimsoll;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use sandbox::{Environment, Layout, Lease, Name, Status, UpRequest};

pub use api_server::{ApiServer, Backup};
pub use namespace::Namespace;
pub use plimsoll::plimsoll;

/// Long enough for test binaries that run one after another to share the sandbox.
const LINGER: Duration = Duration::from_secs(60);

/// A ready sandbox that keeps running while this value lives.
#[derive(Debug)]
pub struct Sandbox {
    environment: Environment,
    status: Status,
    _lease: Lease,
    stop_on_drop: bool,
    deployed: OnceLock<()>,
}

impl Sandbox {
    /// The sandbox of this test run, started on first use, with an audit log.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Sandbox> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut request = UpRequest::new(name_of_this_checkout(), plimsoll());
            request.audit = true;
            request.linger = Some(LINGER);
            Self::start(&request, false)
        })
    }

    /// A sandbox for a test that breaks it, stopped when it is dropped.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn dedicated(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id()).parse().expect("tests use valid sandbox names");
        let mut request = UpRequest::new(name, plimsoll());
        // If this process is killed, its lease expires.
        request.linger = Some(Duration::from_secs(5));
        Self::start(&request, true)
    }

    fn start(request: &UpRequest, stop_on_drop: bool) -> Self {
        let environment = Environment::from_process().expect("tests have a home folder");
        match sandbox::up(&environment, request, &mut |_| {}) {
            Ok(up) => Self {
                environment,
                status: up.status,
                _lease: up.lease,
                stop_on_drop,
                deployed: OnceLock::new(),
            },
            Err(error) => panic!("the sandbox does not start: {error:?}"),
        }
    }

    pub fn status(&self) -> &Status {
        &self.status
    }

    pub fn layout(&self) -> Layout {
        Layout::new(&self.environment, &self.status.name)
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.layout().kubeconfig()
    }

    /// An administrator's client, for the runtime of the calling test.
    pub async fn client(&self) -> kube::Client {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).expect("the sandbox writes its kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .expect("the kubeconfig of the sandbox is valid");
        kube::Client::try_from(config).expect("the kubeconfig of the sandbox is valid")
    }

    /// A new namespace whose name starts with `test`.
    pub async fn namespace(&self, test: &str) -> Namespace {
        Namespace::create(self.client().await, self.kubeconfig(), self.kubectl_program(), test).await
    }

    /// Runs the control plane's own kubectl against the sandbox.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        kubectl(&self.kubectl_program(), &self.kubeconfig(), arguments)
    }

    fn kubectl_program(&self) -> PathBuf {
        self.layout().bin().join("kubectl")
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.stop_on_drop {
            // If this fails, the sandbox stops when its lease expires.
            let _stopped = sandbox::down(&self.environment, &self.status.name, &mut |_| {});
        }
    }
}

fn kubectl(program: &Path, kubeconfig: &Path, arguments: &[&str]) -> Output {
    Command::new(program).env("KUBECONFIG", kubeconfig).args(arguments).output().expect("kubectl starts")
}

/// Two checkouts do not share a sandbox, because their versions may differ.
fn name_of_this_checkout() -> Name {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_MANIFEST_DIR").hash(&mut hasher);
    format!("test-{:016x}", hasher.finish()).parse().expect("letters, digits and a hyphen")
}

#[cfg(test)]
mod tests;
