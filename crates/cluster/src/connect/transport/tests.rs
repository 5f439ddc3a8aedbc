//! Tests against servers on loopback that speak TLS, break off, or refuse connections.

mod dead;

use std::sync::Mutex as StdMutex;
use std::sync::atomic::Ordering;

use base64::Engine as _;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::connect::{Environment, endpoint};
use crate::error::{Class, Error, ErrorKind, ResponseLimit, Subject, Verb};
use crate::request::{Call, Reply};
use crate::{Connection, Exec, Secret, Session};

/// The requests received, head and body.
type Heads = Arc<StdMutex<Vec<String>>>;

/// A server that responds to each request with the next of `answers`, repeating the last one. An empty answer closes
/// the connection.
async fn serve(answers: Vec<String>, tls: Option<tokio_rustls::TlsAcceptor>) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heads: Heads = Heads::default();
    let (seen, answers) = (Arc::clone(&heads), Arc::new(StdMutex::new(answers)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (seen, answers, tls) = (Arc::clone(&seen), Arc::clone(&answers), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => converse(stream, &seen, &answers).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            converse(stream, &seen, &answers).await;
                        }
                    }
                }
            });
        }
    });
    (address, heads)
}

async fn converse<S>(mut stream: S, seen: &Heads, answers: &StdMutex<Vec<String>>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read) = stream.read(&mut buffer).await {
        if read == 0 {
            return;
        }
        seen.lock().unwrap().push(String::from_utf8_lossy(&buffer[..read]).into_owned());
        let answer = {
            let mut answers = answers.lock().unwrap();
            if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
        };
        if answer.is_empty() || stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        if answer.contains("half") {
            return;
        }
    }
}

fn json(code: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn unauthorized() -> String {
    json(
        "401 Unauthorized",
        r#"{"kind":"Status","code":401,"reason":"Unauthorized","message":"Unauthorized"}"#,
    )
}

fn to(address: &str) -> Connection {
    Connection {
        host: Some(format!("http://{address}/prefix")),
        insecure: true,
        token: Some("hunter2".into()),
        ..Connection::default()
    }
}

async fn get(connection: &Connection) -> Result<Reply, Error> {
    get_with(&open(connection)).await
}

fn open(connection: &Connection) -> Session {
    Session::connect(connection, &Environment::default(), "plimsoll/test").unwrap()
}

async fn get_with(session: &Session) -> Result<Reply, Error> {
    let outcome = session.send(&Call::get(Verb::Read, Subject::Cluster, "/version?x=1".to_owned())).await;
    if let Err(error) = &outcome {
        let text = format!("{error:?} {:?}", error.diagnostic("Read"));
        assert!(!text.contains("hunter2"), "{text}");
    }
    outcome
}

#[tokio::test]
async fn requests_carry_credentials_and_impersonation() {
    let (address, heads) = serve(vec![json("200 OK", "{}")], None).await;
    let mut connection = to(&address);
    connection.impersonate = Some(Impersonate {
        user: Some("jane".to_owned()),
        uid: Some("7".to_owned()),
        groups: vec!["dev".to_owned(), "ops".to_owned()],
        extra: [("example.com/team".to_owned(), vec!["a".to_owned()])].into(),
    });
    get(&connection).await.unwrap();
    let head = heads.lock().unwrap()[0].clone();
    assert!(head.starts_with("GET /prefix/version?x=1 HTTP/1.1\r\n"), "{head}");
    let lines: Vec<&str> = head.lines().collect();
    for expected in [
        "authorization: Bearer hunter2",
        "user-agent: plimsoll/test",
        "impersonate-user: jane",
        "impersonate-uid: 7",
        "impersonate-group: dev",
        "impersonate-group: ops",
        "impersonate-extra-example.com%2fteam: a",
    ] {
        assert!(lines.contains(&expected), "{expected} in {head}");
    }
}

#[tokio::test]
async fn a_rejected_token_is_reported() {
    let (address, heads) = serve(vec![unauthorized()], None).await;
    let error = get(&to(&address)).await.unwrap_err();
    assert_eq!(error.class(), Class::AuthenticationFailed);
    // A fixed token cannot be renewed, so nothing is sent twice.
    assert_eq!(heads.lock().unwrap().len(), 1);
}

/// A plugin that prints a new token each time: `t1`, `t2` …
fn counting_plugin(folder: &std::path::Path, expires: &str) -> Exec {
    let count = folder.join("count").display().to_string();
    let script = format!(
        r#"n=$(($(cat {count} 2>/dev/null || echo 0)+1)); echo $n > {count}
echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"t'$n'"{expires}}}}}'"#
    );
    Exec {
        api_version: "client.authentication.k8s.io/v1".to_owned(),
        command: "sh".to_owned(),
        args: vec!["-c".into(), Secret::from(script)],
        ..Exec::default()
    }
}

