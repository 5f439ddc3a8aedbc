//! Applies objects whose kind, namespace or webhook is being created at the same time.
//!
//! The schedule is an upper bound. While it runs, the CRDs or the namespace are watched, and the apply continues as
//! soon as its dependency exists. What already exists costs nothing extra.

mod installable;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use manifest::{GroupVersionKind, ObjectRef};
use readiness::Health;
use serde_json::Value;
use tokio::time::Instant;

use crate::apply::Write;
use crate::error::{Error, ErrorKind};
use crate::read::Selection;
use crate::request::Reply;
use crate::session::Session;
use crate::watch::{Watch, WatchEvent};

pub use installable::may_still_come;

/// The longest wait before each further attempt.
const SCHEDULE: [Duration; 7] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(10),
];
/// How long a webhook may be unavailable before nothing waits for it any more: about as long as the schedule takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between attempts once the dependency has been seen, until the servers catch up.
const SOON: Duration = Duration::from_millis(25);
/// After this long the servers should have caught up, and the schedule resumes.
const CATCH_UP: Duration = Duration::from_secs(2);

impl Session {
    /// Applies `object`, and waits for its kind, its namespace or a webhook if they are not there yet: for half a minute
    /// at most, and no longer than they take to appear. Any other error is returned at once.
    ///
    /// Dropping the future ends the wait at once.
    pub async fn apply_when_possible(
        &self,
        target: &ObjectRef,
        object: &Value,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        self.when_possible(target, || self.apply(target, object, write)).await
    }

    /// Repeats `attempt`, which concerns `target`, until what it depends on is there, on the same terms as
    /// [`Session::apply_when_possible`].
    pub async fn when_possible<T, F>(&self, target: &ObjectRef, attempt: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let began = Instant::now();
        let mut watching: Option<DependencyWatch> = None;
        let mut schedule = SCHEDULE.into_iter();
        let mut next_attempt = began;
        loop {
            let error = match attempt().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let dependency = match (error.dependency(), &watching) {
                (Some(dependency), _) => dependency,
                // Discovery already lists the new kind, but its paths are not served yet.
                (None, Some(watching)) if watching.was_just_seen() && error.is_unknown_path() => {
                    watching.dependency.clone()
                }
                // The same may happen before the watch has started.
                (None, None) if error.is_unknown_path() => {
                    let dependency = Dependency::Kind(target.gvk.clone());
                    watching = Some(DependencyWatch {
                        dependency: dependency.clone(),
                        watch: None,
                        seen: Some(Instant::now()),
                    });
                    dependency
                }
                (None, _) => return Err(error),
            };
            // The first dependency may exist now, with another one missing.
            if watching.as_ref().is_none_or(|watching| watching.dependency != dependency) {
                watching = Some(DependencyWatch::begin(self, dependency.clone()).await);
            }
            let Some(watching) = watching.as_mut() else { return Err(error) };
            if !watching.was_just_seen() {
                let now = Instant::now();
                if now >= next_attempt {
                    let wait = schedule.next().filter(|_| self.may_wait_for(&dependency));
                    let Some(wait) = wait else { return Err(error.after(began.elapsed())) };
                    next_attempt = now + wait;
                }
            }
            tracing::info!(object = %target, needs = %dependency, at_most = ?next_attempt.saturating_duration_since(Instant::now()), "waiting");
            watching.wait(next_attempt).await;
        }
    }

    /// Whether to wait for a dependency that was found missing just now. A webhook that is down for good must not cost
    /// the whole wait for every object it reviews.
    pub(crate) fn may_wait_for(&self, dependency: &Dependency) -> bool {
        match dependency {
            Dependency::Webhook(webhook) => self.outages().length(webhook) < PATIENCE,
            Dependency::Kind(_) | Dependency::Namespace(_) => true,
        }
    }
}

/// What a call lacks, and may still come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    Kind(GroupVersionKind),
    Namespace(String),
    /// What must admit or convert the object and cannot be called, as a phrase.
    Webhook(String),
}

impl Error {
    /// What the call lacked, if another client, or the rest of the same apply, may still bring it.
    pub fn dependency(&self) -> Option<Dependency> {
        match self.kind() {
            ErrorKind::KindMissing(missing) => {
                may_still_come(&missing.gvk).then(|| Dependency::Kind(missing.gvk.clone()))
            }
            ErrorKind::NamespaceMissing { namespace } => Some(Dependency::Namespace(namespace.clone())),
            _ => self.unavailable_webhook().map(Dependency::Webhook),
        }
    }
}

