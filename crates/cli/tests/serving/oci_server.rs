//! `plimsoll oci-server`

use std::fs;
use std::net::TcpListener;

use serde_json::Value;

use crate::program::{Running, plimsoll, transcript};

#[test]
fn it_prints_its_address_and_stops_on_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    for signal in ["-INT", "-TERM"] {
        let mut server = Running::answering(plimsoll(&["oci-server", "--key-dir", keys.to_str().unwrap()]));
        let announced: Value = serde_json::from_str(&server.line()).unwrap();
        assert!(announced["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{announced}");
        assert!(announced["compartment"].as_str().unwrap().starts_with("ocid1."), "{announced}");
        let profile = fs::read_to_string(announced["configFile"].as_str().unwrap()).unwrap();
        assert!(profile.starts_with("[DEFAULT]\n"), "{profile}");
        assert_eq!(server.end_by(signal), (Some(0), String::new()));
    }
}

#[test]
fn unusable_options_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script.json"), "{\n  \"pagesize\": 1\n}").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let check = |arguments: &[&str]| {
        let mut command = plimsoll(&["oci-server"]);
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        transcript(&output).replace(&port, "PORT")
    };
    insta::assert_snapshot!(check(&["--script", "script.json"]), @"
    exit 1
    error[option-unusable]: script.json: invalid script: unknown field `pagesize`, expected one of
                            `pace`, `timelines`, `faults`, `pageSize`, `streamWorkRequests`,
                            `tagDefaults`, `revoked` at line 2 column 12

    hint: Write the script as JSON; `{}` scripts no faults.
    ");
    insta::assert_snapshot!(check(&["--script", "none.json"]), @"
    exit 1
    error[option-unusable]: cannot read none.json: No such file or directory (os error 2)

    hint: Pass a readable file with --script.
    ");
    insta::assert_snapshot!(check(&["--listen", "0.0.0.0:0"]), @"
    exit 1
    error[server-not-started]: 0.0.0.0:0 is not a loopback address; listen on 127.0.0.1

    hint: Choose another address with --listen, or another path with --journal or --key-dir.
    ");
    insta::assert_snapshot!(check(&["--listen", &format!("127.0.0.1:{port}")]), @"
    exit 1
    error[server-not-started]: cannot listen on 127.0.0.1:PORT

      Cause: Address already in use (os error 98).

    hint: Choose another address with --listen, or another path with --journal or --key-dir.
    ");
}
