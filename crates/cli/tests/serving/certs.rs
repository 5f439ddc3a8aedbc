//! `plimsoll certs`

use std::path::Path;

use crate::program::{Running, plimsoll, transcript};
use crate::schema;

fn certs(folder: &Path, arguments: &[&str]) -> String {
    let mut command = plimsoll(&["certs", "--out", "certs"]);
    transcript(&command.args(arguments).current_dir(folder).output().unwrap())
}

#[test]
fn each_side_gets_a_folder_and_the_authority_stays() {
    let folder = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(certs(folder.path(), &["--name", "function-web.shop", "--san", "127.0.0.1"]), @"
    exit 0
    ca      certs/ca  the authority
    client  certs/client  for the operator
    server  certs/server  for the function: function-web, function-web.shop, function-web.shop.svc, 127.0.0.1

    Configure the operator with --function-certs-dir certs/client, or in a cluster with
      kubectl create secret generic plimsoll-tls-client --from-file certs/client
    ");
    for side in ["ca", "client", "server"] {
        for file in ["tls.crt", "tls.key", "ca.crt"] {
            let text = std::fs::read_to_string(folder.path().join("certs").join(side).join(file)).unwrap();
            assert!(text.starts_with("-----BEGIN"), "{side}/{file}");
        }
    }
    let again = certs(folder.path(), &["--name", "function-db", "-o", "json"]);
    let made = schema::check("certs", again.strip_prefix("exit 0\n").unwrap());
    assert_eq!(made["keptAuthority"], true);
    assert_eq!(made["names"], serde_json::json!(["function-db"]));
}

#[test]
fn an_unusable_folder_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("certs"), "a file").unwrap();
    insta::assert_snapshot!(certs(folder.path(), &["--name", "function-web"]), @"
    exit 1
    error[certs-failed]: cannot read or write certs/ca

      Cause: Not a directory (os error 20).

    hint: Choose a writable folder with --out.
    ");
}

#[test]
fn a_name_that_is_invalid_in_a_certificate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(certs(folder.path(), &["--name", "fünction"]), @"
    exit 1
    error[certs-failed]: cannot issue a certificate

      Cause: Invalid IA5String: 'fünction'.

    hint: Use DNS names, for instance `--name function-web.shop`.
    ");
}

#[test]
fn a_function_is_served_in_plaintext_only_if_asked() {
    let refused = transcript(&plimsoll(&["function", "demo", "--listen", "127.0.0.1:0"]).output().unwrap());
    insta::assert_snapshot!(refused, @"
    exit 1
    error: the following required arguments were not provided:
      <--certs-dir <DIR>|--insecure>

    Usage: plimsoll function demo --listen <ADDRESS> <--certs-dir <DIR>|--insecure>

    For more information, try '--help'.
    ");
    let mut served =
        Running::answering(plimsoll(&["function", "demo", "--listen", "127.0.0.1:0", "--insecure"]));
    assert!(served.line().contains("\"address\":\"127.0.0.1:"));
}
