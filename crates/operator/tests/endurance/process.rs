//! An operator process: started with the flags of a test, killed when it is dropped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use testkit::{Sandbox, plimsoll};

/// The account that the deployment runs the operator as.
const ACCOUNT: &str = "system:serviceaccount:plimsoll-system:plimsoll-operator";

/// The memory of a process, in kB.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    /// The whole resident set.
    pub(crate) resident: u64,
    /// The part of it that is not the program itself.
    pub(crate) own: u64,
    /// The peak.
    pub(crate) peak: u64,
}

/// A running operator.
pub(crate) struct Operator {
    child: Arc<Mutex<Child>>,
    log: PathBuf,
}

impl Operator {
    /// Starts `plimsoll operator`; its cloud credentials, if it has any, are in the folder `keys`.
    pub(crate) fn start(kubeconfig: &Path, keys: Option<&Path>, flags: &[String]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let log = kubeconfig.with_file_name(format!("operator-{number}.log"));
        let file = File::create(&log).unwrap();
        let child = Command::new(plimsoll())
            .args(["operator", "--kubeconfig"])
            .arg(kubeconfig)
            .args(["--metrics-address=off", "--health-address=off"])
            .args(flags)
            .envs(keys.map(|keys| ("OCI_CONFIG_FILE_PATH", keys.join("config"))))
            .env_remove("KUBECONFIG")
            .env("RUST_LOG", "info,operator=debug")
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child: Arc::new(Mutex::new(child)), log }
    }

    /// The process id.
    pub(crate) fn child(&self) -> Arc<Mutex<Child>> {
        Arc::clone(&self.child)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last lines of its log.
    pub(crate) fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&self) {
        let mut child = self.lock();
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Stops it and waits until it has exited.
    pub(crate) fn end(&self) {
        self.send("TERM");
        self.lock().wait().unwrap();
    }

    /// Sends it a signal.
    pub(crate) fn send(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Its memory; `None` once it has exited.
    pub(crate) fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
        };
        Memory { resident: field("VmRSS:"), own: field("RssAnon:"), peak: field("VmHWM:") }
    }

    pub(crate) fn id(&self) -> u32 {
        self.lock().id()
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A kubeconfig for the server at `url`, which asks for no credentials, as the deployment's account.
pub(crate) fn kubeconfig(folder: &Path, url: &str) -> PathBuf {
    kubeconfig_as(folder, url, &json!({"as": ACCOUNT}))
}

/// A kubeconfig for the server at `url`, as `user`.
pub(crate) fn kubeconfig_as(folder: &Path, url: &str, user: &Value) -> PathBuf {
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": url}}],
        "users": [{"name": "operator", "user": user}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "operator"}}],
    });
    let path = folder.join("kubeconfig");
    std::fs::write(&path, text.to_string()).unwrap();
    path
}

/// Grants the account the roles in `deploy/`, once, and nothing else.
pub(crate) fn grant() {
    static GRANTED: std::sync::Once = std::sync::Once::new();
    GRANTED.call_once(|| {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        for file in [
            "crds",
            "namespace.yaml",
            "service-account.yaml",
            "roles-common.yaml",
            "roles-oci.yaml",
            "roles-oci-kinds.yaml",
        ] {
            let path = deploy.join(file).display().to_string();
            let output = Sandbox::shared().kubectl(&[
                "apply",
                "--server-side",
                "--force-conflicts",
                "--filename",
                &path,
            ]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let crds = deploy.join("crds").display().to_string();
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "--filename", &crds];
        assert!(Sandbox::shared().kubectl(&wait).status.success());
    });
}
