//! Writes to the cluster, a few at a time: passes may be many, and the API server is not to notice.

use cluster::{Delete, Deletion, Dialect, Error, Propagation, Reply, Session, Write};
use composition::object;
use composition::run::Object;
use manifest::{IdentityError, ObjectRef};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::said::chain;

/// As many writes as are on their way at once. More only wait at the API server, which then turns some away.
const AT_ONCE: usize = 24;

/// Writes to the cluster.
pub(crate) struct Writer {
    session: Session,
    turns: Semaphore,
}

/// Why a write did not happen.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// What is to be written is of no kind.
    #[error(transparent)]
    Kind(#[from] IdentityError),
    /// The API server did not do as asked.
    #[error(transparent)]
    Cluster(#[from] Error),
}

impl WriteError {
    /// Whether somebody else was faster, so that all that is to be done is to look again.
    pub(super) fn is_outdated(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.class() == cluster::Class::Outdated)
    }

    /// Whether the API server refuses the object as invalid.
    pub(super) fn is_invalid(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.status().is_some_and(|status| status.code == 422))
    }

    /// Whether we may not.
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.class() == cluster::Class::InsufficientPermissions)
    }

    /// Whether what was to be written does not exist.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.class() == cluster::Class::NotFound)
    }

    /// What the API server finds invalid, as far as it says the same each time.
    pub(super) fn refusal(&self) -> String {
        let causes = self.status().map(|status| status.details.causes.as_slice()).unwrap_or_default();
        let cause = |cause: &cluster::StatusCause| json!({"field": cause.field, "reason": cause.reason});
        let causes: Vec<Value> = causes.iter().map(cause).collect();
        composition::health::refusal(&json!({"details": {"causes": causes}}))
    }

    /// A stable word for what went wrong.
    pub(super) fn class(&self) -> String {
        match self {
            Self::Kind(_) => "BadKind".to_owned(),
            Self::Cluster(error) => format!("{:?}", error.class()),
        }
    }

    /// What went wrong, as the API server says it if it said something.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Kind(error) => error.to_string(),
            Self::Cluster(error) => said(error),
        }
    }

    /// The API server's own account.
    pub(super) fn status(&self) -> Option<&cluster::ApiStatus> {
        match self {
            Self::Kind(_) => None,
            Self::Cluster(error) => error.status(),
        }
    }
}

/// What went wrong, as the API server says it if it said something.
pub(super) fn said(error: &Error) -> String {
    match error.status() {
        Some(status) if !status.message.is_empty() => status.message.clone(),
        _ => chain(error),
    }
}

impl Writer {
    /// Writes with `session`.
    pub(crate) fn new(session: Session) -> Self {
        Self { session, turns: Semaphore::new(AT_ONCE) }
    }

    /// Applies `intent` with force: fields it names are `manager`'s from now on.
    pub(super) async fn apply(&self, intent: &Object, manager: &str) -> Result<Object, WriteError> {
        self.apply_with(intent, Write::by(manager).force()).await
    }

    /// Applies the status in `intent` with force.
    pub(super) async fn apply_status(&self, intent: &Object, manager: &str) -> Result<Object, WriteError> {
        self.apply_with(intent, Write::by(manager).force().status()).await
    }

    async fn apply_with(&self, intent: &Object, write: Write<'_>) -> Result<Object, WriteError> {
        let target = ObjectRef::of(intent)?;
        let body = Value::Object(intent.clone());
        let _turn = self.turn().await;
        Ok(answer(self.session.apply(&target, &body, write).await?))
    }

    /// Puts `object` in the place of the one it was made from, unless that has changed.
    pub(super) async fn replace(&self, object: &Object, manager: &str) -> Result<Object, WriteError> {
        self.replace_with(object, Write::by(manager)).await
    }

    /// Puts the status of `object` in the place of the one it was made from, unless the object has changed.
    pub(super) async fn replace_status(&self, object: &Object, manager: &str) -> Result<Object, WriteError> {
        self.replace_with(object, Write::by(manager).status()).await
    }

    async fn replace_with(&self, object: &Object, write: Write<'_>) -> Result<Object, WriteError> {
        let target = ObjectRef::of(object)?;
        let body = Value::Object(object.clone());
        let _turn = self.turn().await;
        Ok(answer(self.session.replace(&target, &body, write).await?))
    }

    /// Patches `object` by JSON operations.
    pub(super) async fn patch(
        &self,
        object: &Object,
        operations: &Value,
        manager: &str,
    ) -> Result<Object, WriteError> {
        let target = ObjectRef::of(object)?;
        let _turn = self.turn().await;
        let write = Write::by(manager);
        Ok(answer(self.session.patch(&target, Dialect::Json, operations, write).await?))
    }

    /// Asks an object to go, if it still is the one with `uid`; whether it was there.
    pub(super) async fn delete(
        &self,
        target: &ObjectRef,
        uid: Option<String>,
        propagation: Propagation,
    ) -> Result<bool, WriteError> {
        let how =
            Delete { propagation, uid, version: None, timeout: std::time::Duration::ZERO, force: false };
        let _turn = self.turn().await;
        Ok(self.session.delete(target, &how).await? == Deletion::Asked)
    }

    async fn turn(&self) -> SemaphorePermit<'_> {
        self.turns.acquire().await.expect("nobody closes it")
    }
}

fn answer(reply: Reply) -> Object {
    object::from_value(reply.object)
}