fn tokens(heads: &Heads) -> Vec<String> {
    let heads = heads.lock().unwrap();
    let line = |head: &String| {
        head.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap_or("-").to_owned()
    };
    heads.iter().map(line).collect()
}

#[tokio::test]
async fn a_plugin_runs_once_until_its_token_expires_or_is_rejected() {
    let check = async |expires: &str, answers: Vec<String>, requests: usize, expected: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let (address, heads) = serve(answers, None).await;
        let mut connection = to(&address);
        connection.token = None;
        connection.exec = Some(counting_plugin(folder.path(), expires));
        let session = open(&connection);
        for _ in 0..requests {
            let _ = get_with(&session).await;
        }
        assert_eq!(tokens(&heads), expected);
    };
    let fine = || json("200 OK", "{}");
    check("", vec![fine()], 3, &["t1", "t1", "t1"]).await;
    check(r#","expirationTimestamp":"2999-01-01T00:00:00Z""#, vec![fine()], 2, &["t1", "t1"]).await;
    check(r#","expirationTimestamp":"2001-01-01T00:00:00Z""#, vec![fine()], 2, &["t1", "t2"]).await;
    check("", vec![fine(), unauthorized(), fine()], 2, &["t1", "t1", "t2"]).await;
    // Rejected again: the rejection is the response, and the next request tries again.
    check("", vec![unauthorized()], 1, &["t1", "t2"]).await;
}

#[tokio::test]
async fn a_failing_plugin_is_the_error() {
    let (address, heads) = serve(vec![json("200 OK", "{}")], None).await;
    let mut connection = to(&address);
    connection.token = None;
    connection.exec = Some(Exec {
        api_version: "client.authentication.k8s.io/v1beta1".to_owned(),
        command: "false".to_owned(),
        ..Exec::default()
    });
    let error = get(&connection).await.unwrap_err();
    assert_eq!(error.class(), Class::AuthenticationFailed);
    let diagnostic = error.diagnostic("Create");
    assert_eq!(diagnostic.summary, "Create: Authentication Failed");
    assert!(
        diagnostic.detail.contains("exec plugin \"false\" failed (exit status: 1)"),
        "{}",
        diagnostic.detail
    );
    assert_eq!(heads.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_token_file_is_reread_when_the_token_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "t1\n").unwrap();
    let (address, heads) =
        serve(vec![json("200 OK", "{}"), unauthorized(), json("200 OK", "{}")], None).await;
    let kubeconfig = format!(
        "apiVersion: v1\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\nusers: [{{name: u, user: {{tokenFile: '{}'}}}}]",
        file.display()
    );
    let connection = Connection::from_kubeconfig(kubeconfig, None);
    let session = open(&connection);
    get_with(&session).await.unwrap();
    std::fs::write(&file, "t2").unwrap();
    get_with(&session).await.unwrap();
    assert_eq!(tokens(&heads), ["t1", "t1", "t2"]);
}

#[tokio::test]
async fn a_broken_response_is_retried() {
    // Closed without a response, and in the middle of one.
    let half = json("200 OK", r#"{"half":""#).replace("content-length: 9", "content-length: 99");
    for broken in [String::new(), half] {
        let (address, heads) = serve(vec![broken, json("200 OK", "{}")], None).await;
        let reply = get(&to(&address)).await.unwrap();
        assert_eq!(reply.retries.len(), 1);
        assert_eq!(heads.lock().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_response_that_always_breaks_is_reported() {
    let (address, heads) = serve(vec![String::new()], None).await;
    let error = get(&to(&address)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::BrokenResponse(_)), "{error:?}");
    assert_eq!(error.retries().len(), 5);
    assert!(heads.lock().unwrap().len() >= 6);
    assert!(error.diagnostic("Read").detail.contains("Tried 6 times"));
}

#[tokio::test]
async fn a_response_that_is_not_json_is_a_broken_response() {
    let (address, _) = serve(vec![json("200 OK", r#"{"a": "#)], None).await;
    let error = get(&to(&address)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::BrokenResponse(_)), "{error:?}");
    assert!(error.retries().is_empty());
}

#[tokio::test]
async fn a_closed_port_is_a_failed_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = get(&to(&address)).await.unwrap_err();
    assert_eq!(error.class(), Class::ConnectionFailed);
    assert_eq!(error.retries().len(), 5);
    let diagnostic = error.diagnostic("Plan");
    assert_eq!(diagnostic.summary, "Plan: Cluster Connection Failed");
    assert!(diagnostic.detail.contains("refused"), "{}", diagnostic.detail);
    let place = format!("Could not read the cluster at http://{address}: cannot connect");
    assert!(diagnostic.detail.starts_with(&place), "{}", diagnostic.detail);
    assert_eq!(error.to_string(), format!("cannot read the cluster at http://{address}"));
}

#[tokio::test]
async fn a_silent_server_or_proxy_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let check = async |connection: Connection, place: &str| {
        let endpoint = endpoint::resolve(&connection, &Environment::default()).unwrap();
        assert_eq!(endpoint.to_string(), place);
        let transport =
            Transport::with_timeouts(endpoint, "plimsoll/test", Duration::from_millis(100), DEAD_AFTER)
                .unwrap();
        let session = Session::new(kube::Client::new(transport, "default"));
        let error = get_with(&session).await.unwrap_err();
        assert_eq!(error.class(), Class::ConnectionFailed);
        assert!(error.retries().is_empty(), "{error:?}");
        let detail = error.diagnostic("Plan").detail;
        assert!(detail.contains("timed out"), "{detail}");
    };
    let host = format!("https://{address}");
    check(Connection { host: Some(host.clone()), ..to("") }, &host).await;
    let proxied = |scheme: &str| Connection {
        host: Some("https://k8s.example.com/prefix".to_owned()),
        proxy_url: Some(Secret::from(format!("{scheme}://user:hunter2@{address}"))),
        ..to("")
    };
    for scheme in ["http", "https", "socks5"] {
        check(proxied(scheme), &format!("https://k8s.example.com through {scheme}://{address}")).await;
    }
}

#[tokio::test]
async fn a_response_that_is_too_large_is_not_read() {
    // Announced, so it is rejected before the first byte.
    let announced = "HTTP/1.1 200 OK\r\ncontent-length: 1099511627776\r\n\r\n".to_owned();
    let (address, heads) = serve(vec![announced], None).await;
    let error = get(&to(&address)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ResponseTooLarge(ResponseLimit::Bytes(_))), "{error:?}");
    assert!(!error.is_server_fault() && error.retries().is_empty(), "{error:?}");
    assert_eq!(heads.lock().unwrap().len(), 1);
    let diagnostic = error.diagnostic("Read");
    assert!(diagnostic.detail.ends_with("the server's response is larger than 256 MiB"), "{diagnostic:?}");
    assert!(diagnostic.hint.is_some());

    // Not announced, and cut off at the limit.
    let chunk = format!("2000\r\n{}\r\n", "x".repeat(0x2000));
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}", chunk.repeat(4));
    let (address, _) = serve(vec![chunked], None).await;
    let call = Call::get(Verb::Read, Subject::Cluster, "/".to_owned()).max_bytes(0x3000);
    let error = open(&to(&address)).send(&call).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ResponseTooLarge(ResponseLimit::Bytes(0x3000))), "{error:?}");
}

