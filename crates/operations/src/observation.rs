//! What was observed since the last step: a provider's response, parsed into what `decide` works with.

use serde_json::Value;

use crate::binding::Scope;
use crate::call_error::CallError;
use crate::service::{Body, Call, ExternalService, Resource, Response, Strategy};
use crate::work_request::WorkRequest;

/// What was observed since the last step.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation(pub(crate) Observed);

/// Opaque to callers, so that a payload always fits its call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Observed {
    Nothing,
    Response { call: Call, response: Response<Payload> },
    Failure { call: Call, error: CallError },
}

/// What a response says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Payload {
    /// A mutation was accepted; the response may show the resource.
    Accepted(Option<Resource>),
    Resource(Resource),
    Listing {
        scope: Scope,
        resources: Vec<Resource>,
        creating: usize,
    },
    WorkRequest(WorkRequest),
    /// Why a work request failed.
    Errors(Box<WorkRequest>, Vec<String>),
}

impl Observation {
    /// Nothing yet: the object changed, its requeue is due, or the operator has just started.
    pub const fn none() -> Self {
        Self(Observed::Nothing)
    }

    /// The result of a call. A body that does not fit the call is a transient error, like an unreadable one.
    pub fn of_call<S: ExternalService>(
        service: &S,
        spec: &S::Spec,
        uid: &str,
        call: Call,
        result: Result<Response, CallError>,
    ) -> Self {
        let response = match result {
            Ok(response) => response,
            Err(error) => return Self(Observed::Failure { call, error }),
        };
        let (request_id, retry_after) = (response.request_id.clone(), response.retry_after);
        if let Some(response) = parse(service, spec, uid, &call, response) {
            return Self(Observed::Response { call, response });
        }
        let message = format!("the response to {} is unreadable", call.name());
        let error = CallError { message, request_id, retry_after, ..CallError::default() };
        Self(Observed::Failure { call, error })
    }
}

fn parse<S: ExternalService>(
    service: &S,
    spec: &S::Spec,
    uid: &str,
    call: &Call,
    mut response: Response,
) -> Option<Response<Payload>> {
    let etag = response.etag.clone();
    let read = |body: &Value| Some(Resource { etag: etag.clone(), ..service.read(spec, uid, body)? });
    let payload = match (call, std::mem::take(&mut response.body)) {
        (Call::Create { .. } | Call::Update { .. } | Call::Delete { .. }, body) => match body {
            Body::Json(body) => Payload::Accepted(read(&body)),
            _ => Payload::Accepted(None),
        },
        // A response about another resource says nothing about ours.
        (Call::Get { id, .. }, Body::Json(body)) => {
            Payload::Resource(read(&body).filter(|resource| resource.id == *id)?)
        }
        // An entry that cannot be read may be ours, so such a listing proves nothing.
        (Call::Find { scope, .. }, Body::Listing { resources, creating }) => {
            let resources = resources.iter().map(|body| service.read(spec, uid, body));
            let resources = resources.collect::<Option<_>>()?;
            Payload::Listing { scope: scope.clone(), resources, creating: creating.len() }
        }
        (Call::GetWorkRequest { id }, Body::Json(body)) => match service.kind().strategy {
            Strategy::WorkRequest(types) => Payload::WorkRequest(WorkRequest::read(&body, id, &types)),
            Strategy::Lifecycle => return None,
        },
        (Call::ExplainFailure { work_request }, Body::Errors(errors)) => {
            Payload::Errors(work_request.clone(), errors)
        }
        _ => return None,
    };
    Some(response.with_body(payload))
}
