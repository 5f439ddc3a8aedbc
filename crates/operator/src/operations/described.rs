//! The service of a described kind: bodies, drift and scopes by the description, calls by the client.

use std::collections::BTreeMap;
use std::sync::Arc;

use operations::{
    Body, Call, CallError, CallErrorKind, ExternalService, OWNER_TAG, Resource, Response, Scope, Unshown,
};
use oraclecloud::{Client, Kind};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::body::{create_body, sent, unshown, update_body};
use super::drift::drift;
use super::metrics::CloudMetrics;
use super::observed::{tag_value, text};
use super::secrets::Secrets;
use crate::runtime::metrics::Metrics;

/// The resources of a kind, reached with a client, or the error that every call returns, so that missing credentials are
/// reported and retried like any error.
#[derive(Clone)]
pub struct Described {
    kind: Kind,
    client: Result<Client, CallError>,
    counts: Arc<CloudMetrics>,
    secrets: Secrets,
}

impl Described {
    pub fn new(kind: Kind, client: Result<Client, CallError>, metrics: &Metrics) -> Self {
        Self { kind, client, counts: metrics.part(), secrets: Secrets::NONE }
    }

    /// With the Secrets that the spec of an object names.
    #[must_use]
    pub(super) fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// The body of an update that makes these changes.
    pub fn update_body(&self, spec: &Value, changes: &Value) -> Value {
        update_body(self.kind, spec, changes)
    }

    /// A body with the values of Secrets. Why there is no client, such as Secrets that could not be read, goes first.
    fn reveal(&self, body: &Value) -> Result<Value, CallError> {
        self.client.as_ref().map_err(CallError::clone)?;
        self.secrets.reveal(self.kind, body)
    }

    /// Whether a path with a name has led to a resource with another id.
    fn is_another(&self, body: &Value, id: &str) -> bool {
        self.kind.address.is_some() && text(body, &self.kind.id_field).is_some_and(|found| found != id)
    }

    async fn answer(&self, spec: &Value, uid: &str, call: &Call) -> Result<Response, CallError> {
        let client = self.client.as_ref().map_err(CallError::clone)?;
        let began = Instant::now();
        let result = oraclecloud::call(client, self.kind, spec, uid, call).await;
        let result = self.redacted(spec, result);
        let verdict = result.as_ref().err().map(CallError::kind);
        self.counts.call(call.name(), outcome(verdict), began.elapsed());
        if verdict == Some(CallErrorKind::Transient) {
            self.counts.retry(self.kind.label);
        }
        result
    }

    /// A service may repeat what it was sent, and what it says of a failure goes into conditions, events and logs.
    fn redacted(&self, spec: &Value, result: Result<Response, CallError>) -> Result<Response, CallError> {
        let redact = |text: &str| self.secrets.redact(self.kind, spec, text);
        match result {
            Err(error) => Err(CallError { message: redact(&error.message), ..error }),
            Ok(response) => Ok(response.map(|body| match body {
                Body::Errors(errors) => Body::Errors(errors.iter().map(|error| redact(error)).collect()),
                body => body,
            })),
        }
    }

    /// The parameters of the first listing that has values for all of them.
    fn listing(&self, value: impl Fn(&str) -> Option<String>) -> Scope {
        let given = |names: &Vec<String>| {
            names.iter().map(|name| Some((name.clone(), value(name)?))).collect::<Option<Scope>>()
        };
        self.kind.scope.iter().find_map(given).unwrap_or_default()
    }
}

impl ExternalService for Described {
    type Spec = Value;

    fn kind(&self) -> operations::Kind {
        self.kind.decisions
    }

    fn create_body(&self, spec: &Value, uid: &str) -> Value {
        self.secrets.mark(self.kind, &create_body(self.kind, spec, uid)).0
    }

    fn unshown(&self, spec: &Value) -> Option<BTreeMap<String, Unshown>> {
        unshown(self.kind, spec, &self.secrets)
    }

    fn missing_secret(&self, spec: &Value) -> Option<String> {
        // Without a client it may be that nothing could be read at all.
        self.client.as_ref().ok()?;
        let body = create_body(self.kind, spec, "");
        self.secrets.reveal(self.kind, &body).err().map(|error| error.message)
    }

