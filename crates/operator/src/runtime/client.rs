//! The one way to read and write single objects, with a limit on concurrent writes.

use std::sync::Arc;

use cluster::{Class, Delete, Deletion, Error, PatchType, Propagation, Reply, Selection, Session, Write};
use diag::error_chain;
use manifest::{GroupVersionKind, IdentityError, ObjectRef, json_object};
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::controller::{asked_to_wait, goes_first};
use super::leadership::{Leadership, NotLeading};

/// More writes at once would only queue up at the API server, which then rejects some.
const MAX_CONCURRENT_WRITES: usize = 24;
/// How many more are for what users have just asked for, which does not wait behind everything that is merely due.
const RESERVED_WRITES: usize = 8;

/// How often an edit is tried while other writers are first.
const MAX_EDITS: usize = 4;

/// The manager of what the operator writes for itself, beside the fields that it holds under the names of Crossplane.
pub(crate) const MANAGER: &str = "plimsoll-operator";

/// A Kubernetes object as JSON.
pub type Object = Map<String, Value>;

/// Reads and writes objects. Clones share the limit.
#[derive(Clone)]
pub struct ObjectClient {
    session: Session,
    /// The operator's own session, even when this client acts as another user.
    own: Session,
    writes: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
    leadership: Leadership,
}

/// Which part of an object is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Status,
}

/// Why an object was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Cluster(Error),
    #[error(transparent)]
    NotLeading(#[from] NotLeading),
}

/// What the server asks for with an error, the controller does.
impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        error.retry_after().into_iter().for_each(asked_to_wait);
        Self::Cluster(error)
    }
}

impl ApiError {
    /// Whether another writer changed the object first, so that it has to be read again; or another copy of the operator
    /// writes now. Neither is a failure that users should read about.
    pub(crate) fn is_conflict(&self) -> bool {
        self.is(Class::Outdated) || matches!(self, Self::NotLeading(_))
    }

    /// Whether the API server rejected the object as invalid.
    pub(crate) fn is_invalid(&self) -> bool {
        self.status().is_some_and(|status| status.code == 422)
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        self.is(Class::InsufficientPermissions)
    }

    /// Whether the object does not exist, or its namespace does not.
    pub(crate) fn is_not_found(&self) -> bool {
        self.is(Class::NotFound) || self.is(Class::NamespaceMissing)
    }

    /// Whether no version of the kind is served.
    pub(crate) fn is_kind_absent(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.is_kind_absent())
    }

    pub(crate) fn is_already_exists(&self) -> bool {
        self.is(Class::AlreadyExists)
    }

    fn is(&self, class: Class) -> bool {
        matches!(self, Self::Cluster(error) if error.class() == class)
    }

    /// A stable word for what went wrong.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::Identity(_) => "BadKind",
            Self::NotLeading(_) => "NotLeading",
            Self::Cluster(error) => error.class().name(),
        }
    }

    /// What went wrong, in the API server's own words if it gave any.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Identity(error) => error.to_string(),
            Self::NotLeading(error) => error.to_string(),
            Self::Cluster(error) => match error.status() {
                Some(status) if !status.message.is_empty() => status.message.clone(),
                _ => error_chain(error),
            },
        }
    }

    /// The fields that the API server finds invalid, and its reasons.
    pub(crate) fn causes(&self) -> impl Iterator<Item = (&str, &str)> {
        let causes = self.status().map(|status| status.details.causes.as_slice()).unwrap_or_default();
        causes.iter().map(|cause| (cause.field.as_str(), cause.reason.as_str()))
    }

    pub(crate) fn status(&self) -> Option<&cluster::ApiStatus> {
        match self {
            Self::Identity(_) | Self::NotLeading(_) => None,
            Self::Cluster(error) => error.status(),
        }
    }
}

