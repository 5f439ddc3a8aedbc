//! A release with its control plane beside the program: a sandbox starts without Go and without a cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use sandbox::{CONTROL_PLANE, Environment};

use crate::harness::User;

/// Puts the program and the control plane of the tests where the archives of a release unpack them.
fn install(user: &User, sources: &str) {
    // Builds it if it is missing, which starting any sandbox does.
    User::new().run(&["up", "--detach"]).succeeded();
    let cache = Environment::from_process().unwrap().cache;
    let folder = user.path("release/control-plane");
    fs::create_dir_all(&folder).unwrap();
    for binary in CONTROL_PLANE.binaries {
        for name in binary.links.iter().chain([&binary.file]) {
            symlink(CONTROL_PLANE.folder(&cache).join(name), folder.join(name)).unwrap();
        }
    }
    fs::write(folder.join("sources"), sources).unwrap();
    let program = user.path("release/plimsoll");
    fs::hard_link(env!("CARGO_BIN_EXE_plimsoll"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).map(drop))
        .unwrap();
}

/// The hash by which this version knows its control plane.
fn this_version() -> String {
    let folder = CONTROL_PLANE.folder("/".as_ref());
    folder.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Runs the installed program through a link, as people put it on PATH.
fn run(user: &User, arguments: &[&str]) -> (bool, String) {
    let link = user.path("plimsoll");
    if !link.exists() {
        symlink(user.path("release/plimsoll"), &link).unwrap();
    }
    let mut command = Command::new(link);
    command
        .args(arguments)
        .env("XDG_STATE_HOME", user.path("state"))
        .env("XDG_CACHE_HOME", user.path("cache"));
    let output = command.env("PATH", "/usr/bin:/bin").env_remove("KUBEBUILDER_ASSETS").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_release_starts_a_sandbox_without_go_and_without_a_cache() {
    let user = User::without_programs();
    install(&user, &this_version());
    let (succeeded, said) = run(&user, &["sandbox", "up", "--detach"]);
    assert!(succeeded && !said.contains("building"), "{said}");
    let status = user.status("default");
    for program in status["programs"].as_array().unwrap() {
        assert_eq!(program["origin"], "installed", "{program}");
    }
    assert!(status["versions"]["kubernetes"].is_string(), "{status}");
    assert!(!user.path("cache").exists());
    let (_, said) = run(&user, &["doctor"]);
    assert!(said.contains("installed in ") && said.contains("release/control-plane"), "{said}");
    user.run(&["down"]).succeeded();
}

#[test]
fn the_control_plane_of_another_release_is_not_used_and_the_doctor_says_so() {
    let user = User::without_programs();
    install(&user, "0123456789abcdef");
    let (succeeded, said) = run(&user, &["sandbox", "up", "--detach"]);
    assert!(!succeeded, "{said}");
    assert!(said.contains("1. unpack the archive plimsoll-control-plane_"), "{said}");
    let (_, said) = run(&user, &["doctor"]);
    assert!(said.contains("release/control-plane is not complete, or of another release"), "{said}");
}
