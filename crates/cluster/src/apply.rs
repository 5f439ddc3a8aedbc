//! Writes objects: server-side apply, and the other patches.

use std::borrow::Cow;

use http::Method;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Verb};
use crate::request::{Call, Reply, with_query};
use crate::session::Session;
use manifest::ObjectRef;

/// Options of a write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The field manager that owns the fields.
    pub manager: &'a str,
    /// Ask the server what would happen, without changing anything.
    pub dry_run: bool,
    /// Take fields that other managers hold; only for applies.
    pub force: bool,
    /// Write only the status; the kind must have a status subresource.
    pub status: bool,
    /// Only for applies.
    scope: ScopeCheck,
}

/// What becomes of a namespace on a cluster-scoped kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScopeCheck {
    /// It is left out, as in kubectl.
    Lenient,
    /// It is sent, and the server rejects it.
    Strict,
}

impl<'a> Write<'a> {
    /// A real write by `manager` that respects other managers' fields.
    pub const fn by(manager: &'a str) -> Self {
        Self { manager, dry_run: false, force: false, status: false, scope: ScopeCheck::Lenient }
    }

    #[must_use]
    pub const fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Takes fields that other managers hold.
    #[must_use]
    pub const fn force(self) -> Self {
        Self { force: true, ..self }
    }

    /// Writes only the status.
    #[must_use]
    pub const fn status(self) -> Self {
        Self { status: true, ..self }
    }

    /// Has the server reject a namespace on a cluster-scoped kind. By default it is ignored, as in kubectl, because the
    /// user who wrote it is the user who applies it.
    #[must_use]
    pub const fn strict_scope(self) -> Self {
        Self { scope: ScopeCheck::Strict, ..self }
    }

    /// The path to write to, given the object's path.
    pub(crate) fn path(self, object: String, query: &[(&str, &str)]) -> String {
        with_query(if self.status { object + "/status" } else { object }, query)
    }
}

/// The patch formats besides server-side apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// A list of operations (RFC 6902).
    Json,
    /// A partial object in which null removes (RFC 7386).
    Merge,
    /// A partial object whose lists are merged by key; for Kubernetes' own kinds only.
    Strategic,
}

impl PatchType {
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

impl Session {
    /// Applies `object` with server-side apply: one request, which returns the object as it is now (or, in a dry run,
    /// as it would be). [`Reply::created`] says whether it is new.
    ///
    /// Unknown fields are rejected (`fieldValidation=Strict`). A missing kind or namespace is an error at once;
    /// [`Session::apply_when_possible`] waits for it.
    pub async fn apply(&self, target: &ObjectRef, object: &Value, write: Write<'_>) -> Result<Reply, Error> {
        let (resource, path) = self.locate(Verb::Apply, target).await?;
        let mut query = query(write);
        if write.force {
            query.push(("force", "true"));
        }
        let path = write.path(path, &query);
        let mut body = Cow::Borrowed(object);
        let is_misplaced = !resource.namespaced && object.pointer("/metadata/namespace").is_some();
        if is_misplaced
            && write.scope == ScopeCheck::Lenient
            && let Some(metadata) = body.to_mut()["metadata"].as_object_mut()
        {
            metadata.remove("namespace");
        }
        let call =
            Call::write(Verb::Apply, target, Method::PATCH, path, "application/apply-patch+yaml", &body);
        self.write(&call, target, write).await
    }

    /// Patches an existing object.
    ///
    /// A JSON patch is not retried when the connection breaks: its operations may add up.
    pub async fn patch(
        &self,
        target: &ObjectRef,
        patch_type: PatchType,
        patch: &Value,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        let (_, path) = self.locate(Verb::Patch, target).await?;
        let path = write.path(path, &query(write));
        let call = Call::write(Verb::Patch, target, Method::PATCH, path, patch_type.content_type(), patch);
        let call = if patch_type == PatchType::Json { call.not_idempotent() } else { call };
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
            self.invalidate_discovery();
        }
        Ok(reply)
    }

    /// Patches the managedFields of an object: `edit` receives the live object and returns the JSON patch operations,
    /// or `None` if there is nothing to do.
    ///
    /// A patch applies only to the version it was made for; after a conflict the object is read again and passed to
    /// `edit`. `first` is a patch already made from an object that was just read.
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
            match self.patch(target, PatchType::Json, &Value::Array(patch), write).await {
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

/// A failed `test` operation comes as a 422 without causes, a change between the server's own read and write as a 409.
fn lost_race(error: &Error) -> bool {
    error
        .status()
        .is_some_and(|status| status.code == 409 || (status.code == 422 && status.details.causes.is_empty()))
}

/// Whether writing or deleting `object` changes the kinds of the cluster.
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
    error.with_kind(ErrorKind::NamespaceMissing { namespace })
}

#[cfg(test)]
mod tests;
