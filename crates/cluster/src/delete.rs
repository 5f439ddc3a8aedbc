//! Deletes an object and waits until it is gone, or finds out what holds it.

mod namespace_content;
mod stuck;

pub use stuck::Stuck;

use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use diag::Diagnostic;
use http::Method;
use manifest::ObjectRef;
use readiness::Check;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::apply::{PatchType, Write, defines_kinds};
use crate::codes;
use crate::dependency::Dependency;
use crate::error::{Error, Verb};
use crate::read::is_absent;
use crate::request::{Call, Reply};
use crate::session::Session;
use crate::wait::WaitOutcome;

/// Options of a deletion.
#[derive(Clone, Debug)]
pub struct Delete {
    /// What happens to dependents.
    pub propagation: Propagation,
    /// Delete only the object with this uid, not a later one of the same name.
    pub uid: Option<String>,
    /// Delete only this resource version, for an object that was not read just now; another version is an error with
    /// code 409.
    pub version: Option<String>,
    /// How long to wait until the object is gone; zero means no wait.
    pub timeout: Duration,
    /// At the deadline, remove the finalizers. Their cleanup will not happen.
    pub force: bool,
}

/// What happens to the dependents of an object. Never left to the server, whose default leaves a Job's pods behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// The object is deleted at once, its dependents afterwards.
    #[default]
    Background,
    /// Dependents are deleted first.
    Foreground,
    /// Dependents stay.
    Orphan,
}

/// How a deletion ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Deletion {
    /// The server said that this very object is gone, or its kind no longer exists.
    Gone {
        /// The finalizers that were removed by force.
        forced: Vec<String>,
    },
    /// Another object has its name; it was left alone.
    Recreated,
    /// The deletion was requested, without waiting.
    Requested,
    /// The object still exists; this is what is known about the reason.
    Stuck(Box<Stuck>),
}

impl Delete {
    /// A background deletion with the default timeout of the kind.
    pub fn of(target: &ObjectRef) -> Self {
        Self {
            propagation: Propagation::Background,
            uid: None,
            version: None,
            timeout: default_timeout(target.group(), target.kind()),
            force: false,
        }
    }
}

/// The default timeout of a deletion.
fn default_timeout(group: &str, kind: &str) -> Duration {
    let minutes = match (group, kind) {
        // Their content is deleted with them.
        ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition") => 15,
        // Storage is detached first.
        ("", "PersistentVolume" | "PersistentVolumeClaim") => 10,
        // Pods stop one after another, or finish their work first.
        ("apps", "StatefulSet") | ("batch", "Job" | "CronJob") => 8,
        _ => 5,
    };
    Duration::from_secs(minutes * 60)
}

impl Deletion {
    /// The warning about a deletion that removed finalizers.
    pub fn warning(&self, target: &ObjectRef) -> Option<Diagnostic> {
        let Self::Gone { forced } = self else { return None };
        if forced.is_empty() {
            return None;
        }
        let list = forced.join("\n  - ");
        let warning = Diagnostic::warning(codes::DELETION_FORCED, "Force Destroying Resource with Finalizers")
            .detail(format!(
                "{target} was held by finalizers, which were removed:\n\n  - {list}\n\nThe cleanup they guard did not run."
            ))
            .object(target.to_string())
            .hint("Check for leftovers, for example in the cloud.");
        Some(warning)
    }
}

/// How long to wait for an object once its finalizers are removed.
const AFTER_FORCE: Duration = Duration::from_secs(60);
/// How long discovery and paths may disagree on whether a kind exists, and the pause between checks.
const UNCLEAR: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(250);
/// The pause before a deletion is requested again because a webhook could not be called.
const WEBHOOK_AGAIN: Duration = Duration::from_secs(1);
const GONE: Deletion = Deletion::Gone { forced: Vec::new() };
/// The field manager that removes finalizers.
const FORCE_MANAGER: &str = "k8sconnect-force-destroy";