impl Dependency {
    /// What to watch for the dependency to appear, if it can be watched.
    fn source(&self) -> Option<(GroupVersionKind, Selection)> {
        let kind = |text: &str| text.parse().expect("a fixed kind");
        match self {
            // A CRD's name begins with the plural, which is not known yet, so all CRDs are watched.
            Self::Kind(_) => {
                Some((kind("apiextensions.k8s.io/v1/CustomResourceDefinition"), Selection::default()))
            }
            Self::Namespace(name) => {
                let fields = Some(format!("metadata.name={name}"));
                Some((kind("v1/Namespace"), Selection { fields, ..Selection::default() }))
            }
            // Only a call shows whether it answers.
            Self::Webhook(_) => None,
        }
    }

    /// Whether `object` is the dependency, ready for use.
    fn is_met_by(&self, object: &Value) -> bool {
        let is_it = match self {
            Self::Webhook(_) => false,
            Self::Namespace(_) => true,
            Self::Kind(gvk) => {
                let spec = &object["spec"];
                let serves = |version: &Value| version["name"] == gvk.version() && version["served"] == true;
                spec["group"] == gvk.group()
                    && spec["names"]["kind"] == gvk.kind()
                    && spec["versions"].as_array().is_some_and(|versions| versions.iter().any(serves))
            }
        };
        is_it && Health::of(object, false) == Health::Ready
    }
}

impl std::fmt::Display for Dependency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kind(gvk) => write!(f, "kind {gvk}"),
            Self::Namespace(name) => write!(f, "namespace {name}"),
            Self::Webhook(webhook) => f.write_str(webhook),
        }
    }
}

/// The webhooks that a session has found unavailable.
#[derive(Default)]
pub(crate) struct WebhookOutages(Mutex<HashMap<String, Outage>>);

struct Outage {
    began: Instant,
    last_seen: Instant,
}

impl WebhookOutages {
    /// How long `webhook`, which is unavailable now, has been. Calls may time out before they fail, so an outage counts
    /// as over only when it was not seen for longer than that takes.
    fn length(&self, webhook: &str) -> Duration {
        let now = Instant::now();
        let mut outages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let outage = outages.entry(webhook.to_owned()).or_insert(Outage { began: now, last_seen: now });
        if now - outage.last_seen > PATIENCE * 2 {
            outage.began = now;
        }
        outage.last_seen = now;
        now - outage.began
    }
}

/// Watches for a dependency to appear.
struct DependencyWatch {
    dependency: Dependency,
    /// `None` if it cannot be watched, or not without a permission: then only the schedule decides.
    watch: Option<Watch>,
    /// When the dependency was seen.
    seen: Option<Instant>,
}

impl DependencyWatch {
    /// Starts watching now. A dependency that appeared earlier is found by the next attempt, 0.1 s later.
    async fn begin(session: &Session, dependency: Dependency) -> Self {
        let Some((gvk, selection)) = dependency.source() else {
            return Self { dependency, watch: None, seen: None };
        };
        let one = Selection { limit: Some(1), ..selection.clone() };
        let watch = match session.list(&gvk, &one).await {
            Ok(listing) => session.watch(&gvk, selection, Some(listing.resource_version)).await.ok(),
            Err(error) => {
                tracing::debug!(error = %diag::error_chain(&error), "cannot watch for the missing dependency");
                None
            }
        };
        Self { dependency, watch, seen: None }
    }

    /// Whether the dependency was seen just now, so that any attempt may succeed.
    fn was_just_seen(&self) -> bool {
        self.seen.is_some_and(|seen| seen.elapsed() < CATCH_UP)
    }

    /// Waits until `next_attempt`, or until the dependency exists.
    async fn wait(&mut self, next_attempt: Instant) {
        if self.was_just_seen() {
            return tokio::time::sleep(SOON).await;
        }
        let Some(watch) = &mut self.watch else { return tokio::time::sleep_until(next_attempt).await };
        loop {
            match tokio::time::timeout_at(next_attempt, watch.next()).await {
                Err(_) => return,
                Ok(Ok(WatchEvent::Applied(object))) if self.dependency.is_met_by(&object) => {
                    self.seen = Some(Instant::now());
                    return;
                }
                Ok(Ok(_)) => {}
                Ok(Err(_)) => {
                    self.watch = None;
                    return tokio::time::sleep_until(next_attempt).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
