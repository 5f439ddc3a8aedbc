//! The state file there and back, and what it says together with a look at the processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::control_plane::programs::Origin;

fn state(supervisor: Identity, phase: Phase) -> State {
    let options = Options {
        name: Name::default(),
        programs: vec![Found { program: Program::Etcd, path: "/bin/etcd".into(), origin: Origin::Assets }],
        port: None,
        audit: true,
        linger: Some(Duration::from_secs(60)),
        apiserver_args: vec![("event-ttl".to_owned(), "1h".to_owned())],
        timeout: Duration::from_secs(120),
    };
    State {
        name: Name::default(),
        phase,
        supervisor,
        started: Timestamp::UNIX_EPOCH,
        options,
        server: "https://127.0.0.1:6443".to_owned(),
        versions: BTreeMap::from([("kubernetes".to_owned(), "v1.36.3".to_owned())]),
        processes: vec![Running { program: Program::Etcd, process: Identity::of_self().unwrap() }],
    }
}

fn gone() -> Identity {
    let me = Identity::of_self().unwrap();
    Identity { start: me.start + 1, ..me }
}

fn ready() -> Phase {
    Phase::Ready { after: Duration::from_millis(2900) }
}

#[test]
fn what_is_written_is_read_back_and_only_its_owner_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let failure = Failure { log: vec!["y".to_owned()], ..Failure::because("x") };
    for phase in [Phase::Starting { step: Step::Etcd }, ready(), Phase::Stopping, Phase::Failed { failure }] {
        let state = state(gone(), phase);
        state.write(&layout).unwrap();
        assert_eq!(State::read(&layout).unwrap(), state);
    }
    assert_eq!(fs::metadata(layout.state()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_damaged_or_missing_file_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    assert!(matches!(State::read(&layout), Err(ReadError::Missing)));
    for text in ["", "{", "{\"name\": \"../../etc\"}", "\0\0"] {
        fs::write(layout.state(), text).unwrap();
        assert!(matches!(State::read(&layout), Err(ReadError::Damaged(_))), "{text}");
    }
}

#[test]
fn a_sandbox_stands_as_its_phase_says_only_while_its_supervisor_lives() {
    let layout = Layout::at("/nonexistent");
    let me = Identity::of_self().unwrap();
    let failed = Phase::Failed { failure: Failure::because("x") };
    for (supervisor, phase, standing) in [
        (me.clone(), Phase::Starting { step: Step::Node }, Standing::Starting),
        (me.clone(), ready(), Standing::Ready),
        (me, Phase::Stopping, Standing::Stopping),
        (gone(), Phase::Starting { step: Step::Node }, Standing::Dead),
        (gone(), ready(), Standing::Dead),
        (gone(), Phase::Stopping, Standing::Dead),
        (gone(), failed, Standing::Failed),
    ] {
        assert_eq!(Status::new(&layout, state(supervisor, phase)).state, standing);
    }
}

#[test]
fn a_status_reads_as_json_with_everything_a_program_needs() {
    let me = Identity::of_self().unwrap();
    let status = Status::new(&Layout::at("/s/default"), state(me.clone(), ready()));
    let expected = serde_json::json!({
        "name": "default",
        "state": "ready",
        "kubeconfig": "/s/default/kubeconfig",
        "contexts": ["plimsoll-default", "plimsoll-default-token"],
        "server": "https://127.0.0.1:6443",
        "started": "1970-01-01T00:00:00Z",
        "readyAfterMs": 2900,
        "versions": { "kubernetes": "v1.36.3" },
        "folder": "/s/default",
        "logs": "/s/default/logs",
        "auditLog": "/s/default/logs/audit.jsonl",
        "lease": "/s/default/lease",
        "lingerSeconds": 60,
        "supervisor": me.pid,
        "programs": [{
            "program": "etcd",
            "path": "/bin/etcd",
            "origin": "assets",
            "pid": me.pid,
            "log": "/s/default/logs/etcd.log",
        }],
    });
    assert_eq!(serde_json::to_value(status).unwrap(), expected);
}
