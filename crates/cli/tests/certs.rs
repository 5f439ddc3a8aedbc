//! `plimsoll certs` as a whole command.

use std::path::Path;
use std::process::Command;

fn certs(out: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["certs", "--out"]).arg(out).args(arguments).env("COLUMNS", "100").env("NO_COLOR", "1");
    let output = command.output().expect("plimsoll starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&out.display().to_string(), "DIR");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    format!("exit {}\n{stdout}--- stderr\n{stderr}", output.status.code().unwrap())
}

#[test]
fn an_authority_is_made_once_and_serves_further_functions() {
    let folder = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(certs(folder.path(), &["--name", "function-network.crossplane-system"]), @"");
    for role in ["ca", "client", "server"] {
        for file in ["tls.crt", "tls.key", "ca.crt"] {
            assert!(folder.path().join(role).join(file).exists(), "{role}/{file}");
        }
    }
    let authority = std::fs::read(folder.path().join("ca/tls.crt")).unwrap();
    insta::assert_snapshot!(certs(folder.path(), &["--name", "dev", "--san", "localhost", "--output", "json"]), @"");
    assert_eq!(std::fs::read(folder.path().join("ca/tls.crt")).unwrap(), authority);
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    insta::assert_snapshot!(certs(&file, &["--name", "dev"]), @"");
}
