//! Decides whether the program has the sandbox, which needs Linux: Cargo has no default features by platform.

use std::env;

fn main() {
    let is_wanted = env::var_os("CARGO_FEATURE_SANDBOX").is_some();
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    println!("cargo::rustc-check-cfg=cfg(has_sandbox)");
    println!("cargo::rerun-if-changed=build.rs");
    if is_wanted && is_linux {
        println!("cargo::rustc-cfg=has_sandbox");
    }
}
