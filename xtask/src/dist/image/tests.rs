//! The image of the program under test: valid, reproducible, and enough to run the operator.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use tempfile::TempDir;
use testkit::{ReleaseTool, Sandbox};

use super::*;

#[test]
fn libraries_are_those_that_the_loader_finds() {
    let printed = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\
                   \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
    assert_eq!(libraries(printed), ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
}

#[test]
fn the_containerfile_says_the_same() {
    let text = fs::read_to_string(crate::root().join("Containerfile")).unwrap();
    for line in [format!("USER {USER}\n"), format!("ENTRYPOINT [\"/{PROGRAM}\"]\n"), format!(" /{PROGRAM}\n")]
    {
        assert!(text.contains(&line), "{line}");
    }
}

#[test]
fn docker_and_podman_leave_out_the_same_files() {
    let [podman, docker] = [".containerignore", ".dockerignore"]
        .map(|name| fs::read_to_string(crate::root().join(name)).unwrap());
    assert_eq!(podman, docker);
}

#[test]
fn two_images_of_one_program_are_the_same() {
    let folder = TempDir::new().unwrap();
    let written = ["one", "other"].map(|name| {
        let archive = folder.path().join(name);
        let digest = image().write(&[base(Path::new("/bin/sh")).unwrap()], &archive).unwrap();
        (digest, fs::read(archive).unwrap())
    });
    assert!(written[0].0.starts_with("sha256:"));
    assert!(written[0] == written[1]);
}

fn image() -> Image<'static> {
    // Without optimisation, compressing the program would take a minute.
    let compression = Compression::none();
    Image {
        architecture: "amd64",
        labels: json!({ "a": "b" }),
        tag: "1.2.3",
        time: 1_700_000_000,
        compression,
    }
}

/// The image's program in its own root folder, as the image's user, or as root of a namespace where only that is allowed.
/// `arguments` make the program succeed at once.
fn chroot(root: &Path, arguments: &[&str]) -> Option<Command> {
    let ways: [&[&str]; 2] = [&["chroot", "--userspec", USER], &["unshare", "--map-root-user", "chroot"]];
    let with = |way: &[&str]| {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).arg(root).arg(format!("/{PROGRAM}"));
        command
    };
    let works = |way: &&&[&str]| {
        let checked = with(way).args(arguments).output();
        checked.is_ok_and(|output| output.status.success())
    };
    ways.iter().find(works).map(|way| with(way))
}

/// Unpacks the layers of an archive as a container runtime does, and returns the configuration.
fn unpack(archive: &Path, root: &Path) -> Value {
    let layout = TempDir::new().unwrap();
    tar::Archive::new(File::open(archive).unwrap()).unpack(layout.path()).unwrap();
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let content = fs::read(layout.path().join("blobs/sha256").join(digest)).unwrap();
        assert_eq!(format!("{:x}", Sha256::digest(&content)), digest);
        assert_eq!(descriptor["size"], content.len());
        content
    };
    let index: Value = serde_json::from_slice(&fs::read(layout.path().join("index.json")).unwrap()).unwrap();
    let manifest: Value = serde_json::from_slice(&blob(&index["manifests"][0])).unwrap();
    let config: Value = serde_json::from_slice(&blob(&manifest["config"])).unwrap();
    for (number, layer) in manifest["layers"].as_array().unwrap().iter().enumerate() {
        let mut tar = Vec::new();
        GzDecoder::new(blob(layer).as_slice()).read_to_end(&mut tar).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][number], format!("sha256:{:x}", Sha256::digest(&tar)));
        tar::Archive::new(tar.as_slice()).unpack(root).unwrap();
    }
    config
}

/// A process that ends with this value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has then reported.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Packs a program and unpacks the image; the folder and the configuration.
fn unpacked(program: &Path) -> (TempDir, Value) {
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("image.tar");
    let mut layer = Files::default();
    layer.program(PROGRAM, program);
    image().write(&[base(program).unwrap(), layer], &archive).unwrap();
    let config = unpack(&archive, &folder.path().join("root"));
    (folder, config)
}

#[test]
fn a_program_finds_its_libraries_in_the_image() {
    let (folder, config) = unpacked(&fs::canonicalize("/bin/sh").unwrap());
    assert_eq!(config["config"]["User"], USER);
    assert_eq!(config["config"]["Entrypoint"], json!(["/usr/bin/plimsoll"]));
    let arguments = ["-c", "test -s /etc/ssl/certs/ca-certificates.crt && test ! -e /proc"];
    if chroot(&folder.path().join("root"), &arguments).is_none() {
        let refused = Command::new("chroot").args(["/", "/bin/sh", "-c", "true"]).output();
        assert!(!refused.unwrap().status.success(), "this user may use chroot, but the program does not run");
    }
}

#[test]
fn crane_pushes_and_validates_the_image() {
    if std::env::var_os("PLIMSOLL_WHOLE").is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (archive, layout) = (folder.path().join("image.tar"), folder.path().join("layout"));
    let digest = image().write(&[base(Path::new("/bin/sh")).unwrap()], &archive).unwrap();
    tar::Archive::new(File::open(&archive).unwrap()).unpack(&layout).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut registry = ReleaseTool::Crane.command();
    registry.args(["registry", "serve", "--address", &address]).stderr(Stdio::null());
    let _registry = Process(registry.spawn().unwrap());
    let begun = Instant::now();
    while std::net::TcpStream::connect(&address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the registry does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let name = format!("{address}/plimsoll:1.2.3");
    let crane = |arguments: &[&str]| output(ReleaseTool::Crane.command().args(arguments)).unwrap();
    crane(&["push", layout.to_str().unwrap(), &name]);
    crane(&["validate", "--remote", &name]);
    assert_eq!(crane(&["digest", &name]).trim(), digest);
}

#[test]
fn the_image_has_all_that_the_operator_needs() {
    // Without optimisation, hashing the program takes minutes.
    if std::env::var_os("PLIMSOLL_WHOLE").is_none() {
        return;
    }
    let sandbox = Sandbox::dedicated("image");
    let (folder, _) = unpacked(&testkit::plimsoll());
    let root = folder.path().join("root");
    let start = || chroot(&root, &["--version"]).expect("the long tests need chroot or unshare");
    let help = start().args(["operator", "--help"]).output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("--watch-label-selector"), "{help:?}");

    // A copy that the image's user can read.
    fs::write(root.join("kubeconfig"), fs::read(sandbox.kubeconfig()).unwrap()).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = start();
    let health = format!("--health-address=127.0.0.1:{port}");
    command.args(["operator", "--kubeconfig=/kubeconfig", "--install-crds"]);
    command.args(["--metrics-address=off", &health]).env_clear().env("PATH", "/usr/sbin:/usr/bin:/bin");
    let mut operator = Process(command.stderr(Stdio::piped()).spawn().unwrap());
    let begun = Instant::now();
    while !is_ready(port) {
        if let Some(status) = operator.0.try_wait().unwrap() {
            let mut log = String::new();
            operator.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            panic!("the operator ended with {status}:\n{log}");
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "the operator is not ready");
        std::thread::sleep(Duration::from_millis(50));
    }
    let crds = sandbox.kubectl(&["get", "crd", "queues.queue.oracle.com"]);
    assert!(crds.status.success(), "{crds:?}");
}

/// Asks as a kubelet does.
fn is_ready(port: u16) -> bool {
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let mut answer = String::new();
    let asked = stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
    asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok_and(|_| answer.starts_with("HTTP/1.1 200"))
}