    fn missing_in_updates(&self, spec: &Value) -> BTreeMap<String, String> {
        if self.client.is_err() || self.secrets.unmet(self.kind, spec).is_empty() {
            return BTreeMap::new();
        }
        let updated = self.kind.spec.iter().filter(|(_, field)| field.update);
        let missing = updated.filter_map(|(name, field)| {
            let change = json!({name: sent(self.kind, &field.shape, spec.get(name)?)});
            let body = self.update_body(spec, &change);
            Some((name.clone(), self.secrets.reveal(self.kind, &body).err()?.message))
        });
        missing.collect()
    }

    fn scope(&self, spec: &Value) -> Scope {
        self.listing(|name| text(spec, name))
    }

    fn read(&self, spec: &Value, uid: &str, body: &Value) -> Option<Resource> {
        Some(Resource {
            id: text(body, &self.kind.id_field)?,
            raw_state: text(body, "lifecycleState"),
            details: text(body, &self.kind.details).map(|it| self.secrets.redact(self.kind, spec, &it)),
            owner: body.get("freeformTags").and_then(|tags| tag_value(tags.get(OWNER_TAG)?)),
            drift: drift(self.kind, spec, uid, body),
            // What a path names, a response need not repeat.
            scope: self.listing(|name| {
                text(body, name).or_else(|| text(spec, name).filter(|_| self.kind.is_place(name)))
            }),
            etag: None,
        })
    }

    async fn call(&self, spec: &Value, uid: &str, call: &Call) -> Result<Response, CallError> {
        match call {
            Call::Find { scope, id, since } if scope.is_empty() => {
                let scope = self.scope(spec);
                if scope.is_empty() {
                    return Err(no_listing(self.kind));
                }
                let call = Call::Find { scope, id: id.clone(), since: *since };
                self.answer(spec, uid, &call).await
            }
            Call::Create { token, body, not_after, replay } => {
                let body = self.reveal(body)?;
                let (token, not_after, replay) = (token.clone(), *not_after, *replay);
                self.answer(spec, uid, &Call::Create { token, body, not_after, replay }).await
            }
            Call::Update { id, body, if_match } => {
                let body = self.reveal(&self.update_body(spec, body))?;
                let (id, if_match) = (id.clone(), if_match.clone());
                self.answer(spec, uid, &Call::Update { id, body, if_match }).await
            }
            Call::Get { id, .. } => {
                let response = self.answer(spec, uid, call).await?;
                match &response.body {
                    Body::Json(body) if self.is_another(body, id) => Err(replaced(self.kind)),
                    _ => Ok(response),
                }
            }
            _ => self.answer(spec, uid, call).await,
        }
    }
}

/// What has the name of a resource is not that resource.
fn replaced(kind: Kind) -> CallError {
    let message = format!("another {} has its name", kind.name);
    let code = "NotAuthorizedOrNotFound".to_owned();
    CallError { status: Some(404), code, message, ..CallError::default() }
}

/// The definition rejects such a spec; one that is older than the rule gets the same error.
fn no_listing(kind: Kind) -> CallError {
    let names: Vec<&str> = kind.scope.iter().flatten().map(String::as_str).collect();
    let message = match names.as_slice() {
        [one] => format!("{one} is not set"),
        names => format!("neither {} is set", names.join(" nor ")),
    };
    CallError { status: Some(400), code: "MissingParameter".to_owned(), message, ..CallError::default() }
}

/// The value of the metric's label.
const fn outcome(verdict: Option<CallErrorKind>) -> &'static str {
    match verdict {
        None => "ok",
        Some(CallErrorKind::Transient) => "passing",
        Some(CallErrorKind::Conflict) => "busy",
        Some(CallErrorKind::NotFoundOrDenied) => "unclear",
        Some(CallErrorKind::Denied) => "denied",
        Some(CallErrorKind::RetryTokenSpent) => "token-spent",
        Some(CallErrorKind::Rejected) => "rejected",
    }
}

#[cfg(test)]
mod tests;
