//! What is decided about a sandbox that runs already: whether it is what was asked for, and what it needs.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;

use super::*;
use crate::control_plane::process::Identity;
use crate::control_plane::programs::{Found, Origin, Program};
use crate::control_plane::state::Phase;

/// A sandbox whose supervisor is this very process, and whose etcd is at `etcd`.
fn running(etcd: PathBuf) -> State {
    State {
        name: Name::default(),
        phase: Phase::Ready { after: Duration::ZERO },
        supervisor: Identity::of_self().unwrap(),
        started: Timestamp::UNIX_EPOCH,
        options: Options {
            name: Name::default(),
            programs: vec![Found { program: Program::Etcd, path: etcd, origin: Origin::Cache }],
            port: None,
            audit: false,
            linger: Some(Duration::from_secs(60)),
            apiserver_args: vec![("v".to_owned(), "2".to_owned())],
            timeout: Duration::ZERO,
        },
        server: "https://127.0.0.1:6443".to_owned(),
        versions: BTreeMap::new(),
        processes: Vec::new(),
    }
}

fn environment(folder: &Path) -> Environment {
    Environment {
        cache: folder.join("cache"),
        state: folder.join("state"),
        path: "/nonexistent".into(),
        assets: None,
    }
}

#[test]
fn what_a_running_sandbox_was_not_started_with_is_named() {
    let state = running("/bin/etcd".into());
    let like_it = UpRequest {
        linger: Some(Duration::from_secs(1)),
        apiserver_args: vec![("v".to_owned(), "2".to_owned())],
        ..UpRequest::new(Name::default(), PathBuf::new())
    };
    let check = |request: UpRequest, expected: &[&str]| assert_eq!(differences(&state, &request), expected);
    check(like_it.clone(), &[]);
    check(UpRequest { port: Some(6443), ..like_it.clone() }, &[]);
    check(UpRequest { port: Some(443), ..like_it.clone() }, &["port"]);
    check(UpRequest { audit: true, linger: None, ..like_it.clone() }, &["audit log", "linger time"]);
    check(UpRequest { apiserver_args: Vec::new(), ..like_it }, &["API server flags"]);
}

#[test]
fn only_the_cache_that_a_sandbox_runs_from_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    let layout = Layout::new(&environment, &Name::default());
    make_private_folder(layout.root()).unwrap();

    running(MODULE.folder(&environment.cache).join("etcd")).write(&layout).unwrap();
    let Err(error) = purge(&environment) else { panic!("the cache is in use") };
    assert_eq!(
        error.diagnostic().hint.as_deref(),
        Some("Stop it first: `plimsoll sandbox down --name default`.")
    );

    running("/elsewhere/plimsoll/control-plane/1/etcd".into()).write(&layout).unwrap();
    assert_eq!(purge(&environment).unwrap(), 0);
}

#[test]
fn an_up_that_comes_to_nothing_leaves_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    let request = UpRequest::new(Name::default(), PathBuf::new());
    assert!(matches!(up(&environment, &request, &mut |_| ()), Err(Error::NoPrograms { .. })));
    assert_eq!(fs::read_dir(layout::all(&environment)).unwrap().count(), 0);
}
