//! How a state file and the running processes make up a status.

use std::time::Duration;

use super::*;
use crate::control_plane::options::{SupervisorOptions, UpRequest};
use crate::control_plane::process::ProcessIdentity;
use crate::control_plane::state::{ProgramProcess, StartupStep};

/// The state of a sandbox with an etcd, which is this very process.
pub(in crate::control_plane) fn state(supervisor: ProcessIdentity, phase: Phase) -> StateFile {
    let request = UpRequest {
        audit: true,
        linger: Some(Duration::from_secs(60)),
        apiserver_args: vec![("event-ttl".to_owned(), "1h".to_owned())],
        ..UpRequest::new(Name::default(), PathBuf::new())
    };
    let etcd = LocatedProgram { program: Program::Etcd, path: "/bin/etcd".into(), origin: Origin::Assets };
    StateFile {
        phase,
        supervisor,
        started: Timestamp::UNIX_EPOCH,
        options: SupervisorOptions { request, programs: vec![etcd] },
        server: "https://127.0.0.1:6443".to_owned(),
        versions: BTreeMap::from([("kubernetes".to_owned(), "v1.36.3".to_owned())]),
        processes: vec![ProgramProcess {
            program: Program::Etcd,
            process: ProcessIdentity::of_self().unwrap(),
        }],
    }
}

pub(in crate::control_plane) fn exited() -> ProcessIdentity {
    let me = ProcessIdentity::of_self().unwrap();
    ProcessIdentity { start: me.start + 1, ..me }
}

pub(in crate::control_plane) fn ready() -> Phase {
    Phase::Ready { after: Duration::from_millis(2900) }
}

#[test]
fn the_phase_counts_only_while_the_supervisor_is_running() {
    let layout = Layout::at("/nonexistent");
    let me = ProcessIdentity::of_self().unwrap();
    let starting = Phase::Starting { step: StartupStep::Node };
    let failed = Phase::Failed { failure: Failure::new("x") };
    for (supervisor, phase, expected) in [
        (me.clone(), starting.clone(), SandboxState::Starting),
        (me.clone(), ready(), SandboxState::Ready),
        (me, Phase::Stopping, SandboxState::Stopping),
        (exited(), starting, SandboxState::Dead),
        (exited(), ready(), SandboxState::Dead),
        (exited(), Phase::Stopping, SandboxState::Dead),
        (exited(), failed, SandboxState::Failed),
    ] {
        assert_eq!(Status::new(&layout, state(supervisor, phase)).state, expected);
    }
}

#[test]
fn the_json_of_a_status_is_stable() {
    let me = ProcessIdentity::of_self().unwrap();
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
