//! A real Kubernetes for tests: one shared by all, or one of their own for those that break it.

mod account;
mod api_server;
mod namespace;
mod program;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use sandbox::{Environment, Layout, Lease, Name, Status, UpRequest};

pub use api_server::ApiServer;
pub use namespace::Namespace;
pub use program::plimsoll;

/// How long the shared sandbox outlives the last test process, so that test binaries that run one after another share it.
const LINGER: Duration = Duration::from_secs(60);

/// A sandbox that is ready, and stays so while this value lives.
#[derive(Debug)]
pub struct Sandbox {
    environment: Environment,
    status: Status,
    _lease: Lease,
    /// Tests that started it for themselves also end it.
    ends: bool,
}

impl Sandbox {
    /// The sandbox of this test run, started by whoever needs it first. Its audit log is on.
    ///
    /// # Panics
    ///
    /// If it does not start: no test that asks for it can say anything then.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Sandbox> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut request = UpRequest::new(name_of_this_checkout(), plimsoll());
            request.audit = true;
            request.linger = Some(LINGER);
            Self::start(&request, false)
        })
    }

    /// A sandbox for a test that breaks it: changed by `adjust`, ended when it is dropped.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn own(name: &str, adjust: impl FnOnce(&mut UpRequest)) -> Self {
        let name = format!("{name}-{}", std::process::id()).parse().expect("a test names its sandbox simply");
        let mut request = UpRequest::new(name, plimsoll());
        // Should this process be killed, nobody holds the lease any more.
        request.linger = Some(Duration::from_secs(5));
        adjust(&mut request);
        Self::start(&request, true)
    }

    fn start(request: &UpRequest, ends: bool) -> Self {
        let environment = Environment::from_process().expect("tests have a home folder");
        match sandbox::up(&environment, request, &mut |_| {}) {
            Ok(up) => Self { environment, status: up.status, _lease: up.lease, ends },
            Err(error) => panic!("the sandbox does not start: {error:?}"),
        }
    }

    /// What is known of it.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Where its files are.
    pub fn layout(&self) -> Layout {
        Layout::new(&self.environment, &self.status.name)
    }

    /// Its kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.layout().kubeconfig()
    }

    /// A client with every right, for the runtime of the calling test.
    pub async fn client(&self) -> kube::Client {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).expect("the sandbox writes its kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .expect("the kubeconfig of the sandbox is whole");
        kube::Client::try_from(config).expect("the kubeconfig of the sandbox is whole")
    }

    /// A namespace of the calling test's own; `test` says in its name whose it is.
    pub async fn namespace(&self, test: &str) -> Namespace {
        Namespace::create(self.client().await, self.kubeconfig(), self.kubectl_program(), test).await
    }

    /// The control plane's own kubectl, pointed at the sandbox.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        kubectl(&self.kubectl_program(), &self.kubeconfig(), arguments)
    }

    fn kubectl_program(&self) -> PathBuf {
        self.layout().bin().join("kubectl")
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.ends {
            // What cannot be ended now ends by itself, when its lease is gone.
            let _ended = sandbox::down(&self.environment, &self.status.name, &mut |_| {});
        }
    }
}

fn kubectl(program: &Path, kubeconfig: &Path, arguments: &[&str]) -> Output {
    Command::new(program).env("KUBECONFIG", kubeconfig).args(arguments).output().expect("kubectl starts")
}

/// Two checkouts of the repository do not share a sandbox: they may be of different versions.
fn name_of_this_checkout() -> Name {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_MANIFEST_DIR").hash(&mut hasher);
    format!("test-{:016x}", hasher.finish()).parse().expect("letters, digits and a hyphen")
}

#[cfg(test)]
mod tests;
