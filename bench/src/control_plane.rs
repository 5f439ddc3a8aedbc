//! A fresh sandbox for each run.

use std::path::PathBuf;
use std::process::{self, Command};
use std::time::Duration;

use sandbox::audit::{Reader, Request};
use sandbox::{Environment, Layout, Lease, Name, UpRequest};

use crate::Outcome;

/// A running control plane, which ends with this value.
pub struct ControlPlane {
    environment: Environment,
    name: Name,
    _lease: Lease,
}

impl ControlPlane {
    pub fn start(plimsoll: PathBuf) -> Outcome<Self> {
        let environment = Environment::from_process()?;
        let name: Name = format!("bench-{}", process::id()).parse()?;
        let mut request = UpRequest::new(name.clone(), plimsoll);
        request.audit = true;
        // If this process is killed, the lease expires and the sandbox ends.
        request.linger = Some(Duration::from_secs(5));
        let up = sandbox::up(&environment, &request, &mut |_| {})?;
        Ok(Self { environment, name, _lease: up.lease })
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.layout().kubeconfig()
    }

    /// Makes a namespace.
    pub fn namespace(&self, name: &str) -> Outcome<()> {
        let mut kubectl = Command::new(self.layout().bin().join("kubectl"));
        let made =
            kubectl.env("KUBECONFIG", self.kubeconfig()).args(["create", "namespace", name]).output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
        }
        Ok(())
    }

    /// What is asked of the API server from now on.
    pub fn requests(&self) -> Outcome<Requests> {
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
pub struct Requests(Reader);

/// How much was asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// About the objects.
    pub objects: usize,
    /// About anything else, mostly which kinds there are.
    pub else_: usize,
}

impl Requests {
    /// What a client has asked since the last call.
    pub fn by(&mut self, user_agent: &str, namespace: &str) -> Outcome<Asked> {
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

    /// Everything that a client has asked since the last call, with its verb and URI.
    pub fn all_by(&mut self, user_agent: &str) -> Outcome<Vec<(String, String)>> {
        let ours = |request: &Request| request.user_agent.starts_with(user_agent);
        let requests = self.0.read_new()?.into_iter().filter(ours);
        Ok(requests.map(|request| (request.verb, request.uri)).collect())
    }
}
