//! What a cloud service is to an operator: calls and responses as data, and the one trait that a kind implements.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::binding::Scope;
use crate::call_error::CallError;
use crate::lifecycle::Lifecycle;
use crate::operation::Source;
use crate::work_request::{WorkRequest, WorkRequestTypes};

/// What `decide` needs to know about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in messages: `Queue`.
    pub name: &'static str,
    pub strategy: Strategy,
    /// Every lifecycle state of a resource of this kind; none for a kind that has no states.
    pub states: &'static [(&'static str, Lifecycle)],
    /// Whether a create that is sent twice with the same token is one create.
    pub retry_tokens: bool,
}

impl Kind {
    /// What a state of the provider means, ignoring case and surrounding blanks; none for a state that the kind does not
    /// have. A resource without states is ready as soon as it can be read.
    pub fn lifecycle(&self, raw_state: Option<&str>) -> Option<Lifecycle> {
        if self.states.is_empty() {
            return Some(Lifecycle::Ready);
        }
        let raw = raw_state?.trim();
        self.states.iter().find(|(state, _)| state.eq_ignore_ascii_case(raw)).map(|(_, lifecycle)| *lifecycle)
    }
}

/// How the operations of a kind are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Mutations return a work request, which is polled.
    WorkRequest(WorkRequestTypes),
    /// The state of the resource is polled. A work request id in a response is recorded but not followed.
    Lifecycle,
}

impl Strategy {
    /// The source that trackers of the kind start with.
    pub(crate) const fn source(self) -> Source {
        match self {
            Self::WorkRequest(_) => Source::WorkRequest,
            Self::Lifecycle => Source::Lifecycle,
        }
    }
}

/// One call to the provider. The shell makes a single attempt, within a deadline, and returns the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Create {
        /// Makes a replay the same create, for kinds that support it.
        token: Option<String>,
        body: Value,
        /// Must not be sent later: by then another leader may have concluded that it was not sent.
        not_after: Timestamp,
        /// Whether an earlier attempt may have taken effect.
        replay: bool,
    },
    Update {
        id: String,
        /// The fields to change.
        body: Value,
        /// The version that was read.
        if_match: Option<String>,
    },
    Delete {
        id: String,
        /// The version that was read.
        if_match: Option<String>,
    },
    Get {
        id: String,
        /// Whether a listing has just shown it, so that a 404 is not worth another listing.
        listed: bool,
    },
    /// Reads every page of a listing and finds the resources that carry the object's tag or the given id; for a kind
    /// with work requests also those that may be creating ours.
    Find {
        /// The listing: the one that shows what a create of ours made, whatever the spec says by now.
        scope: Scope,
        id: Option<String>,
        /// When an unresolved create of ours was sent; without one, work requests need not be read.
        since: Option<Timestamp>,
    },
    GetWorkRequest {
        id: String,
    },
    /// Reads the first errors of a work request that failed.
    ExplainFailure {
        work_request: Box<WorkRequest>,
    },
}

impl Call {
    /// The name of the call in logs and metrics: a small, fixed set.
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

/// A provider's response with every header that matters, so that none is dropped on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response<T = Body> {
    pub body: T,
    /// The HTTP status.
    pub status: u16,
    /// `opc-request-id`.
    pub request_id: Option<String>,
    /// `opc-work-request-id`.
    pub work_request_id: Option<String>,
    pub etag: Option<String>,
    pub retry_after: Option<Duration>,
}

impl<T> Response<T> {
    /// The same headers with a reference to the body.
    pub fn as_ref(&self) -> Response<&T> {
        let Self { body, status, request_id, work_request_id, etag, retry_after } = self;
        let (request_id, work_request_id) = (request_id.clone(), work_request_id.clone());
        Response {
            body,
            status: *status,
            request_id,
            work_request_id,
            etag: etag.clone(),
            retry_after: *retry_after,
        }
    }

    /// The same headers with another body.
    pub fn with_body<U>(self, body: U) -> Response<U> {
        self.map(|_| body)
    }