#[tokio::test]
async fn an_expired_id_token_is_not_sent() {
    let (address, heads) = serve(vec![json("200 OK", "{}")], None).await;
    let kubeconfig = |claims: &str| {
        let token = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(claims);
        format!(
            "apiVersion: v1\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
             users: [{{name: u, user: {{auth-provider: {{name: oidc, config: {{id-token: hunter2.{token}.s}}}}}}}}]",
        )
    };
    let session = |claims: &str| open(&Connection::from_kubeconfig(kubeconfig(claims), None));
    get_with(&session(r#"{"exp":32503680000}"#)).await.unwrap();
    let error = get_with(&session(r#"{"exp":1700000000}"#)).await.unwrap_err();
    assert_eq!(error.class(), Class::AuthenticationFailed);
    let diagnostic = error.diagnostic("Plan");
    assert!(diagnostic.detail.contains("expired at 2023-11-14T22:13:20Z"), "{}", diagnostic.detail);
    assert!(diagnostic.hint.unwrap().contains("oidc-login"));
    assert_eq!(heads.lock().unwrap().len(), 1);
}

/// A certificate authority that can issue certificates for a name.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    fn pem(&self) -> Secret {
        Secret::from(self.issuer.pem())
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// The server side of TLS; if `mutual`, it requires client certificates of this authority.
    fn acceptor(&self, name: &str, mutual: bool) -> tokio_rustls::TlsAcceptor {
        let _: Result<(), _> = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let (certificate, key) = self.issue(name);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let builder = rustls::ServerConfig::builder();
        let builder = if mutual {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        tokio_rustls::TlsAcceptor::from(Arc::new(config))
    }
}

#[tokio::test]
async fn a_server_s_certificate_must_be_trusted() {
    let authority = Authority::new();
    let (address, _) = serve(vec![json("200 OK", "{}")], Some(authority.acceptor("127.0.0.1", false))).await;
    let secure = |ca: Option<Secret>| Connection {
        host: Some(format!("https://{address}")),
        cluster_ca_certificate: ca,
        insecure: false,
        ..to("")
    };
    get(&secure(Some(authority.pem()))).await.unwrap();
    get(&Connection { insecure: true, ..secure(None) }).await.unwrap();

    let error = get(&secure(Some(Authority::new().pem()))).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Tls(_)), "{error:?}");
    assert!(error.retries().is_empty(), "a wrong certificate does not get better");
    let diagnostic = error.diagnostic("Plan");
    assert_eq!(diagnostic.summary, "Plan: Cluster Connection Failed");
    assert!(diagnostic.hint.unwrap().contains("cluster_ca_certificate"));

    let named =
        Connection { tls_server_name: Some("kubernetes".to_owned()), ..secure(Some(authority.pem())) };
    assert!(matches!(get(&named).await.unwrap_err().kind(), ErrorKind::Tls(_)));
    let (address, _) = serve(vec![json("200 OK", "{}")], Some(authority.acceptor("kubernetes", false))).await;
    get(&Connection { host: Some(format!("https://{address}")), ..named }).await.unwrap();
}

/// A server whose certificate can be replaced, and which closes every connection after one response.
async fn serve_rotating(
    first: tokio_rustls::TlsAcceptor,
) -> (String, Arc<StdMutex<tokio_rustls::TlsAcceptor>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let current = Arc::new(StdMutex::new(first));
    let acceptor = Arc::clone(&current);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.lock().unwrap().clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut request = vec![0; 16 * 1024];
                let _read = stream.read(&mut request).await;
                let response = json("200 OK", "{}").replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
                let _written = stream.write_all(response.as_bytes()).await;
                let _closed = stream.shutdown().await;
            });
        }
    });
    (address, current)
}

