//! Writing an object: server-side apply, and the other patches.

use http::Method;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Subject, Verb};
use crate::request::{Call, Reply, with_query};
use crate::session::Session;
use manifest::ObjectRef;

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// In whose name the fields are held.
    pub manager: &'a str,
    /// Ask what would happen, and change nothing.
    pub dry_run: bool,
    /// Take fields that other managers hold; for applies only.
    pub force: bool,
    /// Write the status, and nothing else; the kind must keep it apart.
    pub status: bool,
}

impl<'a> Write<'a> {
    /// In the name of `manager`, for real, leaving other managers' fields to them.
    pub const fn by(manager: &'a str) -> Self {
        Self { manager, dry_run: false, force: false, status: false }
    }

    /// Asks what would happen, and changes nothing.
    #[must_use]
    pub const fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Takes fields that other managers hold.
    #[must_use]
    pub const fn force(self) -> Self {
        Self { force: true, ..self }
    }

    /// Writes the status, and nothing else.
    #[must_use]
    pub const fn status(self) -> Self {
        Self { status: true, ..self }
    }

    /// The path of what is written, given the object's.
    pub(crate) fn path(self, object: String, query: &[(&str, &str)]) -> String {
        with_query(if self.status { object + "/status" } else { object }, query)
    }
}

/// The dialects of patches beside server-side apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A list of operations (RFC 6902).
    Json,
    /// A partial object in which null removes (RFC 7386).
    Merge,
    /// A partial object whose lists are merged by key; for Kubernetes' own kinds only.
    Strategic,
}

impl Dialect {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

impl Session {
    /// Applies `object` with server-side apply: one request, whose answer is the object as it now is (or, in a dry
    /// run, would be). [`Reply::created`] says whether it was new.
    ///
    /// Unknown fields are refused (`fieldValidation=Strict`). A missing kind or namespace is an error at once;
    /// [`Session::apply_when_possible`] waits for it.
    pub async fn apply(&self, target: &ObjectRef, object: &Value, write: Write<'_>) -> Result<Reply, Error> {
        let (resource, path) = self.locate(Verb::Apply, target).await?;
        let mut query = query(write);
        if write.force {
            query.push(("force", "true"));
        }
        let path = write.path(path, &query);
        let mut scoped = None;
        if !resource.namespaced && object.pointer("/metadata/namespace").is_some() {
            // As kubectl does, a namespace on a kind that has none is passed over; the server would refuse it.
            let mut body = object.clone();
            if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("namespace");
            }
            scoped = Some(body);
        }
        let body = scoped.as_ref().unwrap_or(object);
        let subject = Subject::Object(target.clone());
        let call =
            Call::write(Verb::Apply, subject, Method::PATCH, path, "application/apply-patch+yaml", body);
        self.write(&call, target, write).await
    }

    /// Patches an object that exists.
    ///
    /// A JSON patch is not repeated when the connection breaks: its operations may add up.
    pub async fn patch(
        &self,
        target: &ObjectRef,
        dialect: Dialect,
        patch: &Value,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        let (_, path) = self.locate(Verb::Patch, target).await?;
        let path = write.path(path, &query(write));
        let subject = Subject::Object(target.clone());
        let call = Call::write(Verb::Patch, subject, Method::PATCH, path, dialect.content_type(), patch);
        let call = if dialect == Dialect::Json { call.once() } else { call };
        self.write(&call, target, write).await
    }

    pub(crate) async fn write(
        &self,
        call: &Call,
        target: &ObjectRef,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        let reply = self.send_to(&target.gvk, call).await.map_err(missing_namespace)?;
        if !write.dry_run && defines_kinds(target) {
            self.forget_kinds();
        }
        Ok(reply)
    }

    /// Patches the managedFields of an object: `edit` sees the live object and says which JSON patch operations to
    /// make, or `None` when there is nothing to do.
    ///
    /// A patch applies only to the version it was made for; after a conflict the object is read and `edit` asked again.
    /// `first` is a patch that was made already, from an object that was read a moment ago.
    pub async fn edit_managed_fields(
        &self,
        target: &ObjectRef,
        write: Write<'_>,
        mut first: Option<Vec<Value>>,
        mut edit: impl FnMut(Value) -> Option<Vec<Value>>,
    ) -> Result<Option<Reply>, Error> {
        const ATTEMPTS: usize = 5;
        let mut attempt = 0;
        loop {
            let patch = if let Some(first) = first.take() {
                first
            } else {
                let Some(live) = self.read(target).await? else { return Ok(None) };
                let version = &live.object["metadata"]["resourceVersion"];
                let test = serde_json::json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
                let Some(operations) = edit(live.object) else { return Ok(None) };
                std::iter::once(test).chain(operations).collect()
            };
            attempt += 1;
            match self.patch(target, Dialect::Json, &Value::Array(patch), write).await {
                Err(error) if attempt < ATTEMPTS && lost_race(&error) => {
                    tracing::debug!(object = %target, attempt, "the object changed meanwhile; editing managedFields again");
                }
                outcome => return outcome.map(Some),
            }
        }
    }
}

pub(crate) fn query(write: Write<'_>) -> Vec<(&'static str, &str)> {
    let mut query = vec![("fieldManager", write.manager), ("fieldValidation", "Strict")];
    if write.dry_run {
        query.push(("dryRun", "All"));
    }
    query
}

/// A failing `test` operation comes as a 422 without causes, a change between the server's own reading and writing as
/// a 409.
fn lost_race(error: &Error) -> bool {
    error
        .status()
        .is_some_and(|status| status.code == 409 || (status.code == 422 && status.details.causes.is_empty()))
}

/// Whether the cluster has other kinds after `object` was written or deleted.
pub(crate) fn defines_kinds(object: &ObjectRef) -> bool {
    matches!(
        (object.group(), object.kind()),
        ("apiextensions.k8s.io", "CustomResourceDefinition") | ("apiregistration.k8s.io", "APIService")
    )
}

/// A 404 that names a namespace is about the namespace, not about the object.
fn missing_namespace(error: Error) -> Error {
    let namespace = match error.status() {
        Some(status) if status.code == 404 && status.details.kind == "namespaces" => {
            status.details.name.clone()
        }
        _ => return error,
    };
    let (verb, subject) = (error.verb(), error.subject().clone());
    let (_, retries) = error.into_kind();
    let kind = ErrorKind::NamespaceMissing { namespace, waited: std::time::Duration::ZERO };
    Error::new(verb, subject, kind, retries)
}

#[cfg(test)]
mod tests;
