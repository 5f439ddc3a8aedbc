use std::collections::BTreeMap;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::key::testing;

#[test]
fn a_value_cannot_change_the_path_or_query() {
    let queue = crate::Catalogue::standard().get("queue/Queue").unwrap();
    let check = |path: &[&str], query: &[(&str, &str)], expected: &str| {
        let request = query.iter().fold(
            Request::new("Test", Target::of(queue.service), Method::GET, path),
            |request, (name, value)| request.query(name, value),
        );
        assert_eq!(request.target, expected);
        assert!(expected.parse::<http::Uri>().is_ok());
    };
    check(&["queues"], &[], "/queues");
    check(&["queues", "ocid1.queue.oc1..a"], &[], "/queues/ocid1.queue.oc1..a");
    check(&["queues", "../workRequests?x#y"], &[], "/queues/..%2FworkRequests%3Fx%23y");
    check(&["queues"], &[("a", "1&b=2"), ("page", "é 100%")], "/queues?a=1%26b%3D2&page=%C3%A9%20100%25");
}

/// Responds to one request over TLS and returns the request.
async fn respond_once(
    listener: tokio::net::TcpListener,
    identity: rcgen::CertifiedKey<rcgen::KeyPair>,
) -> String {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der()));
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let config = rustls::ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key)
        .unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let Ok(mut stream) = tokio_rustls::TlsAcceptor::from(Arc::new(config)).accept(stream).await else {
        return String::new();
    };
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let response = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\nopc-request-id: A/B/C\r\n\r\n{\"id\": \"q\"}";
    stream.write_all(response).await.unwrap();
    stream.shutdown().await.unwrap();
    String::from_utf8(request).unwrap()
}

async fn get_over_tls(trusted: bool) -> (Result<Response<Value>, Error>, String) {
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    if trusted {
        roots.add(identity.cert.der().clone()).unwrap();
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut endpoints = Endpoints::default();
    endpoints.add(&format!("https://localhost:{}", listener.local_addr().unwrap().port())).unwrap();
    let entries = [
        ("tenancy", "t"),
        ("user", "u"),
        ("fingerprint", testing::FINGERPRINT),
        ("privatekey", testing::PEM),
        ("region", "phx"),
    ];
    let entries: BTreeMap<String, SecretString> =
        entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let client = Client::new(
        Credentials::from_secret(&entries).unwrap(),
        Connections::trusting_only(roots),
        Settings { endpoints, ..Settings::default() },
        &|_| None,
    )
    .unwrap();
    let queues = client.resources(crate::Catalogue::standard().get("queue/Queue").unwrap());
    tokio::join!(queues.get("q"), respond_once(listener, identity))
}

#[tokio::test]
async fn a_call_over_tls_is_signed_for_its_host() {
    let (response, request) = get_over_tls(true).await;
    assert_eq!(response.unwrap().body, serde_json::json!({"id": "q"}));
    assert!(request.starts_with("GET /20210201/queues/q HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nhost: localhost:"), "{request}");
    assert!(request.contains("keyId=\"t/u/a5:43:"), "{request}");
}

#[tokio::test]
async fn an_untrusted_server_gets_no_request() {
    let (response, request) = get_over_tls(false).await;
    assert_eq!(request, "");
    let error = response.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unreachable { .. }), "{error:?}");
    let message = operations::CallError::from(error).message;
    assert!(message.contains("UnknownIssuer"), "{message}");
}