impl Session {
    /// Deletes an object, and waits until it is gone.
    pub async fn delete(&self, target: &ObjectRef, how: &Delete) -> Result<Deletion, Error> {
        let uid = match self.request_deletion(target, how).await? {
            Break(end) => return Ok(end),
            Continue(uid) => uid,
        };
        if how.timeout.is_zero() {
            return Ok(Deletion::Requested);
        }
        let mut outcome = self.wait_for_absence(target, uid.as_deref(), how.timeout).await?;
        if how.force && outcome.is_continue() {
            let forced = self.remove_finalizers(target, how, uid.as_deref()).await?;
            outcome = match self.wait_for_absence(target, uid.as_deref(), AFTER_FORCE).await? {
                Break(Deletion::Gone { .. }) => Break(Deletion::Gone { forced }),
                outcome => outcome,
            };
        }
        match outcome {
            Break(end) => Ok(end),
            Continue(live) => {
                let content = namespace_content::list(self, target).await;
                let stuck = Stuck { target: target.clone(), live, waited: how.timeout, content };
                Ok(Deletion::Stuck(Box::new(stuck)))
            }
        }
    }

    /// Whether the object exists and may be deleted; deletes nothing.
    pub async fn try_delete(&self, target: &ObjectRef) -> Result<bool, Error> {
        let (_, path) = self.locate(Verb::Delete, target).await?;
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"] });
        let call = Call::write(Verb::Delete, target, Method::DELETE, path, "application/json", &options);
        match self.send_to(&target.gvk, &call).await {
            Ok(_) => Ok(true),
            Err(error) if is_absent(&error, &target.name) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Requests the deletion; continues with the uid of the object that is being deleted.
    ///
    /// Repeats the request until the outcome is clear: while a kind is being removed, its paths vanish before discovery
    /// drops it, and its webhook stops before its configuration is gone.
    async fn request_deletion(
        &self,
        target: &ObjectRef,
        how: &Delete,
    ) -> Result<ControlFlow<Deletion, Option<String>>, Error> {
        let began = Instant::now();
        loop {
            match self.request_deletion_once(target, how).await {
                Err(error) if error.is_unknown_path() && began.elapsed() < UNCLEAR => {
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) if !how.timeout.is_zero() && self.may_still_be_reviewed(&error) => {
                    tracing::info!(object = %target, error = %diag::error_chain(&error), "waiting for a webhook");
                    tokio::time::sleep(WEBHOOK_AGAIN).await;
                }
                // Without its kind, an object cannot exist; the discovery behind this error was fresh and complete.
                Err(error) if error.is_kind_absent() => return Ok(Break(GONE)),
                Err(error) if is_absent(&error, &target.name) => return Ok(Break(GONE)),
                // The only precondition is the uid, but a webhook or a busy server may report a conflict, too.
                Err(error) if how.uid.is_some() && how.version.is_none() && is_conflict(&error) => {
                    let Some(live) = self.read(target).await? else { return Ok(Break(GONE)) };
                    let is_another = live.object["metadata"]["uid"].as_str() != how.uid.as_deref();
                    return if is_another { Ok(Break(Deletion::Recreated)) } else { Err(error) };
                }
                Err(error) => return Err(error),
                // A `Status` means that the object is gone. Anything else is the object, which may still have
                // finalizers; a read will tell.
                Ok(reply) if reply.object["kind"] == "Status" => return Ok(Break(GONE)),
                Ok(reply) => {
                    return Ok(Continue(reply.object["metadata"]["uid"].as_str().map(str::to_owned)));
                }
            }
        }
    }

    /// Whether a webhook that could not review the deletion may still do so, or its configuration may still go.
    fn may_still_be_reviewed(&self, error: &Error) -> bool {
        let dependency = error.dependency();
        matches!(&dependency, Some(webhook @ Dependency::Webhook(_)) if self.may_wait_for(webhook))
    }

    async fn request_deletion_once(&self, target: &ObjectRef, how: &Delete) -> Result<Reply, Error> {
        let (_, path) = self.locate(Verb::Delete, target).await?;
        let mut options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": how.propagation,
        });
        if let Some(uid) = &how.uid {
            options["preconditions"]["uid"] = json!(uid);
        }
        if let Some(version) = &how.version {
            options["preconditions"]["resourceVersion"] = json!(version);
        }
        let call = Call::write(Verb::Delete, target, Method::DELETE, path, "application/json", &options);
        let reply = self.send_to(&target.gvk, &call).await?;
        if defines_kinds(target) {
            self.invalidate_discovery();
        }
        Ok(reply)
    }

