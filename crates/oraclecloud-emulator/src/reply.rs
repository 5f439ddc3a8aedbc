//! What the cloud answers, before it becomes bytes.

use http::StatusCode;
use serde_json::{Value, json};

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
    /// Whether the body, which is a text then, is sent as it is instead of as JSON.
    pub(crate) plain: bool,
}

impl Reply {
    pub(crate) fn new(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: None, plain: false }
    }

    pub(crate) fn json(body: Value) -> Self {
        Self { body: Some(body), ..Self::new(StatusCode::OK) }
    }

    pub(crate) fn text(body: String) -> Self {
        Self { plain: true, ..Self::json(Value::String(body)) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: Option<String>) -> Self {
        self.headers.extend(value.map(|value| (name, value)));
        self
    }
}

/// A refusal with the service's word for it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Refusal {
    fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), message: message.into() }
    }

    pub(crate) fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "NotAuthenticated", message)
    }

    /// What is not there and what is not allowed look the same.
    pub(crate) fn not_authorized_or_not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotAuthorizedOrNotFound",
            "Authorization failed or requested resource not found.",
        )
    }

    pub(crate) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "There is no such operation.")
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "InvalidParameter", message)
    }

    pub(crate) fn missing(name: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "MissingParameter", format!("{name} is missing."))
    }

    pub(crate) fn unparsable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "CannotParseRequest", message)
    }

    pub(crate) fn incorrect_state(state: &str) -> Self {
        let message = format!("The resource is {state}; wait until it is not.");
        Self::new(StatusCode::CONFLICT, "IncorrectState", message)
    }

    pub(crate) fn invalidated_token(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "InvalidatedRetryToken", message)
    }

    pub(crate) fn no_etag_match() -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "NoEtagMatch", "The resource has another version by now.")
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let body = json!({"code": refusal.code, "message": refusal.message});
        Self { body: Some(body), ..Self::new(refusal.status) }
    }
}
