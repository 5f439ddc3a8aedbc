//! A fresh sandbox for each run.

use std::error::Error;
use std::path::PathBuf;
use std::process::{self, Command};
use std::time::Duration;

use sandbox::audit::{Reader, Request};
use sandbox::{Environment, Layout, Lease, Name, UpRequest};

/// A running control plane, which ends with this value.
pub(crate) struct ControlPlane {
    environment: Environment,
    name: Name,
    _lease: Lease,
}

impl ControlPlane {
    pub(crate) fn start(plimsoll: PathBuf) -> Result<Self, Box<dyn Error>> {
        let environment = Environment::from_process()?;
        let name: Name = format!("bench-{}", process::id()).parse()?;
        let mut request = UpRequest::new(name.clone(), plimsoll);
        request.audit = true;
        // If this process is killed, the lease expires and the sandbox ends.
        request.linger = Some(Duration::from_secs(5));
        let up = sandbox::up(&environment, &request, &mut |_| {})?;
        Ok(Self { environment, name, _lease: up.lease })
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.layout().kubeconfig()
    }

    /// Makes a namespace.
    pub(crate) fn namespace(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let mut kubectl = Command::new(self.layout().bin().join("kubectl"));
        let made =
            kubectl.env("KUBECONFIG", self.kubeconfig()).args(["create", "namespace", name]).output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
        }
        Ok(())
    }

    /// What is asked of the API server from now on.
    pub(crate) fn requests(&self) -> Result<Requests, Box<dyn Error>> {
        let mut reader = Reader::new(self.layout().audit_log());
        reader.read_new()?;
        Ok(Requests(reader))
    }

    fn layout(&self) -> Layout {
        Layout::new(&self.environment, &self.name)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // What cannot be ended now ends by itself, when its lease is gone.
        let _ended = sandbox::down(&self.environment, &self.name, &mut |_| {});
    }
}

/// The audit log from some moment on.
pub(crate) struct Requests(Reader);

/// How much was asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// About the objects.
    pub(crate) objects: usize,
    /// About anything else, mostly which kinds there are.
    pub(crate) else_: usize,
}

impl Requests {
    /// What a client has asked since the last call.
    pub(crate) fn by(&mut self, user_agent: &str, namespace: &str) -> Result<Asked, Box<dyn Error>> {
        let inside = format!("/namespaces/{namespace}/");
        let mut asked = Asked::default();
        let ours = |request: &Request| request.user_agent.starts_with(user_agent);
        for request in self.0.read_new()?.iter().filter(|request| ours(request)) {
            if request.uri.contains(&inside) {
                asked.objects += 1;
            } else {
                asked.else_ += 1;
            }
        }
        Ok(asked)
    }
}
