//! Instance principals and workload identities: real certificates, real exchanges, real signatures.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex as StdMutex};

use futures::future::join_all;
use jiff::SignedDuration;
use operations::{CallError, CallErrorKind};
use oraclecloud_emulator::{Fault, FaultKind};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

use crate::*;

/// The port on which an OKE cluster issues tokens.
const PROXYMUX: u16 = 12250;

/// Credentials from environment variables.
fn discover(variables: &[(&str, &str)]) -> Credentials {
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Credentials::discover(&move |name: &str| variables.get(name).cloned()).unwrap()
}

fn instance(server: &Server) -> Client {
    let (url, minute) = (server.metadata_url(), Duration::from_secs(60));
    let credentials = discover(&[("AUTH_TYPE", "instance_principal"), ("OCI_METADATA_BASE_URL", &url)]);
    client_as(server, credentials, minute)
}

async fn list(client: &Client) -> Result<usize, Error> {
    Ok(queue_api(client).list(&within(oraclecloud_emulator::COMPARTMENT)).await?.body.len())
}

/// The class and message of an error, as the operator puts it in a condition.
fn classified(error: Error) -> (CallErrorKind, String) {
    let trouble = CallError::from(error);
    (trouble.kind(), trouble.message)
}

#[tokio::test]
async fn an_instance_authenticates_by_its_certificate_and_exchanges_it_once() {
    let server = server(Script::default()).await;
    let client = instance(&server);
    let calls = (0..8).map(|_| list(&client));
    for result in join_all(calls).await {
        assert_eq!(result.unwrap(), 0);
    }
    create_queue(&client, "orders").await;
    assert_eq!(server.journal().count(Operation::IssueInstanceToken), 1);
    // Region, certificate, key and intermediate certificate, once each.
    assert_eq!(server.journal().count(Operation::GetInstanceMetadata), 4);
    assert!(server.journal().entries().iter().all(|entry| entry.status.is_some_and(|status| status < 300)));
}