#[tokio::test]
async fn a_rotated_certificate_authority_is_trusted_once_its_file_has_it() {
    let (old, new) = (Authority::new(), Authority::new());
    let (address, served) = serve_rotating(old.acceptor("127.0.0.1", false)).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, old.pem().expose()).unwrap();
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": format!("https://{address}"), "certificate-authority": file } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
        "users": [{ "name": "c", "user": { "token": "hunter2" } }],
    });
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let session = open(&Connection { config_paths: vec![path], ..Connection::default() });
    get_with(&session).await.unwrap();

    *served.lock().unwrap() = new.acceptor("127.0.0.1", false);
    let error = get_with(&session).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Tls(_)), "{error:?}");
    std::fs::write(&file, new.pem().expose()).unwrap();
    let (one, other) = tokio::join!(get_with(&session), get_with(&session));
    one.unwrap();
    other.unwrap();
}

#[tokio::test]
async fn client_certificates_come_from_settings_or_plugins() {
    let authority = Authority::new();
    let (address, _) = serve(vec![json("200 OK", "{}")], Some(authority.acceptor("127.0.0.1", true))).await;
    let mut connection = Connection {
        host: Some(format!("https://{address}")),
        cluster_ca_certificate: Some(authority.pem()),
        token: Some("t".into()),
        ..Connection::default()
    };
    assert!(get(&connection).await.is_err());

    let (certificate, key) = authority.issue("jane");
    let printed = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": { "clientCertificateData": certificate.pem(), "clientKeyData": key.serialize_pem() },
    });
    connection.client_certificate = Some(Secret::from(certificate.pem()));
    connection.client_key = Some(Secret::from(key.serialize_pem()));
    get(&connection).await.unwrap();

    connection.client_certificate = None;
    connection.client_key = None;
    connection.token = None;
    connection.exec = Some(Exec {
        api_version: "client.authentication.k8s.io/v1".to_owned(),
        command: "cat".to_owned(),
        args: vec![],
        env: std::collections::BTreeMap::new(),
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), printed.to_string()).unwrap();
    connection.exec.as_mut().unwrap().args = vec![Secret::from(file.path().display().to_string())];
    get(&connection).await.unwrap();
}

