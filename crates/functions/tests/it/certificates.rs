//! Which certificates are accepted, and what happens when they are replaced.

use std::fs;
use std::path::Path;

use composition::RunErrorClass;
use composition::protocol::{RunRequest, RunResponse};
use functions::certs::Issued;
use functions::{Certificates, FunctionError, response};
use jiff::{Timestamp, ToSpan};

use crate::fixture::{Engine, certificates, certificates_at, impatient, patient, serve};

async fn echo(request: RunRequest) -> Result<RunResponse, FunctionError> {
    Ok(response::to(&request))
}

/// Calls a function that has the certificates in `server` and expects to be refused.
async fn check(server: &Path, client: Option<&Path>, expected: &str) {
    let served = serve(echo, Some(server)).await;
    let error = Engine::of(impatient(client), &served.endpoint).call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Unavailable);
    assert!(error.message.contains("cannot reach the function at 127.0.0.1:"), "{error}");
    assert!(error.message.contains(expected), "{expected}: {error}");
}

/// A copy of `issued.client` that trusts what `trusted` trusts.
fn trusting(issued: &Issued, trusted: &Issued, out: &Path) {
    fs::create_dir_all(out).unwrap();
    for (folder, name) in
        [(&issued.client, "tls.crt"), (&issued.client, "tls.key"), (&trusted.client, "ca.crt")]
    {
        fs::copy(folder.join(name), out.join(name)).unwrap();
    }
}

#[tokio::test]
async fn a_function_of_another_authority_is_not_called() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (ours, theirs) = (certificates(ours.path()), certificates(theirs.path()));
    check(&theirs.server, Some(&ours.client), "TLS failed: invalid peer certificate: UnknownIssuer").await;
}

#[tokio::test]
async fn an_engine_of_another_authority_is_refused() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mixed = theirs.path().join("mixed");
    let (ours, theirs) = (certificates(ours.path()), certificates(theirs.path()));
    trusting(&theirs, &ours, &mixed);
    check(&ours.server, Some(&mixed), "received fatal alert").await;
}

#[tokio::test]
async fn an_engine_that_gets_certificates_later_is_accepted_then() {
    let out = tempfile::tempdir().unwrap();
    let issued = certificates(out.path());
    let served = serve(echo, Some(&issued.server)).await;
    let engine = Engine::of(impatient(None), &served.endpoint);
    assert_eq!(engine.call().await.unwrap_err().class, RunErrorClass::Unavailable);
    engine.functions.set_certificates(vec![Certificates::Folder(issued.client)]).unwrap();
    engine.call().await.unwrap();
}

#[tokio::test]
async fn an_engine_shows_each_function_the_certificate_it_asks_for() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (ours, theirs) = (certificates(ours.path()), certificates(theirs.path()));
    for server in [&ours.server, &theirs.server] {
        let served = serve(echo, Some(server)).await;
        let engine = Engine::of(impatient(None), &served.endpoint);
        let both = [&ours.client, &theirs.client].map(|folder| Certificates::Folder(folder.clone()));
        engine.functions.set_certificates(both.to_vec()).unwrap();
        engine.call().await.unwrap();
    }
}

#[tokio::test]
async fn an_engine_without_a_certificate_is_refused() {
    let out = tempfile::tempdir().unwrap();
    check(
        &certificates(out.path()).server,
        None,
        "the server does not speak gRPC in plaintext; it may require certificates",
    )
    .await;
}

#[tokio::test]
async fn expired_certificates_are_refused_on_either_side() {
    let (out, old) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let now = Timestamp::now();
    let long_ago = now - (24 * 30).hours();
    // The authority outlives the certificates it issued.
    certificates_at(out.path(), long_ago, 60);
    let expired = certificates_at(out.path(), long_ago, 7);
    let old_client = old.path().join("client");
    trusting(&expired, &expired, &old_client);
    let old_server = old.path().join("server");
    fs::create_dir(&old_server).unwrap();
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        fs::copy(expired.server.join(name), old_server.join(name)).unwrap();
    }
    let current = certificates_at(out.path(), now, 7);
    check(&old_server, Some(&current.client), "TLS failed: invalid peer certificate: certificate expired")
        .await;
    check(&current.server, Some(&old_client), "received fatal alert: CertificateExpired").await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let out = tempfile::tempdir().unwrap();
    let issued =
        functions::certs::issue(out.path(), &functions::certs::IssueOptions::new("other"), Timestamp::now())
            .unwrap();
    check(
        &issued.server,
        Some(&issued.client),
        "TLS failed: invalid peer certificate: certificate not valid for name",
    )
    .await;
}

#[tokio::test]
async fn both_sides_use_replaced_certificates_for_new_connections() {
    let (out, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let issued = certificates(out.path());
    let former = out.path().join("former");
    trusting(&issued, &issued, &former);
    let served = serve(echo, Some(&issued.server)).await;
    let engine = Engine::of(patient(Some(&issued.client)), &served.endpoint);
    engine.call().await.unwrap();

    // Another authority altogether.
    let renewed = certificates(new.path());
    for (from, to) in [(&renewed.client, &issued.client), (&renewed.server, &issued.server)] {
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
    engine.call().await.expect("an open connection stays open");
    // Written differently, the endpoint gets a new channel.
    engine.move_to("fn", &format!("dns:///{}", served.endpoint));
    engine.call().await.expect("new connections use the new certificates");
    let late = Engine::of(impatient(Some(&former)), &served.endpoint);
    let error = late.call().await.unwrap_err();
    assert!(error.message.contains("invalid peer certificate"), "{error}");
}