#[tokio::test]
async fn a_token_is_renewed_with_the_rotated_certificate_without_failed_calls() {
    let server = server(Script::default()).await;
    server.set_token_lifetime(SignedDuration::from_secs(12));
    let client = instance(&server);
    list(&client).await.unwrap();
    server.rotate_instance();
    while server.journal().count(Operation::IssueInstanceToken) < 2 {
        list(&client).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    list(&client).await.unwrap();
    let refused = server.journal().entries().iter().filter(|entry| entry.status == Some(401)).count();
    assert_eq!(refused, 0);
}

#[tokio::test]
async fn a_replaced_certificate_is_rejected() {
    let server = server(Script::default()).await;
    // A rotation can always happen between the read of the certificate and the exchange.
    server.faults().inject_next(
        Operation::IssueInstanceToken,
        FaultKind::Refuse { status: 401, code: "NotAuthenticated".to_owned(), retry_after: None },
    );
    let (verdict, message) = classified(list(&instance(&server)).await.unwrap_err());
    assert_eq!(verdict, CallErrorKind::Denied);
    let expected = format!("{}/v1/x509 issued no token: 401 NotAuthenticated", server.url());
    assert!(message.contains(&expected), "{message}");
}

#[tokio::test]
async fn an_instance_that_moves_to_another_tenancy_is_rejected() {
    let server = server(Script::default()).await;
    server.set_token_lifetime(SignedDuration::from_secs(6));
    let client = instance(&server);
    list(&client).await.unwrap();
    server.move_instance("ocid1.tenancy.oc1..other");
    let message = loop {
        match list(&client).await.map_err(classified) {
            // The old token is used until it expires, and a busy machine may cause timeouts.
            Ok(_) | Err((CallErrorKind::Transient, _)) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err((_, message)) => break message,
        }
    };
    assert!(message.contains("to ocid1.tenancy.oc1..other; restart"), "{message}");
}

#[tokio::test]
async fn the_error_without_a_metadata_service_says_so() {
    let server = server(Script::default()).await;
    // A port without a listener.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nowhere = format!("http://{closed}/opc/v2");
    let check = async |variables: &[(&str, &str)], verdict: CallErrorKind, words: &str| {
        let client = client_as(&server, discover(variables), Duration::from_secs(60));
        let (found, message) = classified(list(&client).await.unwrap_err());
        assert_eq!(found, verdict, "{message}");
        assert!(message.contains(words), "{message}");
        assert!(message.contains(&nowhere), "{message}");
    };
    let asked = [("AUTH_TYPE", "instance_principal"), ("OCI_METADATA_BASE_URL", nowhere.as_str())];
    // It is expected to exist, so the error may be temporary.
    check(&asked, CallErrorKind::Transient, "an instance principal needs an instance of Oracle Cloud").await;
    // It was not asked for, so waiting does not help.
    check(
        &asked[1..],
        CallErrorKind::Denied,
        "no credentials are configured: there is no Secret ocicredentials",
    )
    .await;
}

#[tokio::test]
async fn without_credentials_the_instance_is_asked() {
    let server = server(Script::default()).await;
    let url = server.metadata_url();
    let client = || client_as(&server, discover(&[("OCI_METADATA_BASE_URL", &url)]), Duration::from_secs(60));
    assert_eq!(list(&client()).await.unwrap(), 0);
    // Something else may respond at that address; only a successful response shows that it is Oracle Cloud.
    let refuse = |status| FaultKind::Refuse { status, code: "Denied".to_owned(), retry_after: None };
    server.faults().inject_next(Operation::GetInstanceMetadata, refuse(403));
    let (verdict, message) = classified(list(&client()).await.unwrap_err());
    assert_eq!(verdict, CallErrorKind::Denied);
    assert!(message.contains("no credentials are configured"), "{message}");
    let count = u32::try_from(server.journal().count(Operation::GetInstanceMetadata)).unwrap();
    server.faults().inject(Fault {
        operation: Operation::GetInstanceMetadata,
        nth: count + 2,
        times: 1,
        kind: refuse(503),
    });
    let (verdict, message) = classified(list(&client()).await.unwrap_err());
    assert_eq!(verdict, CallErrorKind::Transient, "{message}");
    assert!(message.contains("does not return the certificate"), "{message}");
}

#[tokio::test]
async fn errors_of_the_identity_services_are_reported_and_temporary() {
    let server = server(Script::default()).await;
    let refuse = |status, code: &str| FaultKind::Refuse { status, code: code.to_owned(), retry_after: None };
    for (operation, fault, verdict, words) in [
        (
            Operation::GetInstanceMetadata,
            refuse(404, "NotFound"),
            CallErrorKind::Denied,
            "does not return the region",
        ),
        (
            Operation::GetInstanceMetadata,
            refuse(503, "Unavailable"),
            CallErrorKind::Transient,
            "does not return the region",
        ),
        (
            Operation::IssueInstanceToken,
            refuse(500, "InternalError"),
            CallErrorKind::Transient,
            "issued no token",
        ),
        (
            Operation::IssueInstanceToken,
            FaultKind::ResetBefore,
            CallErrorKind::Transient,
            "broke before a response",
        ),
        (
            Operation::IssueInstanceToken,
            FaultKind::Body("{}".to_owned()),
            CallErrorKind::Denied,
            "the response contains none",
        ),
        (
            Operation::IssueInstanceToken,
            FaultKind::Body(r#"{"token": "a.b.c"}"#.to_owned()),
            CallErrorKind::Denied,
            "the token has no expiry",
        ),
    ] {
        server.faults().inject(Fault { operation, nth: 1, times: u32::MAX, kind: fault });
        let client = instance(&server);
        let (found, message) = classified(list(&client).await.unwrap_err());
        assert_eq!(found, verdict, "{message}");
        assert!(message.contains(words), "{message}");
        server.faults().clear();
        // A failed exchange is not repeated at once; other clients are not affected.
        let asked = server.journal().count(Operation::IssueInstanceToken);
        if operation == Operation::IssueInstanceToken {
            assert!(list(&client).await.is_err());
            assert_eq!(server.journal().count(Operation::IssueInstanceToken), asked);
        }
        assert_eq!(list(&instance(&server)).await.unwrap(), 0);
    }
}

/// A cluster that issues tokens for its pods: a TLS proxy before the server.
pub(crate) struct Cluster {
    pub(crate) host: Ipv4Addr,
    folder: TempDir,
}

impl Cluster {
    /// `number` makes the address unique among tests.
    pub(crate) async fn start(server: &Server, number: u8) -> Self {
        let host = Ipv4Addr::new(127, 122, 50, number);
        let identity = rcgen::generate_simple_self_signed([host.to_string()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.crt"), identity.cert.pem()).unwrap();
        fs::write(folder.path().join("token"), "account-1\n").unwrap();
        server.trust_account("account-1");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der()));
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let config = rustls::ServerConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.cert.der().clone()], key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(SocketAddr::from((host, PROXYMUX))).await.unwrap();
        let to = server.url().trim_start_matches("http://").to_owned();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, to) = (acceptor.clone(), to.clone());
                tokio::spawn(async move {
                    let mut inside = TcpStream::connect(to).await.unwrap();
                    if let Ok(mut outside) = acceptor.accept(stream).await {
                        let _ended = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                    }
                });
            }
        });
        Self { host, folder }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pod(&self, server: &Server) -> Client {
        let (host, token, authority) = (
            self.host.to_string(),
            self.file("token").display().to_string(),
            self.file("ca.crt").display().to_string(),
        );
        let credentials = discover(&[
            ("AUTH_TYPE", "oke_workload_identity"),
            ("KUBERNETES_SERVICE_HOST", &host),
            ("OCI_KUBERNETES_SERVICE_ACCOUNT_TOKEN_PATH", &token),
            ("OCI_KUBERNETES_SERVICE_ACCOUNT_CERT_PATH", &authority),
            ("OCI_RESOURCE_PRINCIPAL_VERSION", "2.2"),
            ("OCI_RESOURCE_PRINCIPAL_REGION", "us-phoenix-1"),
        ]);
        client_as(server, credentials, Duration::from_secs(60))
    }
}