#[tokio::test]
async fn proxies_of_all_schemes_are_used() {
    // The proxy accepts the tunnel and then plays the server itself.
    let tunnel = "HTTP/1.1 200 Connection established\r\n\r\n".to_owned();
    let (address, heads) = serve(vec![tunnel, json("200 OK", "{}")], None).await;
    let mut connection = to("k8s.example.com:80");
    connection.proxy_url = Some(Secret::from(format!("http://user:pass@{address}")));
    get(&connection).await.unwrap();
    let first = heads.lock().unwrap()[0].clone();
    assert!(first.starts_with("CONNECT k8s.example.com:80 HTTP/1.1\r\n"), "{first}");
    assert!(first.to_lowercase().contains("proxy-authorization: basic dxnlcjpwyxnz"), "{first}");

    // SOCKS 5: no authentication, then connected to 0.0.0.0:0.
    let socks = vec!["\u{5}\0".to_owned(), "\u{5}\0\0\u{1}\0\0\0\0\0\0".to_owned(), json("200 OK", "{}")];
    let (address, heads) = serve(socks, None).await;
    connection.proxy_url = Some(Secret::from(format!("socks5://{address}")));
    get(&connection).await.unwrap();
    assert!(heads.lock().unwrap()[1].contains("k8s.example.com"));

    // A proxy that refuses the tunnel is a failed connection, and its password is not shown.
    let (address, _) =
        serve(vec!["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n".to_owned()], None).await;
    connection.proxy_url = Some(Secret::from(format!("http://user:hunter2@{address}")));
    let error = get(&connection).await.unwrap_err();
    assert_eq!(error.class(), Class::ConnectionFailed);
}

/// A proxy's certificate is checked against the system's roots, which only a separate process can change.
#[tokio::test]
async fn a_tls_proxy_is_used_and_must_be_trusted() {
    const PROXY: &str = "PLIMSOLL_TEST_HTTPS_PROXY";
    if let Ok(proxy) = std::env::var(PROXY) {
        let outcome =
            get(&Connection { proxy_url: Some(Secret::from(proxy)), ..to("k8s.example.com:80") }).await;
        if std::env::var("SSL_CERT_FILE").is_ok() {
            outcome.unwrap();
        } else {
            let error = outcome.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Tls(_)), "{error:?}");
        }
        return;
    }
    let authority = Authority::new();
    let tunnel = "HTTP/1.1 200 Connection established\r\n\r\n".to_owned();
    let answers = vec![tunnel, json("200 OK", "{}")];
    let (address, heads) = serve(answers, Some(authority.acceptor("127.0.0.1", false))).await;
    let certificate = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(certificate.path(), authority.pem().expose()).unwrap();
    let name = "connect::transport::tests::a_tls_proxy_is_used_and_must_be_trusted";
    let run = async |trusted: bool| {
        let mut process = tokio::process::Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", name, "--nocapture"]).env(PROXY, format!("https://{address}"));
        process.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        if trusted {
            process.env("SSL_CERT_FILE", certificate.path());
        }
        let output = process.output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    };
    run(false).await;
    assert!(heads.lock().unwrap().is_empty());
    run(true).await;
    let first = heads.lock().unwrap()[0].clone();
    assert!(first.starts_with("CONNECT k8s.example.com:80 HTTP/1.1\r\n"), "{first}");
}

#[test]
fn the_server_s_path_prefixes_request_paths() {
    let check = |server: &str, path: &str, expected: &str| {
        assert_eq!(join(&server.parse().unwrap(), &path.parse().unwrap()).to_string(), expected);
    };
    check("https://k8s", "/api?x=1", "https://k8s/api?x=1");
    check("https://k8s:6443/", "/api", "https://k8s:6443/api");
    check("https://rancher/k8s/clusters/a", "/apis/apps/v1", "https://rancher/k8s/clusters/a/apis/apps/v1");
    check("https://rancher/k8s/", "/api", "https://rancher/k8s/api");
}
