//! A whole release: made twice, in different places, it has the same bytes; and each way of installing works with nothing but its
//! files. Only the long tests run this, since it builds everything twice.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::read::GzDecoder;
use tempfile::TempDir;
use testkit::ReleaseTool;
use testkit::terraform::{Client, Workspace};

use super::*;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const NAMESPACE: &str = "--namespace=plimsoll-system";
const MEGABYTE: u64 = 1_000_000;

#[test]
fn a_release_has_the_same_bytes_wherever_it_is_made_and_each_way_of_installing_it_works() {
    if std::env::var_os("PLIMSOLL_WHOLE").is_none() {
        return;
    }
    let folder = tempfile::tempdir_in(crate::root().join("target")).unwrap();
    let made = ["one", "elsewhere"].map(|name| release(folder.path(), name));
    let [one, other] = made.each_ref().map(|out| contents(out));
    assert_eq!(one, other);
    let out = &made[1];
    check_sizes(out);
    checksums_are_those_of_sha256sum(out);
    let user = User::new(out);
    user.runs_the_program_without_a_c_library();
    user.plays_the_demo_without_go();
    user.installs_the_operator(out);
    terraform_accepts_the_provider(out);
}

/// Makes a release of the last commit in a checkout and a target folder of its own.
fn release(folder: &Path, name: &str) -> PathBuf {
    let checkout = folder.join(name).join("checkout");
    let mut clone = Command::new("git");
    clone.args(["clone", "--quiet"]).arg(crate::root()).arg(&checkout);
    output(&mut clone).unwrap();
    let target = folder.join(name).join("built");
    let out = folder.join(name).join("out");
    let url = Some("https://example.org/p/releases/download/v0".to_owned());
    let platform = vec![platform().to_owned()];
    let arguments = Arguments {
        out: out.clone(),
        profile: "dist".to_owned(),
        platform,
        url,
        image: None,
        without_sbom: !sbom::is_possible(),
    };
    make(&checkout, &target, &arguments).unwrap();
    fs::remove_dir_all(target).unwrap();
    out
}

/// The checksum of each file; signatures contain the time.
fn contents(out: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let files = files.filter(|path| path.extension().is_none_or(|extension| extension != "sig"));
    files.map(|path| (name(&path), checksums::sha256(&path).unwrap())).collect()
}

/// This machine, as the registry calls it.
fn platform() -> &'static str {
    let host = cargo_build::host().unwrap();
    PLATFORMS.iter().find(|platform| platform.target == host).unwrap().registry
}

/// `0.2.0_linux_amd64`
fn version_and_platform() -> String {
    format!("{VERSION}_{}", platform())
}

/// What people download at most.
fn check_sizes(out: &Path) {
    for (end, limit) in [("oci.tar", 60 * MEGABYTE), ("tar.gz", 20 * MEGABYTE)] {
        let file = format!("plimsoll_{}.{end}", version_and_platform());
        let size = fs::metadata(out.join(&file)).unwrap().len();
        assert!(size <= limit, "{file} has {size} bytes");
    }
}

fn checksums_are_those_of_sha256sum(out: &Path) {
    let provider = format!("{}_{VERSION}_SHA256SUMS", provider::NAME);
    for sums in ["SHA256SUMS", &provider] {
        output(Command::new("sha256sum").args(["--check", "--strict", sums]).current_dir(out)).unwrap();
    }
}

/// A user with an empty home and the unpacked archives. Nothing is on PATH, not even Go.
struct User {
    home: TempDir,
}

impl User {
    fn new(out: &Path) -> Self {
        let user = Self { home: TempDir::new().unwrap() };
        let archives = [
            format!("plimsoll_{}.tar.gz", version_and_platform()),
            format!("plimsoll-control-plane_{}.tar.gz", version_and_platform()),
            format!("plimsoll-deploy-{VERSION}.tar.gz"),
        ];
        for archive in archives {
            let file = File::open(out.join(archive)).unwrap();
            tar::Archive::new(GzDecoder::new(file)).unpack(user.home.path()).unwrap();
        }
        user
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = self.home.path().join(format!("plimsoll_{}/plimsoll", version_and_platform()));
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", self.home.path()).env("PATH", "/nonexistent");
        command.env("KUBECONFIG", self.kubeconfig()).stdin(Stdio::null());
        command
    }

    fn kubeconfig(&self) -> PathBuf {
        self.home.path().join(".local/state/plimsoll/sandbox/default/kubeconfig")
    }

    /// Runs `plimsoll`, which must succeed; what it printed.
    #[track_caller]
    fn plimsoll(&self, arguments: &[&str]) -> String {
        printed(&self.command(arguments).output().unwrap())
    }

