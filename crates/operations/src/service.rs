//! What a cloud service is to an operator: calls and answers as data, and the one trait a kind implements.

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::operation::Source;
use crate::state::Meaning;
use crate::trouble::Trouble;
use crate::work_request::{WorkRequest, WorkRequestWords};

/// What a kind is, as far as deciding needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in messages: `Queue`.
    pub name: &'static str,
    /// How its operations are followed.
    pub strategy: Strategy,
    /// Whether a create that is sent twice with the same token is one create.
    pub retry_tokens: bool,
}

/// How the operations of a kind are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Mutations answer with a work request, which is polled; these are the kind's words in it.
    WorkRequest(WorkRequestWords),
    /// The state of the resource is polled. A work-request id in an answer is kept, and not followed.
    Lifecycle,
}

/// One call to the provider. The shell makes it once, within a deadline, and brings the answer back.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Make the resource.
    Create {
        /// What makes a second sending the same create, for kinds that have it.
        token: Option<String>,
        /// What to send.
        body: Value,
        /// Not to be sent later than this: another leader may have judged the intent by then.
        not_after: Timestamp,
        /// Whether an earlier sending may have had its effect.
        replay: bool,
    },
    /// Change the resource.
    Update {
        /// Which one.
        id: String,
        /// The fields to change.
        body: Value,
        /// The version that was looked at.
        if_match: Option<String>,
    },
    /// Remove the resource.
    Delete {
        /// Which one.
        id: String,
        /// The version that was looked at.
        if_match: Option<String>,
    },
    /// Read the resource.
    Get {
        /// Which one.
        id: String,
        /// Whether a listing has just shown it, so that a 404 is not worth another listing.
        listed: bool,
    },
    /// Read every page of the listing of the compartment, and find the resource that carries the object's tag or
    /// the given id; for a kind with work requests also those that may be making ours.
    Find {
        /// The identifier to look for beside the tag.
        id: Option<String>,
        /// The oldest time at which a create of ours that is not settled may have been accepted; nothing when there
        /// is none, and work requests need not be read.
        since: Option<Timestamp>,
    },
    /// Read a work request.
    GetWorkRequest {
        /// Which one.
        id: String,
    },
    /// Read the first errors of a work request that ended badly, to say why.
    ExplainFailure {
        /// The work request.
        work_request: Box<WorkRequest>,
    },
}

impl Call {
    /// The name of the call, for logs and metrics: a small, fixed set.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
            Self::Get { .. } => "get",
            Self::Find { .. } => "find",
            Self::GetWorkRequest { .. } => "get-work-request",
            Self::ExplainFailure { .. } => "explain-failure",
        }
    }

    /// Whether it changes something at the provider.
    pub const fn mutates(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Update { .. } | Self::Delete { .. })
    }
}

/// A provider's answer with every header that matters, so that none can be dropped on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The body.
    pub body: Body,
    /// `opc-request-id`.
    pub request_id: Option<String>,
    /// `opc-work-request-id`.
    pub work_request_id: Option<String>,
    /// `etag`.
    pub etag: Option<String>,
    /// `retry-after`.
    pub retry_after: Option<Duration>,
}

/// The body of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    /// None.
    #[default]
    Empty,
    /// The JSON of a resource or of a work request; what [`Call::Get`], [`Call::GetWorkRequest`] and some mutations
    /// answer with.
    Json(Value),
    /// What a full listing showed; the answer to [`Call::Find`].
    Found(Found),
    /// Messages of errors, the first first; the answer to [`Call::ExplainFailure`].
    Errors(Vec<String>),
}

/// What a full listing showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The JSON of every resource that carries the object's tag or has the id asked for.
    pub resources: Vec<Value>,
    /// The ids of unfinished work requests that create something of this kind, began no earlier than asked, and
    /// cannot be told to be somebody else's.
    pub creating: Vec<String>,
}

/// A resource as the provider shows it, in the words deciding needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its identifier.
    pub id: String,
    /// The provider's word for its state.
    pub raw_state: Option<String>,
    /// What that word means; nothing when it is none of the kind's states.
    pub meaning: Option<Meaning>,
    /// What the provider says about the state.
    pub details: Option<String>,
    /// The uid in its tag `plimsoll-uid`.
    pub owner: Option<String>,
    /// How it differs from the spec.
    pub drift: Drift,
    /// Its version; taken from the answer's header.
    pub etag: Option<String>,
}

/// How a resource differs from the spec.
#[derive(Clone, Debug, PartialEq)]
pub enum Drift {
    /// Not in any field the spec sets.
    None,
    /// In fields that an update can change; this is its body.
    Update(Value),
    /// In fields that cannot be changed after the create, by name.
    Immutable(Vec<String>),
}

/// The tag by which an object recognises what it made.
pub const OWNER_TAG: &str = "plimsoll-uid";

/// A kind at a provider. Implementing this is all it takes: headers, tracker, conditions, events, retries and the
/// finalizer follow from it, and there is no place to keep a work-request id of one's own.
///
/// The first three functions are pure. [`call`](Self::call) makes exactly one attempt.
pub trait ExternalService: Send + Sync {
    /// The spec of the object.
    type Spec: Sync;

    /// What the kind is.
    const KIND: Kind;

    /// The body of a create, with the tag [`OWNER_TAG`] set to `uid`.
    fn create_body(spec: &Self::Spec, uid: &str) -> Value;

    /// What the JSON of a resource says, compared with the spec; nothing when it is no resource at all.
    fn read(spec: &Self::Spec, uid: &str, body: &Value) -> Option<Resource>;

    /// Makes one call.
    fn call(
        &self,
        spec: &Self::Spec,
        uid: &str,
        call: &Call,
    ) -> impl Future<Output = Result<Answer, Trouble>> + Send;
}

impl Strategy {
    /// The source that trackers of the kind begin with.
    pub(crate) const fn source(self) -> Source {
        match self {
            Self::WorkRequest(_) => Source::WorkRequest,
            Self::Lifecycle => Source::Lifecycle,
        }
    }
}