#[tokio::test]
async fn a_pod_authenticates_by_its_account_token_which_can_be_replaced() {
    let server = server(Script::default()).await;
    server.set_token_lifetime(SignedDuration::from_secs(12));
    let cluster = Cluster::start(&server, 1).await;
    let client = cluster.pod(&server);
    list(&client).await.unwrap();
    create_queue(&client, "orders").await;
    server.trust_account("account-2");
    fs::write(cluster.file("token"), "account-2").unwrap();
    while server.journal().count(Operation::IssueWorkloadToken) < 2 {
        list(&client).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    list(&client).await.unwrap();
    assert_eq!(server.journal().entries().iter().filter(|entry| entry.status == Some(401)).count(), 0);
}

#[tokio::test]
async fn errors_of_a_workload_identity_name_their_cause() {
    let server = server(Script::default()).await;
    let cluster = Cluster::start(&server, 2).await;
    let check = async |verdict: CallErrorKind, words: &str| {
        let (found, message) = classified(list(&cluster.pod(&server)).await.unwrap_err());
        assert_eq!(found, verdict, "{message}");
        assert!(message.contains(words), "{message}");
    };
    let forbidden = FaultKind::Refuse { status: 403, code: "Forbidden".to_owned(), retry_after: None };
    server.faults().inject_next(Operation::IssueWorkloadToken, forbidden);
    check(CallErrorKind::Denied, "workload identities need an enhanced cluster").await;
    server.faults().inject_next(Operation::IssueWorkloadToken, FaultKind::Body("\"bm8=\"".to_owned()));
    check(CallErrorKind::Denied, "the response contains none").await;
    fs::write(cluster.file("token"), "another-account").unwrap();
    check(CallErrorKind::Denied, "The service account is unknown.").await;
    let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap();
    fs::write(cluster.file("ca.crt"), other.cert.pem()).unwrap();
    check(CallErrorKind::Transient, "cannot be reached").await;
    fs::write(cluster.file("ca.crt"), "none").unwrap();
    check(CallErrorKind::Denied, "contains no CA certificate").await;
    fs::remove_file(cluster.file("token")).unwrap();
    check(
        CallErrorKind::Denied,
        "a workload identity needs the token and the CA certificate of a service account",
    )
    .await;
}

#[derive(Clone, Default)]
struct Log(Arc<StdMutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn neither_keys_nor_tokens_are_logged_or_printed() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let server = server(Script::default()).await;
    let cluster = Cluster::start(&server, 3).await;
    // For all threads: the logs of other tests must not contain secrets either.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    for client in [instance(&server), cluster.pod(&server)] {
        list(&client).await.unwrap();
        server.faults().inject_next(Operation::ListQueues, FaultKind::Html(401));
        let error = list(&client).await.unwrap_err();
        let shown = format!("{client:?} {error:?} {error}") + &CallError::from(error).message;
        log.clone().write_all(shown.as_bytes()).unwrap();
    }
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("received a new token"), "{text}");
    // The prefixes of JWTs, of PEM files, and of PKCS #8 in Base64.
    for secret in ["ST$", "eyJ", "PRIVATE KEY", "MIIEv", "account-1", "Signature version"] {
        assert!(!text.contains(secret), "{secret} is in\n{text}");
    }
}
