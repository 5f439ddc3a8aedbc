//! Responses of the cloud before serialization.

use http::StatusCode;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
    /// Whether the body, a string, is sent as plain text instead of JSON.
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

/// An error response, with the service's code.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl ApiError {
    fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), message: message.into() }
    }

    pub(crate) fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "NotAuthenticated", message)
    }

    /// The service does not distinguish the two.
    pub(crate) fn not_authorized_or_not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotAuthorizedOrNotFound",
            "Authorization failed or requested resource not found.",
        )
    }

    pub(crate) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "No such operation.")
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
        let message = format!("The resource is {state}.");
        Self::new(StatusCode::CONFLICT, "IncorrectState", message)
    }

    pub(crate) fn already_exists(name: &str) -> Self {
        let message = format!("Another resource has this {name}.");
        Self::new(StatusCode::CONFLICT, "NotAuthorizedOrResourceAlreadyExists", message)
    }

    pub(crate) fn invalidated_token(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "InvalidatedRetryToken", message)
    }

    pub(crate) fn no_etag_match() -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "NoEtagMatch", "The etag does not match the resource.")
    }
}

impl From<ApiError> for Reply {
    fn from(error: ApiError) -> Self {
        let body = json!({"code": error.code, "message": error.message});
        Self { body: Some(body), ..Self::new(error.status) }
    }
}