    /// The same headers with what `change` makes of the body.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Response<U> {
        let Self { body, status, request_id, work_request_id, etag, retry_after } = self;
        Response { body: change(body), status, request_id, work_request_id, etag, retry_after }
    }
}

/// The body of a response.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    #[default]
    Empty,
    /// The JSON of a resource or of a work request: the response to [`Call::Get`], [`Call::GetWorkRequest`] and some
    /// mutations.
    Json(Value),
    /// A full listing: the response to [`Call::Find`].
    Listing {
        /// Every resource that carries the object's tag or has the requested id.
        resources: Vec<Value>,
        /// The ids of unfinished work requests that create a resource of this kind, were accepted no earlier than
        /// requested, and are not known to belong to another object.
        creating: Vec<String>,
    },
    /// Error messages, the first one first: the response to [`Call::ExplainFailure`].
    Errors(Vec<String>),
}

/// A resource as the provider shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    pub id: String,
    /// The lifecycle state in the provider's words.
    pub raw_state: Option<String>,
    /// The provider's explanation of the state.
    pub details: Option<String>,
    /// The uid in its tag [`OWNER_TAG`].
    pub owner: Option<String>,
    pub drift: Drift,
    /// The listing that shows it; empty if the response does not say.
    pub scope: Scope,
    /// Its version; taken from the header of the response.
    pub etag: Option<String>,
}

/// How a resource differs from the spec, in the fields that the spec sets.
#[derive(Clone, Debug, PartialEq)]
pub enum Drift {
    None,
    /// In fields that an update can change; this is its body.
    Update(Value),
    /// In where it is listed, which changes by itself; this is the body.
    Move(Value),
    /// In these fields, which cannot change after creation.
    Immutable(Vec<String>),
}

/// What the provider does not show as it was sent: a field such as a password, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Unshown {
    /// What the spec asks for there. Of a secret, its version; of one that cannot be changed, the name of its Secret.
    pub value: Value,
    /// The value of the field in an update; none if no update can change it.
    pub change: Option<Value>,
    /// The Secrets that it takes values from, by name.
    pub reference: Option<Value>,
    /// One of these Secrets is missing, so it is not known which value the spec asks for.
    pub is_missing: bool,
}

impl Unshown {
    /// A part that no update can change.
    pub fn fixed(value: Value) -> Self {
        Self { value, change: None, reference: None, is_missing: false }
    }
}

/// The tag by which an object recognises what it created.
pub const OWNER_TAG: &str = "plimsoll-uid";

/// A kind at a provider. Headers, tracker, conditions, events, retries and the finalizer follow from it, and there is no
/// place to keep a work request id of one's own.
///
/// All functions but [`call`](Self::call) are pure; that one makes exactly one attempt.
pub trait ExternalService: Send + Sync {
    type Spec: Sync;

    fn kind(&self) -> Kind;

    /// The body of a create, with the tag [`OWNER_TAG`] set to `uid`.
    fn create_body(&self, spec: &Self::Spec, uid: &str) -> Value;

    /// What the spec asks for where the provider does not show it: by field, or by path below a field what cannot be changed.
    /// None for a kind that shows everything.
    fn unshown(&self, _spec: &Self::Spec) -> Option<BTreeMap<String, Unshown>> {
        None
    }

    /// Why a create of this spec cannot be sent yet, although the provider would be asked: it takes a value from a Secret that
    /// does not exist.
    fn missing_secret(&self, _spec: &Self::Spec) -> Option<String> {
        None
    }

    /// The same for updates, by each field that makes one necessary.
    fn missing_in_updates(&self, _spec: &Self::Spec) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// The listing that shows what a create of this spec makes.
    fn scope(&self, spec: &Self::Spec) -> Scope;

    /// Parses the JSON of a resource and compares it with the spec; none when it is not a resource.
    fn read(&self, spec: &Self::Spec, uid: &str, body: &Value) -> Option<Resource>;

    fn call(
        &self,
        spec: &Self::Spec,
        uid: &str,
        call: &Call,
    ) -> impl Future<Output = Result<Response, CallError>> + Send;
}
