//! What the crate logs. A separate process, because log filters are fixed once per process.

#![expect(clippy::unwrap_used, reason = "a panic in a test's helper is a failed test")]

use std::io::{self, Read as _, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, OnceLock};

use cluster::{Connection, Environment, Exec, Impersonate, Secret, Session};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server that rejects one call, is busy once, and then answers with an empty object.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut answers = ["401 Unauthorized", "503 Service Unavailable"].into_iter();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _read = stream.read(&mut [0; 4096]);
            let status = answers.next().unwrap_or("200 OK");
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}");
            let _written = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// Everything this process has logged so far.
fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
        subscriber.with_ansi(false).with_writer(move || writer.clone()).init();
        log
    })
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

#[test]
fn no_secret_is_logged_at_any_level() {
    let log = log();
    let printed = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"hunter2"}}"#;
    let exec = Exec {
        api_version: "client.authentication.k8s.io/v1".to_owned(),
        command: "echo".to_owned(),
        args: vec![Secret::from(printed)],
        env: [("PASSWORD".to_owned(), Secret::from("hunter2"))].into(),
    };
    let connection = Connection {
        host: Some(format!("http://{}", serve())),
        insecure: true,
        exec: Some(exec),
        impersonate: Some(Impersonate { user: Some("jane".to_owned()), ..Impersonate::default() }),
        ..Connection::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let session = Session::connect(&connection, &Environment::default(), "test").unwrap();
        session.resource(&"v1/ConfigMap".parse().unwrap()).await
    });
    assert!(outcome.is_err(), "an empty object is not a discovery document");
    let text = log.text();
    for expected in ["running the credential plugin", "retrying once with new ones", "retrying"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

/// A server of Widgets, which only its third discovery lists.
fn serve_widgets() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let kinds = |group: &str, kind: &str, plural: &str| {
        format!(
            r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"{group}"}},"versions":[{{"version":"v1","resources":[{{"resource":"{plural}","responseKind":{{"kind":"{kind}"}},"scope":"Cluster"}}]}}]}}]}}"#
        )
    };
    let mut discoveries = 0;
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let body = match request.split(' ').nth(1) {
                Some("/api") => kinds("", "Namespace", "namespaces"),
                Some("/apis") => {
                    discoveries += 1;
                    if discoveries < 3 {
                        kinds("apps", "Deployment", "deployments")
                    } else {
                        kinds("example.com", "Widget", "widgets")
                    }
                }
                _ => "{}".to_owned(),
            };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _written = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn every_wait_for_a_kind_is_logged() {
    let log = log();
    let connection = Connection {
        host: Some(format!("http://{}", serve_widgets())),
        insecure: true,
        token: Some(Secret::from("t")),
        ..Connection::default()
    };
    let target = manifest::ObjectRef::new("example.com/v1/Widget".parse().unwrap(), None, "w");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let applied = runtime.block_on(async {
        let session = Session::connect(&connection, &Environment::default(), "test").unwrap();
        session.apply_when_possible(&target, &serde_json::json!({}), cluster::Write::by("m")).await
    });
    applied.unwrap();
    let text = log.text();
    let waits: Vec<&str> = text.lines().filter(|line| line.contains("needs=")).collect();
    let [wait] = waits[..] else { panic!("one wait: {text}") };
    for expected in ["INFO", "object=Widget w", "needs=kind example.com/v1", "at_most="] {
        assert!(wait.contains(expected), "{expected} in {wait}");
    }
}