impl ObjectClient {
    pub fn new(session: Session) -> Self {
        let (writes, reserved) = (Semaphore::new(MAX_CONCURRENT_WRITES), Semaphore::new(RESERVED_WRITES));
        let leadership = Leadership::default();
        let own = session.clone();
        Self { session, own, writes: Arc::new(writes), reserved: Arc::new(reserved), leadership }
    }

    /// A client that writes only while `leadership` holds.
    #[must_use]
    pub(crate) fn while_leading(self, leadership: Leadership) -> Self {
        Self { leadership, ..self }
    }

    /// A client whose requests are made as `user`.
    pub(crate) fn acting_as(&self, user: &str) -> Self {
        Self { session: self.session.acting_as(user), ..self.clone() }
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    /// Reads an object, through another version of its kind if this one is not served.
    pub(crate) async fn read(&self, target: &ObjectRef) -> Result<Option<Object>, ApiError> {
        let read = match self.session.read(target).await {
            Err(error) => match error.served_target(target) {
                Some(served) => self.session.read(&served).await,
                None => Err(error),
            },
            read => read,
        };
        Ok(read?.map(object))
    }

    /// Whether the API server has `object` in this version. What is stored may be of a history that a restore has undone, so this
    /// is asked before something is created that only a reference from before justifies.
    pub(crate) async fn is_current(&self, object: &Object) -> Result<bool, ApiError> {
        let live = self.read(&ObjectRef::of(object)?).await?;
        let identity = |object| (json_object::uid(object), json_object::resource_version(object));
        Ok(live.as_ref().is_some_and(|live| identity(live) == identity(object)))
    }

    /// All objects of a kind, through another version if this one is not served.
    pub(crate) async fn list(&self, gvk: &GroupVersionKind) -> Result<Vec<Object>, ApiError> {
        let everything = Selection::default();
        let listed = match self.session.list(gvk, &everything).await {
            Err(error) => match error.served_instead() {
                Some(other) => self.session.list(other, &everything).await,
                None => Err(error),
            },
            listed => listed,
        };
        Ok(listed?.items.into_iter().map(json_object::from_value).collect())
    }

    pub(crate) async fn create(&self, object: &Object, manager: &str) -> Result<Object, ApiError> {
        let (target, body) = (ObjectRef::of(object)?, Value::Object(object.clone()));
        let _permit = self.permit().await?;
        Ok(self::object(self.session.create(&target, &body, Write::by(manager)).await?))
    }

    /// Applies `intent` with force: `manager` owns the fields it names from now on.
    pub(crate) async fn apply(&self, intent: &Object, manager: &str) -> Result<Object, ApiError> {
        self.apply_with(intent, Write::by(manager).force().strict_scope()).await
    }

    /// Applies `intent` with force, but only to the object with the uid of `live`. Otherwise an operator that was
    /// suspended during a deletion would create the object again.
    pub(crate) async fn apply_to(
        &self,
        live: &Object,
        intent: &Object,
        manager: &str,
    ) -> Result<Object, ApiError> {
        self.apply_with(&with_uid(intent, live), Write::by(manager).force()).await
    }

    /// Applies the status in `intent` with force to the very object that `live` is.
    pub(crate) async fn apply_status_to(
        &self,
        live: &Object,
        intent: &Object,
        manager: &str,
    ) -> Result<Object, ApiError> {
        self.apply_with(&with_uid(intent, live), Write::by(manager).force().status()).await
    }

    async fn apply_with(&self, intent: &Object, write: Write<'_>) -> Result<Object, ApiError> {
        let (target, body) = (ObjectRef::of(intent)?, Value::Object(intent.clone()));
        let _permit = self.permit().await?;
        Ok(object(self.session.apply(&target, &body, write).await?))
    }

    /// Replaces the version that `object` was made from; a conflict if there is a newer one.
    pub(crate) async fn replace(&self, object: &Object, manager: &str) -> Result<Object, ApiError> {
        self.replace_with(object, Write::by(manager)).await
    }

    /// Replaces the status of the version that `object` was made from; a conflict if there is a newer one.
    pub(crate) async fn replace_status(&self, object: &Object, manager: &str) -> Result<Object, ApiError> {
        self.replace_with(object, Write::by(manager).status()).await
    }

    async fn replace_with(&self, object: &Object, write: Write<'_>) -> Result<Object, ApiError> {
        let (target, body) = (ObjectRef::of(object)?, Value::Object(object.clone()));
        let _permit = self.permit().await?;
        Ok(self::object(self.session.replace(&target, &body, write).await?))
    }

    /// Replaces `known` with what `edit` makes of it; after a conflict, the newest version, a few times. The object as it then
    /// is, or `None` if there is nothing to do: `edit` says so, the object is gone, or another one has its name.
    ///
    /// The newest version is read by the operator: a user whom this client acts as may write what it may not read.
    pub(crate) async fn edit(
        &self,
        known: Object,
        part: Part,
        manager: &str,
        edit: impl Fn(&Object) -> Option<Object> + Send + Sync,
    ) -> Result<Option<Object>, ApiError> {
        let target = ObjectRef::of(&known)?;
        let uid = json_object::uid(&known).map(str::to_owned);
        let reader = Self { session: self.own.clone(), ..self.clone() };
        let mut current = Some(known);
        let mut edits = 0;
        while let Some(edited) = current.as_ref().and_then(&edit) {
            edits += 1;
            let written = match part {
                Part::Whole => self.replace(&edited, manager).await,
                Part::Status => self.replace_status(&edited, manager).await,
            };
            match written {
                Err(error) if error.is_conflict() && edits < MAX_EDITS => {}
                Err(error) if error.is_not_found() => return Ok(None),
                written => return written.map(Some),
            }
            current = reader.read(&target).await?;
            current = current.filter(|current| json_object::uid(current) == uid.as_deref());
        }
        Ok(None)
    }

    pub(crate) async fn patch(
        &self,
        object: &Object,
        patch_type: PatchType,
        patch: &Value,
        manager: &str,
    ) -> Result<Object, ApiError> {
        let target = ObjectRef::of(object)?;
        let _permit = self.permit().await?;
        Ok(self::object(self.session.patch(&target, patch_type, patch, Write::by(manager)).await?))
    }

    /// Requests the deletion of an object if it still is the one with `uid`, and does not wait for it; whether it was
    /// there.
    pub(crate) async fn delete(
        &self,
        target: &ObjectRef,
        uid: Option<&str>,
        version: Option<&str>,
        propagation: Propagation,
    ) -> Result<bool, ApiError> {
        let how = Delete {
            propagation,
            uid: uid.map(str::to_owned),
            version: version.map(str::to_owned),
            timeout: std::time::Duration::ZERO,
            force: false,
        };
        let _permit = self.permit().await?;
        let deleted = match self.session.delete(target, &how).await {
            Err(error) => match error.served_target(target) {
                Some(served) => self.session.delete(&served, &how).await,
                None => Err(error),
            },
            deleted => deleted,
        };
        Ok(deleted? == Deletion::Requested)
    }

    /// The turn to write, if this copy still leads when it comes.
    async fn permit(&self) -> Result<SemaphorePermit<'_>, NotLeading> {
        let permit = if goes_first() {
            tokio::select! {
                biased;
                permit = self.reserved.acquire() => permit,
                permit = self.writes.acquire() => permit,
            }
        } else {
            self.writes.acquire().await
        };
        self.leadership.check()?;
        Ok(permit.expect("the semaphore is never closed"))
    }
}

/// `intent` with the uid of `live`, which the API server takes as a precondition.
fn with_uid(intent: &Object, live: &Object) -> Object {
    let mut intent = intent.clone();
    json_object::set_metadata(&mut intent, "uid", json_object::uid(live));
    intent
}

fn object(reply: Reply) -> Object {
    json_object::from_value(reply.object)
}

#[cfg(test)]
mod tests;
