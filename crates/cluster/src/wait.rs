//! Waiting until an object meets a check: watched, not polled, with one deadline for everything.

use std::fmt;
use std::time::Duration;

use manifest::ObjectRef;
use readiness::Check;
use serde_json::Value;

use crate::error::Error;
use crate::read::Selection;
use crate::redact::Redacted;
use crate::session::Session;
use crate::watch::{Watch, WatchEvent};

/// How a wait ended.
#[derive(Clone, PartialEq)]
pub enum WaitOutcome<T> {
    /// Met by this object, or by its absence.
    Met { value: T, object: Option<Value> },
    /// The check can never be met. `object` is the last state seen.
    Never { why: String, object: Option<Value> },
    /// `why` is what was missing last, `object` the last state seen.
    TimedOut { why: String, object: Option<Value> },
}

impl<T> fmt::Debug for WaitOutcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, why, object) = match self {
            Self::Met { object, .. } => ("Met", None, object),
            Self::Never { why, object } => ("Never", Some(why), object),
            Self::TimedOut { why, object } => ("TimedOut", Some(why), object),
        };
        let mut fields = f.debug_struct(name);
        match why {
            Some(why) => fields.field("why", why),
            None => fields.field("value", &format_args!("(hidden)")),
        };
        fields.field("object", &object.as_ref().map(Redacted)).finish()
    }
}

/// The pause between two reads when watching is forbidden or the server is unavailable.
const POLL: Duration = Duration::from_secs(2);
/// How often a silent watch is checked: if it does not work, the object is read instead.
const CHECK: Duration = Duration::from_secs(10);

impl Session {
    /// Waits until `check` is met or can never be met, for `timeout` at most, across broken connections.
    ///
    /// The check sees the current object, or `None` while it does not exist. Without permission to watch, the object is
    /// read every two seconds. Dropping the future ends the wait at once.
    pub async fn wait_until<T>(
        &self,
        target: &ObjectRef,
        timeout: Duration,
        check: impl FnMut(Option<&Value>) -> Check<T>,
    ) -> Result<WaitOutcome<T>, Error> {
        self.wait_observed(target, timeout, check, |_| {}).await
    }

    /// Like [`Session::wait_until`]; `observe` receives the reason for waiting whenever it changes.
    pub(crate) async fn wait_observed<T>(
        &self,
        target: &ObjectRef,
        timeout: Duration,
        check: impl FnMut(Option<&Value>) -> Check<T>,
        observe: impl FnMut(&str),
    ) -> Result<WaitOutcome<T>, Error> {
        let mut wait = Waiter { check, observe, object: None, why: "it has not been read yet".to_owned() };
        if timeout.is_zero() {
            let live = self.read(target).await?.map(|reply| reply.object);
            let end = wait.evaluate(live);
            return Ok(end.unwrap_or(WaitOutcome::TimedOut { why: wait.why, object: wait.object }));
        }
        match tokio::time::timeout(timeout, wait.run(self, target)).await {
            Ok(outcome) => outcome,
            Err(_) => Ok(WaitOutcome::TimedOut { why: wait.why, object: wait.object }),
        }
    }
}

struct Waiter<C, O> {
    check: C,
    observe: O,
    object: Option<Value>,
    why: String,
}

impl<T, C: FnMut(Option<&Value>) -> Check<T>, O: FnMut(&str)> Waiter<C, O> {
    async fn run(&mut self, session: &Session, target: &ObjectRef) -> Result<WaitOutcome<T>, Error> {
        let selection = Selection {
            namespace: target.namespace.clone().or_else(|| manifest::Namespace::new("default")),
            fields: Some(format!("metadata.name={}", target.name)),
            ..Selection::default()
        };
        let mut watch: Option<Watch> = None;
        loop {
            let live = match session.read(target).await {
                Ok(live) => live.map(|reply| reply.object),
                // While a kind is being removed, its paths vanish before discovery drops it; the next read settles it.
                Err(error) if error.is_server_fault() || error.is_unknown_path() => {
                    self.keep_waiting(diag::error_chain(&error));
                    tokio::time::sleep(POLL).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // The watch starts at the version just read, so no change is missed.
            let from = live.as_ref().and_then(|object| object.pointer("/metadata/resourceVersion"));
            let from = from.and_then(Value::as_str).map(str::to_owned);
            if let Some(end) = self.evaluate(live) {
                return Ok(end);
            }
            let watch = match &mut watch {
                Some(watch) => {
                    watch.resume(from);
                    watch
                }
                none => none.insert(session.watch(&target.gvk, selection.clone(), from).await?),
            };
            match self.follow(watch).await {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => {}
                // Reading is allowed, watching is not.
                Err(error) if error.status().is_some_and(|status| status.code == 403) => {
                    tokio::time::sleep(POLL).await;
                }
                // The kind may be going away; the next read settles it. The watch itself backs off.
                Err(error) if error.is_unknown_path() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Checks every change until the wait ends or the object has to be read again.
    async fn follow(&mut self, watch: &mut Watch) -> Result<Option<WaitOutcome<T>>, Error> {
        loop {
            let event = match tokio::time::timeout(CHECK, watch.next()).await {
                Ok(event) => event?,
                Err(_) => match watch.trouble() {
                    None => continue,
                    Some(trouble) => {
                        tracing::debug!(trouble, "the watch does not work; reading the object");
                        return Ok(None);
                    }
                },
            };
            let now = match event {
                WatchEvent::Applied(object) => Some(object),
                WatchEvent::Deleted(_) => None,
                WatchEvent::Expired => return Ok(None),
            };
            if let Some(end) = self.evaluate(now) {
                return Ok(Some(end));
            }
        }
    }

    fn evaluate(&mut self, object: Option<Value>) -> Option<WaitOutcome<T>> {
        let verdict = (self.check)(object.as_ref());
        self.object = object;
        match verdict {
            Check::Met(value) => Some(WaitOutcome::Met { value, object: self.object.take() }),
            Check::Never(why) => Some(WaitOutcome::Never { why, object: self.object.take() }),
            Check::NotYet(why) => {
                self.keep_waiting(why);
                None
            }
        }
    }

    fn keep_waiting(&mut self, why: String) {
        if self.why != why {
            (self.observe)(&why);
            self.why = why;
        }
    }
}

#[cfg(test)]
mod tests;
