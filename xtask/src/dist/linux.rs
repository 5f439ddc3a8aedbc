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
