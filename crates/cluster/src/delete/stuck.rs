//! Explains why an object is not deleted: what holds it.

use std::fmt::{self, Write as _};
use std::time::Duration;

use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::Value;

use super::namespace_content::{NamespaceContent, is_namespace};
use super::strings;
use crate::codes;
use crate::redact::Redacted;

/// An object that still existed at the deadline.
#[derive(Clone, PartialEq)]
pub struct Stuck {
    pub target: ObjectRef,
    /// The last state seen; `None` if it could not be read.
    pub live: Option<Value>,
    pub waited: Duration,
    /// For a namespace: what it still contains.
    pub(super) content: Option<NamespaceContent>,
}

impl fmt::Debug for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stuck")
            .field("target", &self.target)
            .field("live", &self.live.as_ref().map(Redacted))
            .field("waited", &self.waited)
            .field("content", &self.content)
            .finish()
    }
}

/// The most common finalizers, and what they wait for.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "kubernetes.io/pvc-protection",
        "the claim is still used by a Pod",
        "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection",
    ),
    (
        "kubernetes.io/pv-protection",
        "the volume is still bound to a claim",
        "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection",
    ),
    (
        "kubernetes",
        "the namespace still has content",
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/",
    ),
    (
        "foregroundDeletion",
        "objects that it owns must be deleted first",
        "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion",
    ),
    (
        "orphan",
        "objects that it owns are being orphaned",
        "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#orphaned-dependents",
    ),
];

impl Stuck {
    pub fn finalizers(&self) -> Vec<String> {
        let Some(live) = &self.live else { return Vec::new() };
        let mut names = strings(&live["metadata"]["finalizers"]);
        // A namespace has finalizers in its spec as well.
        names.extend(strings(&live["spec"]["finalizers"]));
        names
    }

    /// For a namespace: how many objects of which kinds it still contains.
    pub fn content(&self) -> Vec<(String, usize)> {
        self.content.as_ref().map(|content| content.counts.clone()).unwrap_or_default()
    }

    /// The error, under the titles that users of the Go provider know. How to allow more time or to force the deletion
    /// differs between products, so they add the hint.
    pub fn diagnostic(&self) -> Diagnostic {
        let going = self.live.as_ref().map(|live| !live["metadata"]["deletionTimestamp"].is_null());
        let finalizers = self.finalizers();
        let waited = short_duration(self.waited);
        let is_namespace = is_namespace(&self.target);
        // Every namespace has the finalizer in its spec; then only its content matters.
        let holds = |names: &[String]| !names.is_empty() && (!is_namespace || names != ["kubernetes"]);
        let (code, title, mut detail) = match going {
            Some(true) if holds(&finalizers) => (
                codes::DELETION_BLOCKED,
                "Deletion Blocked by Finalizers",
                format!(
                    "{} is marked for deletion, but finalizers hold it:\n{}",
                    self.target,
                    explain(&finalizers)
                ),
            ),
            Some(true) if is_namespace => (
                codes::DELETION_TIMEOUT,
                "Namespace Deletion Timeout",
                format!("{} is still terminating after {waited}.", self.target),
            ),
            Some(false) => (
                codes::DELETION_TIMEOUT,
                "Deletion Not Initiated",
                format!(
                    "Deletion of {} was requested {waited} ago, but it is not marked for deletion; it may have been recreated.",
                    self.target
                ),
            ),
            Some(true) | None => (
                codes::DELETION_TIMEOUT,
                "Deletion Timeout",
                format!(
                    "timed out waiting for resource to be deleted: {} still exists after {waited}.",
                    self.target
                ),
            ),
        };
        if let Some(content) = &self.content {
            detail.push_str(&content.describe());
        }
        Diagnostic::error(code, title)
            .detail(detail)
            .object(self.target.to_string())
            .help(self.describe_command())
    }

    fn describe_command(&self) -> String {
        let kind = self.target.kind().to_lowercase();
        match &self.target.namespace {
            Some(namespace) => format!("kubectl describe {kind} {} -n {namespace}", self.target.name),
            None => format!("kubectl describe {kind} {}", self.target.name),
        }
    }
}

impl NamespaceContent {
    /// The remaining objects, at most five kinds and five objects by name.
    fn describe(&self) -> String {
        const SHOWN: usize = 5;
        let mut text = String::new();
        if !self.counts.is_empty() {
            let _ = write!(text, "\n\nIt still contains:");
            for (kind, count) in self.counts.iter().take(SHOWN) {
                let _ = write!(text, "\n  - {count} {kind}");
            }
            let rest: usize = self.counts.iter().skip(SHOWN).map(|(_, count)| count).sum();
            if rest > 0 {
                let _ = write!(text, "\n  - {rest} objects of other kinds");
            }
        }
        if !self.held.is_empty() {
            let _ = write!(text, "\n\nHeld by finalizers:");
            for (object, finalizers) in self.held.iter().take(SHOWN) {
                let _ = write!(text, "\n  - {object}: {}", finalizers.join(", "));
            }
            if self.held.len() > SHOWN {
                let _ = write!(text, "\n  - and {} more", self.held.len() - SHOWN);
            }
        }
        if !self.unreadable.is_empty() {
            let _ = write!(text, "\n\nCould not be listed: {}", self.unreadable.join(", "));
        }
        text
    }
}

fn explain(finalizers: &[String]) -> String {
    let mut text = String::new();
    for finalizer in finalizers {
        let known = KNOWN.iter().find(|(name, ..)| name == finalizer);
        let _ = match known {
            Some((_, why, link)) => write!(text, "\n  - {finalizer}: {why} ({link})"),
            None => write!(text, "\n  - {finalizer}: custom finalizer; its controller has work to do first"),
        };
    }
    text
}

/// A duration as people write it: `5m`, `1m30s`, `0.5s`.
fn short_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, _) => format!("{}s", (duration.as_secs_f64() * 10.0).round() / 10.0),
        (minutes, 0) => format!("{minutes}m"),
        (minutes, rest) => format!("{minutes}m{rest}s"),
    }
}
