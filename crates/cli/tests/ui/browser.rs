//! A real browser on the page, with the demo running: every view, what moves on it, and how it looks.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;
use testkit::{Browser, Sandbox};

use crate::server::Server;

const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");
const FRONT: &str = include_str!("../../../../examples/demo/front.yaml");

/// A browser, unless the machine has none.
#[expect(clippy::print_stderr, reason = "a test that is skipped has to say so")]
async fn browser() -> Option<Browser> {
    let browser = Browser::start().await;
    if browser.is_none() {
        eprintln!("skipped: there is no Chromium on this machine; install the package chromium");
    }
    browser
}

/// The demo, which waits for Enter before each step.
struct Demo {
    folder: TempDir,
    process: Child,
    keyboard: ChildStdin,
    output: Lines<BufReader<ChildStderr>>,
}

impl Demo {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(PLIMSOLL)
            .args(["demo", "--no-terraform", "--pause"])
            .env("XDG_STATE_HOME", folder.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let keyboard = process.stdin.take().unwrap();
        let output = BufReader::new(process.stderr.take().unwrap()).lines();
        Self { folder, process, keyboard, output }
    }

    /// Reads to the end of a step.
    fn pause(&mut self) {
        let mut said = String::new();
        loop {
            let line = self.output.next().unwrap_or_else(|| panic!("the demo ends: {said}")).unwrap();
            if line.trim() == "press Enter" {
                return;
            }
            said.push_str(&line);
            said.push('\n');
        }
    }

    fn enter(&mut self) {
        self.keyboard.write_all(b"\n").unwrap();
    }

    fn kubeconfig(&self) -> PathBuf {
        let output = Command::new(PLIMSOLL)
            .args(["sandbox", "kubeconfig", "--name", "demo"])
            .env("XDG_STATE_HOME", self.folder.path())
            .output()
            .unwrap();
        let file = self.folder.path().join("kubeconfig");
        fs::write(&file, output.stdout).unwrap();
        file
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
        let mut down = Command::new(PLIMSOLL);
        down.args(["sandbox", "down", "--name", "demo"]).env("XDG_STATE_HOME", self.folder.path());
        let _stopped = down.output();
    }
}

/// Where the pictures of the views go: PLIMSOLL_PICTURES, or a folder that is not kept.
fn pictures() -> PathBuf {
    let folder = std::env::var_os("PLIMSOLL_PICTURES")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("view"), PathBuf::from);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The view in both colour schemes, and a check that it fits a narrow window.
async fn picture(browser: &mut Browser, name: &str) {
    let height = browser.evaluate("document.body.scrollHeight").await;
    browser.resize(1280, u32::try_from(height.as_u64().unwrap()).unwrap().clamp(300, 1100)).await;
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await;
        browser.picture(&pictures().join(format!("{name}-{scheme}.png"))).await;
    }
    browser.prefer("light").await;
    browser.resize(400, 800).await;
    let overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth").await;
    assert!(overflow.as_i64().unwrap() <= 0, "{name} is wider than 400 pixels by {overflow}");
    browser.resize(1280, 800).await;
}

