//! The container image, as an archive in the OCI layout that skopeo, crane, podman and containerd read: the program with the libraries
//! that it links, if any, the CA certificates of this machine, a user without rights, and nothing else. `Containerfile` says the same.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Release;
use super::cargo_build::{Platform, Programs};
use super::tarball::{Files, gz};
use super::{output, say};

/// A user without rights, by the number that distroless images use.
const USER: &str = "65532:65532";
const PROGRAM: &str = "usr/bin/plimsoll";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

pub(super) fn write(release: &Release, platform: &Platform, programs: &Programs) -> Result<PathBuf> {
    let (_, architecture) = platform.registry.split_once('_').context("a platform has an architecture")?;
    let base = base(&programs.plimsoll)?;
    let mut program = Files::default();
    program.program(PROGRAM, &programs.plimsoll);
    let labels = json!({
        "org.opencontainers.image.title": "plimsoll",
        "org.opencontainers.image.description": "Compositions with claims, and cloud resources with asynchronous operations",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": release.revision,
        "org.opencontainers.image.version": release.version,
    });
    let archive = release.out.join(format!("plimsoll_{}_{}.oci.tar", release.version, platform.registry));
    // The base comes first: it stays the same in most releases, and is then not pulled again.
    let (tag, time, compression) = (&release.version, release.time, Compression::best());
    let image = Image { architecture, labels, tag, time, compression };
    let digest = image.write(&[base, program], &archive)?;
    say(&format!("the image is plimsoll@{digest}"));
    Ok(archive)
}

/// What the program needs around it.
fn base(program: &Path) -> Result<Files> {
    let mut files = Files::default();
    files.text(
        "etc/passwd",
        "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
    );
    files.text("etc/group", "root:x:0:\nnonroot:x:65532:\n");
    files.text("etc/nsswitch.conf", "hosts: files dns\n");
    files.copy(CERTIFICATES.trim_start_matches('/'), Path::new(CERTIFICATES));
    files.folder("tmp", 0o1777);
    for library in libraries(&output(Command::new("ldd").arg(program))?) {
        let file = fs::canonicalize(&library).with_context(|| format!("finding {library}"))?;
        files.program(library.trim_start_matches('/'), &file);
    }
    Ok(files)
}

/// The libraries in the output of `ldd`, with the loader: `libc.so.6 => /lib/libc.so.6 (0x…)`, `/lib64/ld-linux.so.2 (0x…)`.
fn libraries(printed: &str) -> Vec<String> {
    let path = |line: &str| {
        let place = line.split_once("=>").map_or(line, |(_, place)| place);
        place.split_whitespace().next().filter(|path| path.starts_with('/')).map(str::to_owned)
    };
    printed.lines().filter_map(path).collect()
}

struct Image<'a> {
    architecture: &'a str,
    labels: Value,
    tag: &'a str,
    /// When it was made, in seconds since 1970.
    time: u64,
    compression: Compression,
}

impl Image<'_> {
    /// Writes the archive, and returns the digest by which the image is pulled.
    fn write(&self, layers: &[Files], archive: &Path) -> Result<String> {
        let mut blobs = Blobs::new()?;
        let (mut descriptors, mut contents) = (Vec::new(), Vec::new());
        for layer in layers {
            let mut tar = Vec::new();
            layer.write(&mut tar, self.time)?;
            contents.push(format!("sha256:{:x}", Sha256::digest(&tar)));
            let mut compressed = gz(Vec::new(), self.compression);
            compressed.write_all(&tar)?;
            descriptors
                .push(blobs.add("application/vnd.oci.image.layer.v1.tar+gzip", &compressed.finish()?)?);
        }
        let config = blobs.add_json("application/vnd.oci.image.config.v1+json", &self.config(&contents))?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config,
            "layers": descriptors,
            "annotations": self.labels,
        });
        let mut manifest = blobs.add_json("application/vnd.oci.image.manifest.v1+json", &manifest)?;
        let digest = manifest["digest"].as_str().context("a blob has a digest")?.to_owned();
        manifest["platform"] = json!({ "architecture": self.architecture, "os": "linux" });
        manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": self.tag });
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [manifest],
        });
        let mut files = Files::default();
        files.text("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
        files.text("index.json", index.to_string());
        files.tree("blobs/sha256", blobs.folder.path(), &|_| true)?;
        let out = File::create(archive).with_context(|| format!("creating {}", archive.display()))?;
        files.write(out, self.time)?;
        Ok(digest)
    }

    fn config(&self, contents: &[String]) -> Value {
        json!({
            "architecture": self.architecture,
            "os": "linux",
            "config": {
                "User": USER,
                "Entrypoint": [format!("/{PROGRAM}")],
                "Env": ["PATH=/usr/bin", format!("SSL_CERT_FILE={CERTIFICATES}")],
                "WorkingDir": "/",
                "Labels": self.labels,
            },
            "rootfs": { "type": "layers", "diff_ids": contents },
        })
    }
}

/// Content by its digest, in a folder.
struct Blobs {
    folder: tempfile::TempDir,
}

impl Blobs {
    fn new() -> Result<Self> {
        Ok(Self { folder: tempfile::tempdir().context("creating a folder for the image")? })
    }

    /// Adds content, and returns its descriptor.
    fn add(&mut self, media_type: &str, content: &[u8]) -> Result<Value> {
        let digest = format!("{:x}", Sha256::digest(content));
        fs::write(self.folder.path().join(&digest), content).context("writing a blob")?;
        ensure!(!content.is_empty(), "a blob is empty");
        Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": content.len() }))
    }

    fn add_json(&mut self, media_type: &str, content: &Value) -> Result<Value> {
        self.add(media_type, content.to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests;
