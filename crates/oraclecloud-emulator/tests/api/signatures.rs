use std::fs;

use jiff::{SignedDuration, Timestamp};
use oraclecloud::Credentials;
use oraclecloud::key::GeneratedKey;
use oraclecloud_emulator::{Operation, Script};
use secrecy::ExposeSecret as _;

use crate::*;

const MINUTE: Duration = Duration::from_secs(60);

async fn list(client: &Client, server: &Server) -> Result<usize, Error> {
    Ok(queue_api(client).list(&within(server.compartment())).await?.body.len())
}

/// Credentials with a key that the server may not know.
fn profile(folder: &tempfile::TempDir, key: &GeneratedKey, fingerprint: &str) -> Credentials {
    let path = folder.path().join("key.pem");
    fs::write(&path, key.private_pem.expose_secret()).unwrap();
    let config = format!(
        "[DEFAULT]\nuser=u\ntenancy=t\nregion=phx\nfingerprint={fingerprint}\nkey_file={}\n",
        path.display()
    );
    fs::write(folder.path().join("config"), config).unwrap();
    Credentials::from_config_file(folder.path().join("config"), None, &no_variables)
}

#[tokio::test]
async fn an_unknown_key_is_rejected_until_it_is_added() {
    let server = serve(Options::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let key = GeneratedKey::generate().unwrap();
    let client = client_as(&server, profile(&folder, &key, &key.fingerprint), MINUTE);
    let error = list(&client, &server).await.unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("ListQueues: 401 NotAuthenticated: The key is unknown. (request "),
        "{message}"
    );
    let keys = server.config_file().parent().unwrap();
    fs::write(keys.join("another_public.pem"), &key.public_pem).unwrap();
    assert_eq!(list(&client, &server).await.unwrap(), 0);
}

#[tokio::test]
async fn the_fingerprint_of_another_key_is_rejected() {
    let server = server(Script::default()).await;
    let mut endpoints = Endpoints::default();
    endpoints.add(&server.url()).unwrap();
    let config = fs::read_to_string(server.config_file()).unwrap();
    let known = config.lines().find_map(|line| line.strip_prefix("fingerprint=")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let other = GeneratedKey::generate().unwrap();
    let credentials = profile(&folder, &other, known);
    let settings = Settings { endpoints, ..Settings::default() };
    let error = Client::new(credentials, Connections::new(), settings, &no_variables).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("has the fingerprint"), "the client fails before sending: {cause}");
}

#[tokio::test]
async fn the_error_for_clock_skew_names_it() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let check = async |ahead: i64, expected: Option<&str>| {
        server.clock().skew(SignedDuration::from_mins(ahead));
        let result = list(&client, &server).await;
        match expected {
            None => assert!(result.is_ok(), "{ahead}"),
            Some(words) => {
                let message = result.unwrap_err().to_string();
                assert!(message.starts_with("ListQueues: 401 this machine's clock is "), "{message}");
                assert!(message.contains(words), "{message}");
            }
        }
    };
    check(4, None).await;
    check(-4, None).await;
    check(12, Some("min behind the server's")).await;
    check(-12, Some("min ahead of the server's")).await;
    check(0, None).await;
}

#[tokio::test]
async fn a_session_token_works_until_it_expires_and_again_after_a_refresh() {
    let server = serve(Options::default()).await.unwrap();
    let soon = Timestamp::now() + SignedDuration::from_mins(30);
    let config = server.open_session(soon).unwrap();
    let credentials = Credentials::from_config_file(&config, Some("SESSION"), &no_variables);
    let client = client_as(&server, credentials, MINUTE);
    assert!(list(&client, &server).await.is_ok());
    // The session has expired for the server, and for the client as soon as it reads the token.
    server.open_session(Timestamp::now() - SignedDuration::from_mins(1)).unwrap();
    let message = list(&client, &server).await.unwrap_err().to_string();
    assert_eq!(message, "ListQueues: not sent: no usable credentials");
    server.open_session(soon).unwrap();
    assert!(list(&client, &server).await.is_ok());
}

