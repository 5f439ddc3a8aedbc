//! Runs what Deployments say, because the Pods of the sandbox run nothing: Plimsoll's operator as a process with the rights of its account,
//! and of Crossplane the one thing that others see of it while it runs, its lease.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::left_by_crossplane::{FUNCTIONS, NAMESPACE, service};

const INTERVAL: Duration = Duration::from_millis(100);
const ACCOUNT: &str = "plimsoll-operator";
const LEASE: &str = "crossplane-leader-election-core";

pub(crate) struct Kubelet {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Kubelet {
    pub(crate) fn start(sandbox: &Sandbox, folder: &Path, functions: SocketAddr) -> Self {
        let kubectl = sandbox.layout().bin().join("kubectl");
        let cluster =
            Cluster { kubectl, kubeconfig: sandbox.kubeconfig(), folder: folder.to_owned(), functions };
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut operator = None;
            while !is_stopped.load(Ordering::SeqCst) {
                cluster.run(&mut operator);
                thread::sleep(INTERVAL);
            }
            if let Some(operator) = operator {
                end(operator);
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // A test that failed has said why.
            let _ended = thread.join();
        }
    }
}

struct Cluster {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    folder: PathBuf,
    functions: SocketAddr,
}

impl Cluster {
    fn run(&self, operator: &mut Option<Child>) {
        let replicas = |name: &str, namespace: &str| {
            let found = self.get(&["deployment", name, "--namespace", namespace]);
            found.and_then(|deployment| deployment["spec"]["replicas"].as_i64()).unwrap_or_default()
        };
        let is_held = self.get(&["lease", LEASE, "--namespace", NAMESPACE]).is_some();
        match (replicas("crossplane", NAMESPACE) > 0, is_held) {
            (true, false) => self.hold_lease(),
            (false, true) => {
                self.run_kubectl(&["delete", "lease", LEASE, "--namespace", NAMESPACE]);
            }
            _ => {}
        }
        match (replicas(ACCOUNT, "plimsoll-system") > 0, operator.take()) {
            (true, Some(mut running)) => {
                let ended = running.try_wait().unwrap();
                assert!(ended.is_none(), "the operator ended: {ended:?}");
                *operator = Some(running);
            }
            (true, None) => *operator = Some(self.start_operator()),
            (false, Some(running)) => end(running),
            (false, None) => {}
        }
    }

    fn hold_lease(&self) {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": LEASE, "namespace": NAMESPACE},
            "spec": {
                "holderIdentity": "crossplane-0", "leaseDurationSeconds": 3600,
                "renewTime": format!("{:.6}", Timestamp::now()),
            },
        });
        let file = self.folder.join("lease.json");
        std::fs::write(&file, lease.to_string()).unwrap();
        self.run_kubectl(&["create", "--filename", file.to_str().unwrap()]);
    }

    fn start_operator(&self) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let flags = ["operator", "--leader-elect", "--metrics-address=off", "--health-address=off"];
        command.args(flags).args(self.controllers()).env("KUBECONFIG", self.account()).env("NO_COLOR", "1");
        for function in FUNCTIONS {
            command.arg(format!("--function-address={}={}", service(function), self.functions));
        }
        let log = File::create(self.folder.join("operator.log")).unwrap();
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// The controllers that the Deployment names.
    fn controllers(&self) -> Option<String> {
        let deployment = self.get(&["deployment", ACCOUNT, "--namespace", "plimsoll-system"])?;
        let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array()?.clone();
        let mut arguments = arguments.iter().filter_map(Value::as_str);
        arguments.find(|argument| argument.starts_with("--controllers")).map(str::to_owned)
    }

    /// A kubeconfig with the account of the operator's Pods, and in their namespace.
    fn account(&self) -> PathBuf {
        let token = self.run_kubectl(&["create", "token", ACCOUNT, "--namespace", "plimsoll-system"]);
        let config = self.run_kubectl(&["config", "view", "--raw", "--output=json"]);
        let mut config: Value = serde_json::from_slice(&config).unwrap();
        for user in config["users"].as_array_mut().unwrap() {
            user["user"] = json!({"token": String::from_utf8_lossy(&token).trim()});
        }
        for context in config["contexts"].as_array_mut().unwrap() {
            context["context"]["namespace"] = "plimsoll-system".into();
        }
        let file = self.folder.join("operator.kubeconfig");
        std::fs::write(&file, config.to_string()).unwrap();
        file
    }

    fn get(&self, what: &[&str]) -> Option<Value> {
        let output = self.run_kubectl(&[&["get", "--output=json", "--ignore-not-found"], what].concat());
        serde_json::from_slice(&output).ok()
    }

    fn run_kubectl(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new(&self.kubectl).args(arguments).env("KUBECONFIG", &self.kubeconfig).output();
        output.unwrap().stdout
    }
}

/// Ends a process as the kubelet does.
fn end(mut process: Child) {
    let pid = process.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    process.wait().unwrap();
}