#[tokio::test]
async fn the_demo_is_seen_in_a_browser() {
    let Some(mut browser) = browser().await else { return };
    let mut demo = Demo::start();
    demo.pause();
    demo.enter();
    demo.pause();
    let server = Server::on(&demo.kubeconfig(), &[]);
    let origin = format!("http://{}", server.address);
    browser.open(&server.url).await;
    assert_eq!(browser.evaluate("location.search").await, "", "the token leaves the address bar");

    // The page is open before the claim exists, and shows it from its first condition on.
    browser.open(&format!("{origin}/object/shop/app.demo.plimsoll.dev/orders")).await;
    browser.until_text("as soon as it is there").await;
    demo.enter();
    browser.until_text("is not in the catalogue").await;
    browser.open(&format!("{origin}/tree/shop/app.demo.plimsoll.dev/orders")).await;
    browser.until("the operation shows its progress", "document.querySelector('progress')").await;
    let percent = "document.querySelector('progress')?.value";
    let first = browser.evaluate(percent).await;
    browser.until("the percentage moves", &format!("{percent} > {first}")).await;
    let has_pods = "[...document.querySelectorAll('.tree .kind')].some(kind => kind.textContent === 'Pod')";
    browser.until("what else is composed appears meanwhile", &format!("{percent} > 0 && {has_pods}")).await;
    picture(&mut browser, "tree").await;
    browser.open(&format!("{origin}/operations")).await;
    browser.until_text("Queue orders").await;
    picture(&mut browser, "operations").await;
    browser.open(&format!("{origin}/object/shop/app.demo.plimsoll.dev/orders")).await;
    browser.until_text("Success").await;
    browser.until("the claim is ready", "document.querySelector('h1 .state').textContent === 'ready'").await;
    demo.pause();

    // What the user of the claim reads, and what the platform team reads.
    assert!(!browser.text().await.contains("XApp orders-"), "the user has nothing to do with it");
    browser.evaluate("document.querySelectorAll('.switch a')[1].click()").await;
    browser.until_text("reaches the user").await;
    browser.until_text("XApp orders-").await;

    // Two more steps of the demo, and then a user scales the Deployment by hand.
    browser.open(&format!("{origin}/changes/shop/deployment.apps/front")).await;
    browser.until_text("Changes of this object").await;
    for _ in 0..2 {
        demo.enter();
        demo.pause();
    }
    demo.enter();
    browser.until("both values are shown", "[...document.querySelectorAll('.timeline li li')].some(line => line.innerText.includes('spec.replicas') && line.innerText.includes('3') && line.innerText.includes('5') && line.innerText.includes('kubectl'))").await;
    picture(&mut browser, "changes").await;
    browser.evaluate("[...document.querySelectorAll('.filters a')].find(link => link.textContent.includes('kubectl')).click()").await;
    browser.until("only its changes are shown", "location.search.includes('manager=') && !document.querySelector('.timeline').innerText.includes('status.') && document.querySelector('.timeline').innerText.includes('spec.replicas')").await;
    browser.open(&format!("{origin}/object/shop/deployment.apps/front")).await;
    browser.until("the field has its manager in the margin", "[...document.querySelectorAll('.yaml .line')].some(line => line.querySelector('code').textContent.includes('replicas: 5') && line.querySelector('.margin').textContent.includes('kubectl'))").await;
    picture(&mut browser, "object").await;
    browser.evaluate("[...document.querySelectorAll('.legend a')].find(link => link.textContent.includes('kubectl')).click()").await;
    browser.until("only its fields are shown", "[...document.querySelectorAll('.yaml .line:not(.gap) code')].map(line => line.textContent.trim()).join() === 'spec:,replicas: 5'").await;
    browser.until("it says when and how", "document.querySelector('.yaml [data-hint]').dataset.hint.startsWith('kubectl: Update of scale, ')").await;

    browser.open(&format!("{origin}/plan")).await;
    let text = serde_json::to_string(FRONT).unwrap();
    browser
        .evaluate(&format!(
            "(() => {{ const files = new DataTransfer(); files.items.add(new File([{text}], 'front.yaml')); \
             document.getElementById('manifest').dispatchEvent(new DragEvent('drop', {{ dataTransfer: files, cancelable: true }})) }})()"
        ))
        .await;
    browser
        .until("the file is in the form", &format!("document.getElementById('manifest').value === {text}"))
        .await;
    browser.evaluate("document.querySelector('.paste button').click()").await;
    browser.until_text("spec.replicas").await;
    browser.until_text("Other managers hold fields").await;
    picture(&mut browser, "plan").await;

    assert!(browser.requests().iter().all(|url| url.starts_with(&origin)), "{:?}", browser.requests());
    let errors = browser.errors();
    // A page of an object that does not exist yet is answered with 404.
    let refused: Vec<_> = errors.iter().filter(|error| !error.to_string().contains("404")).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[tokio::test]
async fn the_page_works_by_keyboard_and_shows_a_lost_server() {
    let Some(mut browser) = browser().await else { return };
    let sandbox = Sandbox::dedicated("ui");
    let ns = sandbox.namespace("ui-browser").await;
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "root" }, "data": { "k": "old" } });
    let root = ns.apply_as("platform-team", &object).await;
    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "root", "uid": root["metadata"]["uid"] });
    let leaf = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "leaf", "ownerReferences": [owner] } });
    ns.apply_as("platform-team", &leaf).await;
    let server = Server::on(&sandbox.kubeconfig(), &["--namespace", ns.name()]);
    let origin = format!("http://{}", server.address);

    // Without the token there is a form for it.
    browser.open(&format!("{origin}/operations")).await;
    browser.until_text("This page needs a token").await;
    // Chromium resolves this name to the machine itself, as a server of names could do with any.
    let port = server.address.rsplit_once(':').unwrap().1;
    browser.open(&format!("http://other.localhost:{port}/operations")).await;
    browser.until_text("does not answer to that host name").await;
    browser.open(&server.url).await;
    browser.until_text("Objects to start from").await;
    browser.press("/").await;
    assert_eq!(browser.evaluate("document.activeElement.name").await, "q");
    // What is typed is found at once, without a reload.
    browser.evaluate("window.isSame = true").await;
    for key in format!("leaf {}", ns.name()).chars() {
        browser.press(&key.to_string()).await;
    }
    browser.until("both words are found", "document.querySelectorAll('.found .row').length === 1").await;
    browser.until("the address says so", "location.search.startsWith('?q=leaf')").await;
    assert_eq!(browser.evaluate("window.isSame").await, true);
    browser.press("ArrowDown").await;
    let chosen = browser.evaluate("document.activeElement.querySelector('.name').textContent").await;
    browser.evaluate("document.activeElement.click()").await;
    browser.until("it leads to the tree", "location.pathname.startsWith('/tree/')").await;
    assert!(
        browser.evaluate("location.pathname").await.as_str().unwrap().ends_with(chosen.as_str().unwrap())
    );

    browser
        .until("it is loaded", "document.readyState === 'complete' && document.querySelector('[data-up]')")
        .await;
    browser.press("u").await;
    browser.until("it leads up", "location.pathname.endsWith('/root')").await;
    browser.until_text("leaf").await;
    browser.until("it is loaded", "document.readyState === 'complete'").await;
    browser.press("?").await;
    browser.until("the keys are shown", "document.getElementById('keys').open").await;
    browser.evaluate("document.getElementById('keys').close()").await;
    browser.press("2").await;
    browser.until_text("k: old").await;
    let mut api_server = sandbox.api_server();
    api_server.kill();
    browser.until_text("The API server does not answer").await;
    browser.until_text("k: old").await;
    api_server.start();
    browser.until("it heals", "!document.body.innerText.includes('The API server does not answer')").await;
    ns.merge_as("kubectl-edit", &object, &json!({ "data": { "k": "new" } })).await;
    browser.until_text("k: new").await;
    drop(server);
    browser.until_text("plimsoll has stopped").await;
}
