//! The page in a browser, as a user sees it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bench::Outcome;
use bench::stage::plimsoll;
use bench::stage::process::Usage;
use testkit::Browser;

use crate::view::population::{CLAIM, NAMESPACE, Population};

/// Notes in the page when a text was painted for the first time, as milliseconds since 1970.
const OBSERVE: &str = "window.painted = {}; new MutationObserver(() => {
  const seen = document.body.innerText.match(/step \\d+/);
  if (seen && !(seen[0] in painted)) requestAnimationFrame(() => setTimeout(() => {
    painted[seen[0]] ??= performance.timeOrigin + performance.now();
  }));
}).observe(document.body, { subtree: true, childList: true, characterData: true })";

/// A process that serves the page; it ends with this value.
pub(crate) struct Page {
    process: Child,
    origin: String,
    token: String,
}

impl Page {
    pub(crate) fn start(kubeconfig: &Path) -> Outcome<Self> {
        let mut process = Command::new(plimsoll()?)
            .arg("ui")
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut url = String::new();
        BufReader::new(process.stdout.take().ok_or("standard output is a pipe")?).read_line(&mut url)?;
        let (origin, token) = url.trim().split_once("/?token=").ok_or("an address with a token")?;
        Ok(Self { process, origin: origin.to_owned(), token: token.to_owned() })
    }

    /// Opens the tree of the claim for the first time; how many seconds until it is painted.
    pub(crate) async fn first_tree(&self, browser: &mut Browser) -> Outcome<f64> {
        // A page that asks nothing of the cluster, so that the browser has the cookie.
        browser.open(&format!("{}/nowhere?token={}", self.origin, self.token)).await;
        browser.open(&format!("{}/tree/{NAMESPACE}/app.bench.example.org/{CLAIM}", self.origin)).await;
        let paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
        browser.until("it is painted", &format!("{paint} > 0")).await;
        browser.until_text(&format!("{CLAIM}-2")).await;
        browser.until_text("Pod").await;
        let time = browser.evaluate(paint).await.as_f64().ok_or("a time")?;
        Ok(time / 1000.0)
    }

    /// Changes the claim; how many seconds pass from the watch event until the page shows it.
    pub(crate) async fn update(
        &self,
        browser: &mut Browser,
        population: &Population,
        number: usize,
    ) -> Outcome<f64> {
        if number == 0 {
            browser.evaluate(OBSERVE).await;
        }
        let text = format!("step {number}");
        let event = population.change(&text).await?;
        browser.until("the change is painted", &format!("painted['{text}']")).await;
        let painted = browser.evaluate(&format!("painted['{text}']")).await.as_f64().ok_or("a time")?;
        Ok((painted - event) / 1000.0)
    }

    /// Opens the search as well.
    pub(crate) async fn search(&self, browser: &mut Browser) -> Outcome<()> {
        browser.open(&format!("{}/?q=app", self.origin)).await;
        browser.until_text("more").await;
        Ok(())
    }

    pub(crate) fn usage(&self) -> Outcome<Usage> {
        Usage::of(self.process.id())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to end.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}