    /// In a root folder with nothing else, as in images that have another C library, and finds names without modules of it.
    fn runs_the_program_without_a_c_library(&self) {
        let program = self.home.path().join(format!("plimsoll_{}/plimsoll", version_and_platform()));
        let root = self.home.path().join("root");
        fs::create_dir_all(root.join("etc/ssl/certs")).unwrap();
        let certificates = "etc/ssl/certs/ca-certificates.crt";
        fs::copy(Path::new("/").join(certificates), root.join(certificates)).unwrap();
        fs::copy(&program, root.join("plimsoll")).unwrap();
        fs::write(root.join("etc/nsswitch.conf"), "hosts: resolve\n").unwrap();
        fs::write(root.join("etc/hosts"), "127.0.0.1 api.example.org\n").unwrap();
        let cluster = "clusters: [{name: a, cluster: {server: 'https://api.example.org:1'}}]";
        let context = "contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a";
        fs::write(root.join("kubeconfig"), format!("apiVersion: v1\nkind: Config\n{cluster}\n{context}\n"))
            .unwrap();
        let run = |arguments: &[&str]| {
            let mut run = Command::new("unshare");
            run.args(["--map-root-user", "chroot"]).arg(&root).arg("/plimsoll").args(arguments);
            run.output().unwrap()
        };
        assert_eq!(printed(&run(&["--version"])), format!("plimsoll {VERSION}\n"));
        let refused = run(&["owners", "deploy/web", "--kubeconfig=/kubeconfig"]);
        let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.contains("api.example.org:1") && refused.contains("refused"), "{refused}");
        fs::remove_dir_all(root).unwrap();
    }

    fn plays_the_demo_without_go(&self) {
        assert_eq!(self.plimsoll(&["--version"]), format!("plimsoll {VERSION}\n"));
        let shown = self.plimsoll(&["demo", "--no-terraform"]);
        assert!(shown.contains("next steps") && !shown.contains("building"), "{shown}");
        assert!(!self.home.path().join(".cache").exists(), "nothing was built");
    }

    /// In a sandbox, by each of the three ways, one after the other.
    fn installs_the_operator(&self, out: &Path) {
        self.plimsoll(&["sandbox", "up", "--detach"]);
        self.plimsoll(&["install", "--wait", "--timeout=3m"]);
        self.is_installed();
        self.plimsoll(&["uninstall", "--purge"]);

        let chart = out.join(format!("plimsoll-{VERSION}.tgz"));
        let kubeconfig = format!("--kubeconfig={}", self.kubeconfig().display());
        let helm = |arguments: &[&str]| {
            let mut helm = ReleaseTool::Helm.command();
            helm.args(arguments).args([NAMESPACE, &kubeconfig]).env("HOME", self.home.path());
            printed(&helm.output().unwrap())
        };
        let chart = chart.to_str().unwrap();
        helm(&["install", "plimsoll", chart, "--create-namespace", "--wait", "--timeout=3m"]);
        self.is_installed();
        helm(&["uninstall", "plimsoll", "--wait", "--timeout=3m"]);

        let kustomization = self.home.path().join(format!("plimsoll-deploy-{VERSION}"));
        self.kubectl(&["apply", "--server-side", "-k", kustomization.to_str().unwrap()]);
        self.is_installed();
        self.plimsoll(&["sandbox", "down"]);
    }

    fn is_installed(&self) {
        self.kubectl(&["rollout", "status", "deployment/plimsoll-operator", NAMESPACE, "--timeout=3m"]);
        for crd in ["queues.queue.oracle.com", "compositions.apiextensions.crossplane.io"] {
            self.kubectl(&["wait", "--for=condition=Established", "crd", crd]);
        }
    }

    /// With the kubectl of the sandbox.
    fn kubectl(&self, arguments: &[&str]) -> String {
        self.plimsoll(&[&["sandbox", "exec", "--", "kubectl"], arguments].concat())
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Where a test has failed; otherwise there is nothing left to stop.
        let _stopped = self.command(&["sandbox", "down"]).output();
    }
}

/// From a mirror of packed files, which has the layout of a registry's downloads.
fn terraform_accepts_the_provider(out: &Path) {
    let workspace = Workspace::new(Client::any(), &[]);
    let mirror = workspace.path("mirror/example.org/plimsoll/k8sconnect");
    fs::create_dir_all(&mirror).unwrap();
    let name = format!("{}_{}.zip", provider::NAME, version_and_platform());
    fs::copy(out.join(&name), mirror.join(name)).unwrap();
    let path = workspace.path("mirror");
    let settings =
        format!("provider_installation {{\n  filesystem_mirror {{\n    path = {path:?}\n  }}\n}}\n");
    workspace.write("client.tfrc", &settings);
    let required =
        format!("k8sconnect = {{ source = \"example.org/plimsoll/k8sconnect\", version = {VERSION:?} }}");
    workspace
        .write("providers.tf", &format!("terraform {{\n  required_providers {{\n    {required}\n  }}\n}}\n"));
    let manifest = "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}";
    let split =
        format!("output \"split\" {{\n  value = provider::k8sconnect::yaml_split(\"{manifest}\")\n}}\n");
    workspace.write("main.tf", &split);
    workspace.run(&["init", "-no-color"]).expect_success();
    workspace.apply(&[]).expect_success();
}

/// The output of a command that must have succeeded.
#[track_caller]
fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{printed}");
    printed
}