/// Sends raw bytes, for requests that our client never makes; returns the response.
async fn raw(server: &Server, request: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream =
        tokio::net::TcpStream::connect(server.url().trim_start_matches("http://")).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn a_request_without_a_valid_signature_is_rejected() {
    let server = server(Script::default()).await;
    let check = async |headers: &str, message: &str| {
        let response = raw(
            &server,
            &format!("GET /20210201/queues HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n"),
        )
        .await;
        assert!(response.starts_with("HTTP/1.1 401"), "{response}");
        assert!(
            response.contains(r#""code":"NotAuthenticated""#) && response.contains(message),
            "{response}"
        );
    };
    check("", "The request is not signed.").await;
    check("authorization: Bearer x\r\n", "its scheme is not Signature").await;
    let signature = |algorithm: &str, headers: &str, key: &str| {
        format!(
            "authorization: Signature version=\"1\",keyId=\"{key}\",algorithm=\"{algorithm}\",headers=\"{headers}\",signature=\"AA==\"\r\n"
        )
    };
    let all = "date (request-target) host";
    let date = format!("date: {}\r\n", oraclecloud::sign::http_date(Timestamp::now()));
    check(&signature("hs2019", all, "k"), "The algorithm of the signature is not rsa-sha256.").await;
    check(&signature("rsa-sha256", "date host", "k"), "The signature does not cover (request-target).").await;
    check(&signature("rsa-sha256", all, "k"), "The date of the request is missing or malformed.").await;
    check(
        &(signature("rsa-sha256", all, "k") + &date),
        "keyId is neither tenancy/user/fingerprint nor a token.",
    )
    .await;
    check(&(signature("rsa-sha256", all, "/u/f") + &date), "keyId lacks a tenancy or a user.").await;
    check(&(signature("rsa-sha256", all, "ST$x") + &date), "The token is unknown or has expired.").await;
    let config = fs::read_to_string(server.config_file()).unwrap();
    let fingerprint = config.lines().find_map(|line| line.strip_prefix("fingerprint=")).unwrap();
    check(
        &(signature("rsa-sha256", all, &format!("t/u/{fingerprint}")) + &date),
        "The signature does not match the request.",
    )
    .await;
    assert!(server.journal().entries().iter().all(|entry| entry.status == Some(401) && !entry.effect));
    assert_eq!(server.journal().count(Operation::ListQueues), 9);
}

#[tokio::test]
async fn only_loopback_addresses_are_served() {
    let options = Options { listen: "0.0.0.0:0".parse().unwrap(), ..Options::default() };
    let error = serve(options).await.err().unwrap();
    assert_eq!(error.to_string(), "0.0.0.0:0 is not a loopback address; listen on 127.0.0.1");
}

#[tokio::test]
async fn no_secret_reaches_the_journal_or_the_debug_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let server = serve(Options { journal: Some(path.clone()), ..Options::default() }).await.unwrap();
    let config = server.open_session(Timestamp::now() + SignedDuration::from_mins(30)).unwrap();
    let client =
        client_as(&server, Credentials::from_config_file(&config, Some("SESSION"), &no_variables), MINUTE);
    list(&client, &server).await.unwrap();
    let token = fs::read_to_string(config.with_file_name("session_token")).unwrap();
    let journal = fs::read_to_string(&path).unwrap();
    assert_eq!(journal.lines().count(), 1);
    let entry: Value = serde_json::from_str(&journal).unwrap();
    assert_eq!(entry["operation"], json!("ListQueues"));
    assert!(text(&entry["request"]).starts_with("GET /20210201/queues?compartmentId="));
    assert!(!journal.contains(&token) && !format!("{client:?}").contains(&token));
    assert_eq!(
        server.announcement(),
        json!({"url": server.url(), "configFile": server.config_file(), "compartment": server.compartment()})
    );
}
