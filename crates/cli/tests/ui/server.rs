//! Starts `plimsoll ui` and sends it plain HTTP requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{Namespace, Sandbox};

/// Long enough for a busy machine; nothing waits that long unless it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    process: Child,
    /// As printed, with the token.
    pub(crate) url: String,
    pub(crate) address: String,
    pub(crate) cookie: String,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Server {
    pub(crate) fn start(namespace: &Namespace, arguments: &[&str]) -> Self {
        let arguments = [&["--namespace", namespace.name()], arguments].concat();
        Self::on(&Sandbox::shared().kubeconfig(), &arguments)
    }

    /// The same on another cluster.
    pub(crate) fn on(kubeconfig: &Path, arguments: &[&str]) -> Self {
        // Tests that run in the background may have SIGINT ignored, and child processes inherit that.
        let mut process = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_plimsoll"), "ui"])
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("plimsoll starts");
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        let (address, token) =
            url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).unwrap();
        let port = address.rsplit_once(':').unwrap().1;
        let cookie = format!("plimsoll-{port}={token}");
        Self { process, address: address.to_owned(), cookie, url }
    }

    /// A request with the given headers and no others.
    pub(crate) fn send(&self, request: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut answer = String::new();
        self.open(request, headers, body).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap();
        Response { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn open(&self, request: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text =
            format!("{request} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    fn usual(&self) -> [(&str, &str); 2] {
        [("Host", &self.address), ("Cookie", &self.cookie)]
    }

    /// A page, as a browser with the cookie gets it.
    pub(crate) fn get(&self, path: &str) -> Response {
        self.send(&format!("GET {path}"), &self.usual(), "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        self.send(&format!("POST {path}"), &self.usual(), body)
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        serde_json::from_str(&response.body).unwrap()
    }

    /// The events of a view, each with its lines joined.
    pub(crate) fn events(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        let stream = self.open(&format!("GET {path}"), &self.usual(), "");
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        std::iter::from_fn(move || {
            let mut event = String::new();
            loop {
                let line = lines.next()?;
                match line.strip_prefix("data:") {
                    Some(text) => event.push_str(text),
                    None if line.is_empty() && !event.is_empty() => return Some(event),
                    None => {}
                }
            }
        })
    }

    pub(crate) fn interrupt(mut self) -> ExitStatus {
        let sent = Command::new("kill").args(["-s", "INT", &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
        self.process.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// What `plimsoll … -o json` prints in the namespace.
pub(crate) fn command(namespace: &Namespace, arguments: &[&str], input: &str) -> Value {
    let namespace = ["--namespace", namespace.name()];
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .args(namespace.iter().filter(|_| !arguments.contains(&"-A")))
        .args(["-o", "json"])
        .env("KUBECONFIG", Sandbox::shared().kubeconfig())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}
