//! Reloading of certificates.

use jiff::Timestamp;

use super::*;
use crate::certs::{IssueOptions, Issued, issue};

fn issued(out: &Path) -> Issued {
    issue(out, &IssueOptions::new("fn"), Timestamp::now()).unwrap()
}

#[test]
fn certificates_are_reloaded_only_when_they_change() {
    let out = tempfile::tempdir().unwrap();
    let folder = issued(out.path()).client;
    let reloading = client(vec![Certificates::Folder(folder.clone())]).unwrap();
    let first = reloading.current();
    assert!(Arc::ptr_eq(&first, &reloading.current()));
    issued(out.path());
    let second = reloading.current();
    assert!(!Arc::ptr_eq(&first, &second));

    // Half replaced or missing, they are not used; complete again, they are.
    let key = std::fs::read(folder.join(KEY)).unwrap();
    issued(out.path());
    let new_key = std::fs::read(folder.join(KEY)).unwrap();
    std::fs::write(folder.join(KEY), key).unwrap();
    assert!(Arc::ptr_eq(&second, &reloading.current()));
    std::fs::remove_file(folder.join(AUTHORITY)).unwrap();
    assert!(Arc::ptr_eq(&second, &reloading.current()));
    std::fs::write(folder.join(KEY), new_key).unwrap();
    std::fs::copy(out.path().join("ca").join(CERTIFICATE), folder.join(AUTHORITY)).unwrap();
    assert!(!Arc::ptr_eq(&second, &reloading.current()));
}

#[test]
fn certificates_that_are_sent_replace_the_previous_ones() {
    let out = tempfile::tempdir().unwrap();
    let folder = Certificates::Folder(issued(out.path()).server);
    let (sender, receiver) = watch::channel(folder.read().unwrap());
    let reloading = server(Certificates::Watched(receiver)).unwrap();
    let first = reloading.current();
    issued(out.path());
    assert!(Arc::ptr_eq(&first, &reloading.current()), "nothing has been sent yet");
    sender.send(folder.read().unwrap()).unwrap();
    assert!(!Arc::ptr_eq(&first, &reloading.current()));
}

#[test]
fn unusable_certificates_are_reported_by_file() {
    let out = tempfile::tempdir().unwrap();
    let folder = issued(out.path()).client;
    let pem = Certificates::Folder(folder.clone()).read().unwrap();
    let check = |pem: Pem, expected: &str| {
        let (_sender, receiver) = watch::channel(pem);
        let error = client(vec![Certificates::Watched(receiver)]).err().unwrap();
        assert_eq!(error.to_string(), expected);
    };
    check(Pem { key: Vec::new(), ..pem.clone() }, "tls.key does not contain the PEM it should");
    check(Pem { authority: b"x".to_vec(), ..pem.clone() }, "ca.crt does not contain the PEM it should");
    let other = tempfile::tempdir().unwrap();
    let key = std::fs::read(issued(other.path()).client.join(KEY)).unwrap();
    check(Pem { key, ..pem.clone() }, "the certificates do not work together");
    assert_eq!(format!("{pem:?}"), "Pem");
    std::fs::remove_file(folder.join(CERTIFICATE)).unwrap();
    let error = client(vec![Certificates::Folder(folder.clone())]).err().unwrap();
    assert_eq!(error.to_string(), format!("cannot read {}", folder.join(CERTIFICATE).display()));
}
