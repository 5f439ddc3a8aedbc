//! The example provider as a process: its handshake and its signals.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "clippy recognises only test functions as tests")]

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const COOKIE: &str = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

fn provider() -> Command {
    let deps = std::env::current_exe().unwrap();
    let program = deps.parent().and_then(Path::parent).unwrap().join("examples/shelf");
    assert!(program.exists(), "build the examples too: `cargo test -p tfplugin`");
    let mut command = Command::new(program);
    command
        .env("TF_PLUGIN_MAGIC_COOKIE", COOKIE)
        .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
        .env_remove("PLUGIN_CLIENT_CERT");
    command
}

/// Starts the provider and reads its handshake.
fn start(command: &mut Command) -> (Child, Vec<String>) {
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (process, line.trim_end().split('|').map(str::to_owned).collect())
}

#[test]
fn a_person_who_starts_it_learns_what_it_is() {
    let check = |command: &mut Command, expected: &str| {
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        assert!(stderr.starts_with(expected), "{stderr}");
    };
    check(provider().env_remove("TF_PLUGIN_MAGIC_COOKIE"), "This program is a Terraform provider");
    check(
        provider().env("PLUGIN_PROTOCOL_VERSIONS", "4,5"),
        "This provider speaks plugin protocol 6, but Terraform offers only 4,5.",
    );
}

#[test]
fn the_handshake_names_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, fields) = start(provider().env("PLUGIN_UNIX_SOCKET_DIR", folder.path()));
    assert_eq!(fields[..3], ["1", "6", "unix"]);
    assert_eq!(fields[4..], ["grpc", ""]);
    let socket = PathBuf::from(&fields[3]);
    assert!(socket.starts_with(folder.path()));
    UnixStream::connect(&socket).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn an_interrupt_does_not_end_it() {
    let (mut process, fields) = start(&mut provider());
    let sent = Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap();
    assert!(sent.success());
    // It still responds: the server follows the HTTP/2 preface with its settings.
    let mut stream = UnixStream::connect(&fields[3]).unwrap();
    std::io::Write::write_all(&mut stream, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut head = [0; 9];
    std::io::Read::read_exact(&mut stream, &mut head).unwrap();
    assert_eq!(head[3], 4, "a SETTINGS frame");
    process.kill().unwrap();
    process.wait().unwrap();
}
