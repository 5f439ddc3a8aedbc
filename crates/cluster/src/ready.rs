//! Waiting until an object is ready, and explaining why it is not.

use std::fmt::{self, Write as _};
use std::time::Duration;

use diag::Diagnostic;
use manifest::{GroupVersionKind, ObjectRef};
use readiness::{Cause, Check, Conditions, Mode, Wait, pod_selector};
use serde_json::Value;

use crate::error::Error;
use crate::read::Selection;
use crate::redact::Redacted;
use crate::session::Session;
use crate::wait::WaitOutcome;

/// How a user's wait ended.
#[derive(Clone, PartialEq)]
pub enum Readiness {
    /// `value` is the field a field wait yields; other waits yield nothing.
    Met { value: Option<Value>, object: Value },
    /// `diagnosis` is an error; a caller that must not fail lowers its severity. `object` is the last state seen.
    Unmet { diagnosis: Box<Diagnostic>, object: Option<Value> },
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met { object, .. } => f
                .debug_struct("Met")
                .field("value", &format_args!("(hidden)"))
                .field("object", &Redacted(object))
                .finish(),
            Self::Unmet { diagnosis, object } => f
                .debug_struct("Unmet")
                .field("diagnosis", diagnosis)
                .field("object", &object.as_ref().map(Redacted))
                .finish(),
        }
    }
}

/// The most pods to read when diagnosing a workload.
const PODS: usize = 10;

impl Session {
    /// Waits until `target` meets `wait` or never can, within the wait's timeout, which also covers waiting for the
    /// object to exist. `observe` receives the reason for waiting whenever it changes.
    pub async fn wait_for(
        &self,
        target: &ObjectRef,
        wait: &Wait,
        observe: impl FnMut(&str),
    ) -> Result<Readiness, Error> {
        let conditions = match (&wait.mode, &wait.conditions) {
            (Mode::Rollout | Mode::Condition { .. }, None) => Some(self.conditions(&target.gvk).await),
            (_, known) => known.clone(),
        };
        let wait = &Wait { conditions, ..wait.clone() };
        let timeout = wait.timeout.to_std().unwrap_or(Duration::ZERO);
        let check = |object: Option<&Value>| match object {
            None => wait.check_absent(&target.gvk),
            Some(object) => wait.check(object),
        };
        let mut unread = None;
        let (why, last) = match self.wait_observed(target, timeout, check, observe).await? {
            WaitOutcome::Met { value, object: Some(object) } => return Ok(Readiness::Met { value, object }),
            WaitOutcome::Met { .. } => unreachable!("an object that does not exist is never met"),
            WaitOutcome::Never { why, object } => (Some(why), object),
            // It may have become ready in the end, and the diagnosis should show the latest state.
            WaitOutcome::TimedOut { object, .. } => match self.read(target).await {
                Ok(live) => (None, live.map(|reply| reply.object)),
                Err(error) => {
                    unread = Some(error.diagnostic("Wait"));
                    (None, object)
                }
            },
        };
        let Some(object) = last else {
            let diagnosis = match (unread, &why) {
                // Nothing is known about the object, not even whether it exists.
                (Some(error), _) => never_seen(error, wait),
                (None, None) => wait.diagnose(target, Cause::DidNotAppear),
                (None, Some(why)) => {
                    wait.diagnose(target, Cause::Never { why, object: &Value::Null, pods: &[] })
                }
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
                "\n\nThis is the last state seen; the object could not be read at the end: {}",
                error.detail
            );
        }
        Ok(Readiness::Unmet { diagnosis: Box::new(diagnosis), object: Some(object) })
    }

    /// Which conditions the CRD of `gvk` allows. If it declares any, an object with an empty status is not ready yet.
    pub async fn conditions(&self, gvk: &GroupVersionKind) -> Conditions {
        if manifest::is_built_in_group(gvk.group()) {
            return Conditions::Unknown;
        }
        let Ok(resource) = self.resource(gvk).await else { return Conditions::Unknown };
        let crd = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
        let crd = ObjectRef::new(crd, None, resource.crd_name());
        let Ok(Some(definition)) = self.read(&crd).await else { return Conditions::Unknown };
        let spec = &definition.object["spec"];
        let mut versions = spec["versions"].as_array().into_iter().flatten();
        let version = versions.find(|version| version["name"] == gvk.version());
        version
            .filter(|_| spec["preserveUnknownFields"] != true)
            .map(Conditions::of_version)
            .unwrap_or_default()
    }

    /// Some pods of a workload. They only enrich the diagnosis, so a failed read is ignored.
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

/// A wait during which the object could never be read. Users match on the title and the word timeout.
fn never_seen(error: Diagnostic, wait: &Wait) -> Diagnostic {
    let detail = format!(
        "The object could not be read within the timeout of {}, so it is not known whether it exists.\n\n{}",
        wait.timeout, error.detail
    );
    Diagnostic { summary: "Wait Operation Failed".to_owned(), detail, ..error }
}

#[cfg(test)]
mod tests;
