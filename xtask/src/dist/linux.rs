//! Programs for Linux contain their C library, so they run on any distribution: in images of Alpine, where Terraform often runs,
//! which have another library, and where glibc is older than on this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::output;

/// glibc would load the modules in `/etc/nsswitch.conf` from the libraries of the machine, which may be of another version and
/// crash the program. It has two of its own, with which it finds names as programs in Go do.
const RESOLVER: &str = r#"#include <nss.h>

__attribute__((constructor)) static void use_built_in_modules(void) {
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("passwd", "files");
}
"#;

/// What rustc needs to link a program for `target` statically; `compiler` compiles C for it, and `folder` is for what that makes.
pub(super) fn flags(target: &str, compiler: &str, folder: &Path) -> Result<Vec<String>> {
    if !target.ends_with("-linux-gnu") {
        return Ok(Vec::new());
    }
    let folder = folder.join("resolver").join(target);
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::write(folder.join("resolver.c"), RESOLVER).context("writing resolver.c")?;
    output(Command::new(compiler).args(["-c", "-O2", "-fPIE", "resolver.c"]).current_dir(&folder))?;
    let object = folder.join("resolver.o");
    Ok(vec!["-Ctarget-feature=+crt-static".to_owned(), format!("-Clink-arg={}", object.display())])
}

#[cfg(test)]
mod tests {
    use super::super::cargo_build::host;
    use super::*;

    /// Looks for a name of `/etc/hosts`.
    const PROGRAM: &str = r#"fn main() {
        let mut found = std::net::ToSocketAddrs::to_socket_addrs("api.example.org:80").unwrap();
        println!("{}", found.next().unwrap());
    }"#;

    #[test]
    fn a_program_finds_names_without_a_c_library_and_its_modules() {
        let host = host().unwrap();
        assert_eq!(flags("x86_64-pc-windows-gnu", "cc", Path::new("/nonexistent")).unwrap(), [""; 0]);
        if !host.ends_with("-linux-gnu") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (root, source) = (folder.path().join("root"), folder.path().join("main.rs"));
        fs::create_dir_all(root.join("etc")).unwrap();
        fs::write(&source, PROGRAM).unwrap();
        fs::write(root.join("etc/hosts"), "192.0.2.1 api.example.org\n").unwrap();
        // A module that the root folder lacks, and that a glibc of another version could not load.
        fs::write(root.join("etc/nsswitch.conf"), "hosts: resolve\n").unwrap();
        let mut rustc = Command::new("rustc");
        rustc.args(["--target", &host]).args(flags(&host, "cc", folder.path()).unwrap());
        output(rustc.arg("-o").arg(root.join("program")).arg(source)).unwrap();
        // Users who are not root need a namespace for it, which some systems do not let them have.
        let ways: [&[&str]; 2] = [&["chroot"], &["unshare", "--map-root-user", "chroot"]];
        let run = |way: &[&str], root: &Path, program: &str| {
            let mut run = Command::new(way[0]);
            output(run.args(&way[1..]).arg(root).arg(program)).ok()
        };
        let allowed = ways.into_iter().find(|way| run(way, Path::new("/"), "/bin/true").is_some());
        let Some(way) = allowed else { return };
        assert_eq!(run(way, &root, "/program").as_deref(), Some("192.0.2.1:80\n"));
    }
}
