//! Waiting for what a user asked to wait for, and telling why it did not come.

use std::time::Duration;

use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::Value;
use wait::{Cause, Check, Wait, pod_selector};

use crate::error::Error;
use crate::read::Selection;
use crate::session::Session;
use crate::until::{Verdict, Waited};

/// How a user's wait ended.
#[derive(Clone, Debug, PartialEq)]
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

/// How many pods are looked at to find out what is wrong.
const PODS: usize = 10;

impl Session {
    /// Waits until `target` is as `wait` says, or can never be, or time is over. An object that is not there yet is
    /// waited for as well, within the same time.
    pub async fn wait_for(&self, target: &ObjectRef, wait: &Wait) -> Result<Readiness, Error> {
        let timeout = wait.timeout.to_std().unwrap_or(Duration::ZERO);
        let check = |object: Option<&Value>| match object {
            None => Verdict::NotYet("it does not exist".to_owned()),
            Some(object) => match wait.check(object) {
                Check::Met(value) => Verdict::Met(value),
                Check::NotYet(why) => Verdict::NotYet(why),
                Check::Never(why) => Verdict::Never(why),
            },
        };
        let (why, last) = match self.wait_until(target, timeout, check).await? {
            Waited::Met { value, object: Some(object) } => return Ok(Readiness::Met { value, object }),
            Waited::Met { .. } => unreachable!("an object that does not exist is never met"),
            Waited::Never { why, object } => (Some(why), object),
            // A last look: it may have become ready in the end, and what is told should be what is.
            Waited::TimedOut { object, .. } => match self.read(target).await {
                Ok(live) => (None, live.map(|reply| reply.object)),
                Err(_) => (None, object),
            },
        };
        let Some(object) = last else {
            let diagnosis = Box::new(wait.diagnose(target, Cause::DidNotAppear));
            return Ok(Readiness::Unmet { diagnosis, object: None });
        };
        if let Check::Met(value) = wait.check(&object) {
            return Ok(Readiness::Met { value, object });
        }
        let pods = self.pods_of(target, &object).await;
        let cause = match &why {
            Some(why) => Cause::Never { why, object: &object, pods: &pods },
            None => Cause::TimedOut { object: &object, pods: &pods },
        };
        let diagnosis = Box::new(wait.diagnose(target, cause));
        Ok(Readiness::Unmet { diagnosis, object: Some(object) })
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
