//! Waiting for what a user asked to wait for, and telling why it did not come.

use std::fmt::{self, Write as _};
use std::time::Duration;

use diag::Diagnostic;
use manifest::ObjectRef;
use readiness::{Cause, Check, Wait, pod_selector};
use serde_json::Value;

use crate::error::Error;
use crate::read::Selection;
use crate::session::Session;
use crate::shown::{Hidden, Shown, shown};
use crate::until::Waited;

/// How a user's wait ended.
#[derive(Clone, PartialEq)]
pub enum Readiness {
    /// The object is ready.
    Met {
        /// What the wait yields: the value of a field, nothing for other waits.
        value: Option<Value>,
        /// The object.
        object: Value,
    },
    /// It is not, and this is why. An error; whoever must not fail lowers its severity.
    Unmet {
        /// Why, with the state of the object and its pods.
        diagnosis: Box<Diagnostic>,
        /// The object as last seen; none if it is not there.
        object: Option<Value>,
    },
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met { object, .. } => {
                f.debug_struct("Met").field("value", &Hidden).field("object", &Shown(object)).finish()
            }
            Self::Unmet { diagnosis, object } => f
                .debug_struct("Unmet")
                .field("diagnosis", diagnosis)
                .field("object", &shown(object.as_ref()))
                .finish(),
        }
    }
}

/// How many pods are looked at to find out what is wrong.
const PODS: usize = 10;

impl Session {
    /// Waits until `target` is as `wait` says, or can never be, or time is over. An object that is not there yet is
    /// waited for as well, within the same time. `observe` is told why it is not over yet, whenever that changes.
    pub async fn wait_for(
        &self,
        target: &ObjectRef,
        wait: &Wait,
        observe: impl FnMut(&str),
    ) -> Result<Readiness, Error> {
        let timeout = wait.timeout.to_std().unwrap_or(Duration::ZERO);
        let check = |object: Option<&Value>| match object {
            None => Check::NotYet("it does not exist".to_owned()),
            Some(object) => wait.check(object),
        };
        let mut unread = None;
        let (why, last) = match self.wait_observed(target, timeout, check, observe).await? {
            Waited::Met { value, object: Some(object) } => return Ok(Readiness::Met { value, object }),
            Waited::Met { .. } => unreachable!("an object that does not exist is never met"),
            Waited::Never { why, object } => (Some(why), object),
            // A last look: it may have become ready in the end, and what is told should be what is.
            Waited::TimedOut { object, .. } => match self.read(target).await {
                Ok(live) => (None, live.map(|reply| reply.object)),
                Err(error) => {
                    unread = Some(error.diagnostic("Wait"));
                    (None, object)
                }
            },
        };
        let Some(object) = last else {
            let diagnosis = match unread {
                None => wait.diagnose(target, Cause::DidNotAppear),
                // Nothing is known about the object, least of all that it is not there.
                Some(error) => never_seen(error, wait),
            };
            return Ok(Readiness::Unmet { diagnosis: Box::new(diagnosis), object: None });
        };
        if let Check::Met(value) = wait.check(&object) {
            return Ok(Readiness::Met { value, object });
        }
        let pods = self.pods_of(target, &object).await;
        let cause = match &why {
            Some(why) => Cause::Never { why, object: &object, pods: &pods },
            None => Cause::TimedOut { object: &object, pods: &pods },
        };
        let mut diagnosis = wait.diagnose(target, cause);
        if let Some(error) = unread {
            let _ = write!(
                diagnosis.detail,
                "\n\nThis is how it was seen last; at the end it could not be looked at: {}",
                error.detail
            );
        }
        Ok(Readiness::Unmet { diagnosis: Box::new(diagnosis), object: Some(object) })
    }

    /// Some pods of a workload. Only for what is told about it, so that failing to read them is no failure.
    async fn pods_of(&self, target: &ObjectRef, object: &Value) -> Vec<Value> {
        let Some(labels) = pod_selector(object) else { return Vec::new() };
        let pod = "v1/Pod".parse().expect("a fixed kind");
        let selection = Selection {
            namespace: target.namespace.clone().or_else(|| manifest::Namespace::new("default")),
            labels: Some(labels),
            fields: None,
            limit: Some(PODS),
        };
        self.list(&pod, &selection).await.map(|listing| listing.items).unwrap_or_default()
    }
}

/// A wait in which the object could not be looked at. The title and the word timeout are what users match on.
fn never_seen(error: Diagnostic, wait: &Wait) -> Diagnostic {
    let detail = format!(
        "The object could not be looked at within the timeout of {}, so that it is not known whether it exists.\n\n{}",
        wait.timeout, error.detail
    );
    Diagnostic { summary: "Wait Operation Failed".to_owned(), detail, ..error }
}

#[cfg(test)]
mod tests;
