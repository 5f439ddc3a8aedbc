//! A headless Chromium that tests drive through its DevTools protocol.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Long enough for a busy machine; nothing waits that long unless it has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Chromium speaks its protocol on these descriptors, which a shell connects to our pipes.
const CONNECTED: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A browser with one page. It ends when it is dropped.
pub struct Browser {
    _process: Child,
    _profile: TempDir,
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    last_id: u64,
    /// What the page has requested and reported, in order.
    events: Vec<Value>,
}

fn program() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let found = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    named.into_iter().chain(found).find(|program| program.is_file())
}

impl Browser {
    /// A browser with an empty page; `None` if the machine has no Chromium, which the caller reports.
    ///
    /// # Panics
    ///
    /// If it does not start, or is missing where CI needs it.
    pub async fn start() -> Option<Self> {
        let Some(program) = program() else {
            assert!(env::var_os("CI").is_none(), "there is no Chromium; `.ci/run` installs it");
            return None;
        };
        let profile = tempfile::tempdir().expect("a temporary folder");
        let mut process = Command::new("sh")
            .args(["-c", CONNECTED])
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
            ])
            .args(["--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Chromium starts");
        let (calls, answers) =
            (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        let (answers, events) = (BufReader::new(answers), Vec::new());
        let mut browser =
            Self { _process: process, _profile: profile, calls, answers, session: None, last_id: 0, events };
        let page = browser.call("Target.createTarget", json!({ "url": "about:blank" })).await;
        let target = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", target).await;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        browser.resize(1280, 800).await;
        Some(browser)
    }

    /// Opens a URL and waits until it is loaded.
    pub async fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url })).await;
        self.until(
            "the page is loaded",
            "document.readyState === 'complete' && location.href !== 'about:blank'",
        )
        .await;
    }

    /// The value of a JavaScript expression in the page.
    ///
    /// # Panics
    ///
    /// If it throws.
    pub async fn evaluate(&mut self, expression: &str) -> Value {
        let call = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut result = self.call("Runtime.evaluate", call).await;
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result:#}");
        result["result"]["value"].take()
    }

    /// The visible text of the page.
    pub async fn text(&mut self) -> String {
        self.evaluate("document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true in the page.
    ///
    /// # Panics
    ///
    /// After a timeout, with the text of the page.
    pub async fn until(&mut self, what: &str, expression: &str) {
        let expression =
            format!("Boolean((() => {{ try {{ return {expression} }} catch {{ return false }} }})())");
        let begun = std::time::Instant::now();
        while self.evaluate(&expression).await != true {
            if begun.elapsed() > PATIENCE {
                let text = self.text().await;
                panic!("{what}: not within {PATIENCE:?}; the page shows\n{text}");
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the page shows a text.
    pub async fn until_text(&mut self, text: &str) {
        let quoted = Value::from(text);
        self.until(text, &format!("document.body.innerText.includes({quoted})")).await;
    }

    pub async fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "text": if kind == "keyDown" { text } else { "" } });
            self.call("Input.dispatchKeyEvent", event).await;
        }
    }

    pub async fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Chooses between `light` and `dark`.
    pub async fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Saves what is visible as PNG.
    pub async fn picture(&mut self, file: &Path) {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" })).await;
        let png = BASE64_STANDARD.decode(shot["data"].as_str().expect("a picture")).expect("base64");
        fs::write(file, png).expect("the picture is written");
    }

    /// The URLs that the page has requested.
    pub fn requests(&self) -> Vec<&str> {
        let of = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        self.events.iter().filter(of).filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    /// Errors that the browser has reported, such as violations of the content security policy.
    pub fn errors(&self) -> Vec<&Value> {
        let is_error = |event: &&Value| {
            event["method"] == "Runtime.exceptionThrown"
                || (event["method"] == "Log.entryAdded" && event["params"]["entry"]["level"] == "error")
        };
        self.events.iter().filter(is_error).collect()
    }

    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        // Messages end with a zero byte, in both directions.
        self.calls.write_all(format!("{message}\0").as_bytes()).await.expect("Chromium listens");
        loop {
            let mut answer = Vec::new();
            let read = tokio::time::timeout(PATIENCE, self.answers.read_until(0, &mut answer)).await;
            read.expect("Chromium answers").expect("Chromium runs");
            let mut answer: Value =
                serde_json::from_slice(answer.strip_suffix(&[0]).unwrap_or(&answer)).expect("JSON");
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }
}
