//! Reading and writing the state file.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::control_plane::status::tests::{exited, ready, state};

#[test]
fn a_state_is_read_back_as_written_and_only_its_owner_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    let failure = Failure { log: vec!["y".to_owned()], ..Failure::new("x") };
    let starting = Phase::Starting { step: StartupStep::Etcd };
    for phase in [starting, ready(), Phase::Stopping, Phase::Failed { failure }] {
        let state = state(exited(), phase);
        state.write(&layout).unwrap();
        assert_eq!(StateFile::read(&layout).unwrap(), state);
    }
    assert_eq!(fs::metadata(layout.state()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_damaged_file_is_distinguished_from_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(folder.path());
    assert!(matches!(StateFile::read(&layout), Err(ReadError::Missing)));
    for text in ["", "{", "{\"phase\": {\"is\": \"ready\"}}", "\0\0"] {
        fs::write(layout.state(), text).unwrap();
        assert!(matches!(StateFile::read(&layout), Err(ReadError::Damaged(_))), "{text}");
    }
}
