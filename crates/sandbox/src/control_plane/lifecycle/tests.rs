//! Decisions about a sandbox that is already running: whether it has the requested options, and what it uses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::control_plane::process::ProcessIdentity;
use crate::control_plane::status::tests::{ready, state};

/// A sandbox whose supervisor is this very process, with its etcd at `etcd`.
fn running(etcd: PathBuf) -> StateFile {
    let mut state = state(ProcessIdentity::of_self().unwrap(), ready());
    state.options.programs[0].path = etcd;
    state.options.request.audit = false;
    state
}

fn environment(folder: &Path) -> Environment {
    Environment {
        cache: folder.join("cache"),
        state: folder.join("state"),
        path: "/nonexistent".into(),
        assets: None,
        releases: Vec::new(),
    }
}

#[test]
fn options_that_a_running_sandbox_does_not_have_are_named() {
    let state = running("/bin/etcd".into());
    let same = UpRequest { linger: Some(Duration::from_secs(1)), ..state.options.request.clone() };
    let check = |request: UpRequest, expected: &[&str]| assert_eq!(differences(&state, &request), expected);
    check(same.clone(), &[]);
    check(UpRequest { port: Some(6443), ..same.clone() }, &[]);
    check(UpRequest { port: Some(443), ..same.clone() }, &["port"]);
    check(UpRequest { audit: true, linger: None, ..same.clone() }, &["audit log", "linger time"]);
    check(UpRequest { apiserver_args: Vec::new(), ..same }, &["API server flags"]);
}

#[test]
fn a_cache_is_kept_only_while_a_sandbox_uses_it() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    let layout = Layout::new(&environment, &Name::default());
    folder::create_private(layout.root()).unwrap();

    running(CONTROL_PLANE.folder(&environment.cache).join("etcd")).write(&layout).unwrap();
    let Err(error) = purge(&environment) else { panic!("the cache is in use") };
    assert_eq!(
        error.diagnostic().hint.as_deref(),
        Some("Stop it first: `plimsoll sandbox down --name default`.")
    );

    running("/elsewhere/plimsoll/control-plane/1/etcd".into()).write(&layout).unwrap();
    assert_eq!(purge(&environment).unwrap(), 0);
}

#[test]
fn a_failed_up_leaves_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    let request = UpRequest::new(Name::default(), PathBuf::new());
    assert!(matches!(up(&environment, &request, &mut |_| ()), Err(Error::NoPrograms { .. })));
    assert_eq!(fs::read_dir(layout::sandboxes(&environment)).unwrap().count(), 0);
}