    /// Waits until the object is gone; continues with its last state if it still exists after `timeout`.
    async fn wait_for_absence(
        &self,
        target: &ObjectRef,
        uid: Option<&str>,
        timeout: Duration,
    ) -> Result<ControlFlow<Deletion, Option<Value>>, Error> {
        let check = |object: Option<&Value>| match object {
            None => Check::Met(GONE),
            Some(object) if uid.is_some_and(|uid| object["metadata"]["uid"] != uid) => {
                Check::Met(Deletion::Recreated)
            }
            Some(_) => Check::NotYet("it still exists".to_owned()),
        };
        match self.wait_until(target, timeout, check).await {
            Ok(WaitOutcome::Met { value, .. }) => Ok(Break(value)),
            Ok(WaitOutcome::Never { object, .. } | WaitOutcome::TimedOut { object, .. }) => {
                Ok(Continue(object))
            }
            Err(error) if error.is_kind_absent() => Ok(Break(GONE)),
            Err(error) => Err(error),
        }
    }

    /// Removes all finalizers of the object and returns their names.
    async fn remove_finalizers(
        &self,
        target: &ObjectRef,
        how: &Delete,
        uid: Option<&str>,
    ) -> Result<Vec<String>, Error> {
        const ATTEMPTS: usize = 5;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let Some(live) = self.read(target).await? else { return Ok(Vec::new()) };
            let metadata = &live.object["metadata"];
            if uid.is_some_and(|uid| metadata["uid"] != uid) {
                return Ok(Vec::new());
            }
            if metadata["deletionTimestamp"].is_null() {
                // The object was recreated meanwhile, or its deletion never began.
                let _outcome =
                    self.request_deletion(target, &Delete { version: None, ..how.clone() }).await?;
            }
            let mut names = strings(&metadata["finalizers"]);
            let outcome = if names.is_empty() {
                Ok(())
            } else {
                // The resource version ensures that a finalizer added meanwhile is not removed as well.
                let patch = json!({ "metadata": {
                    "finalizers": null, "resourceVersion": metadata["resourceVersion"],
                } });
                let patched = self.patch(target, PatchType::Merge, &patch, Write::by(FORCE_MANAGER)).await;
                patched.map(drop)
            };
            let outcome = match outcome {
                Ok(()) if namespace_content::is_namespace(target) => {
                    names.extend(strings(&live.object["spec"]["finalizers"]));
                    self.finalize(target).await
                }
                outcome => outcome,
            };
            match outcome {
                Ok(()) => return Ok(names),
                Err(error) if is_absent(&error, &target.name) => return Ok(names),
                Err(error) if attempt < ATTEMPTS && is_conflict(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the finalizers in a namespace's spec, which takes the `finalize` subresource.
    async fn finalize(&self, target: &ObjectRef) -> Result<(), Error> {
        let Some(live) = self.read(target).await? else { return Ok(()) };
        let mut namespace = live.object;
        namespace["spec"]["finalizers"] = json!([]);
        let (_, path) = self.locate(Verb::Delete, target).await?;
        let path = format!("{path}/finalize");
        let call = Call::write(Verb::Delete, target, Method::PUT, path, "application/json", &namespace);
        self.send(&call).await.map(drop)
    }
}

fn is_conflict(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == 409)
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests;
