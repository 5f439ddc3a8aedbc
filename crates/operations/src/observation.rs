//! What happened since the last step: raw answers, turned into what deciding can learn from.

use std::time::Duration;

use serde_json::Value;

use crate::service::{Answer, Body, Call, ExternalService, Found, Resource, Strategy};
use crate::trouble::Trouble;
use crate::work_request::WorkRequest;

/// What happened since the last step.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation(pub(crate) Event);

impl Observation {
    /// It is time to look: the object changed, the wake-up came, or the operator has just started.
    pub const fn woke() -> Self {
        Self(Event::Woke)
    }

    /// A call came back. A body that does not fit the call is trouble that passes, as an unreadable one is.
    pub fn answered<S: ExternalService>(
        spec: &S::Spec,
        uid: &str,
        call: Call,
        result: Result<Answer, Trouble>,
    ) -> Self {
        let Answer { body, request_id, work_request_id, etag, retry_after } = match result {
            Ok(answer) => answer,
            Err(trouble) => return Self(Event::Failed { call, trouble }),
        };
        let headers = Headers {
            request_id,
            work_request_id: work_request_id.filter(|id| !id.trim().is_empty()),
            retry_after,
        };
        let read = |body: &Value| S::read(spec, uid, body);
        let learned = match (&call, body) {
            (Call::Create { .. } | Call::Update { .. } | Call::Delete { .. }, Body::Json(body)) => {
                Some(Learned::Accepted(read(&body)))
            }
            (Call::Create { .. } | Call::Update { .. } | Call::Delete { .. }, _) => {
                Some(Learned::Accepted(None))
            }
            // An answer about something else than was asked for says nothing about ours.
            (Call::Get { id, .. }, Body::Json(body)) => {
                read(&body).filter(|resource| resource.id == *id).map(Learned::Seen)
            }
            // One entry that cannot be read may be ours, so a listing with such an entry is no evidence.
            (Call::Find { .. }, Body::Found(Found { resources, creating })) => resources
                .iter()
                .map(read)
                .collect::<Option<Vec<_>>>()
                .map(|resources| Learned::Found { resources, creating: creating.len() }),
            (Call::GetWorkRequest { id }, Body::Json(body)) => match S::KIND.strategy {
                Strategy::WorkRequest(words) => Some(Learned::Polled(WorkRequest::read(&body, id, &words))),
                Strategy::Lifecycle => None,
            },
            (Call::ExplainFailure { work_request }, Body::Errors(errors)) => {
                Some(Learned::Explained(work_request.clone(), errors))
            }
            _ => None,
        };
        match learned {
            Some(mut learned) => {
                if let Learned::Seen(resource) | Learned::Accepted(Some(resource)) = &mut learned {
                    resource.etag = etag;
                }
                Self(Event::Answered { call, headers, learned })
            }
            None => Self(Event::Failed {
                trouble: Trouble {
                    status: None,
                    code: String::new(),
                    message: format!("the answer to {} cannot be read", call.name()),
                    request_id: headers.request_id,
                    retry_after,
                },
                call,
            }),
        }
    }
}

/// The same, as far as deciding is concerned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Woke,
    Answered { call: Call, headers: Headers, learned: Learned },
    Failed { call: Call, trouble: Trouble },
}

/// The headers of an answer that deciding looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Headers {
    pub(crate) request_id: Option<String>,
    pub(crate) work_request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
}

/// What was learned from a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Learned {
    /// The provider took a mutation; it may have shown the resource.
    Accepted(Option<Resource>),
    /// The resource as it is.
    Seen(Resource),
    /// What a full listing showed.
    Found { resources: Vec<Resource>, creating: usize },
    /// How a work request stands.
    Polled(WorkRequest),
    /// Why a work request failed.
    Explained(Box<WorkRequest>, Vec<String>),
}
