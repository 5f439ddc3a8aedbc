//! The calls of `operations`, made with this client: one half of a kind's `ExternalService`.
//!
//! The other half, how a spec becomes a body and what counts as drift, is with the controllers.

use jiff::{SignedDuration, Timestamp};
use operations::{Body, Call, CallError, OWNER_TAG, Phase, Response, Strategy, WorkRequest};
use serde_json::{Value, json};

use crate::client::Client;
use crate::error::Error;
use crate::kind::Kind;
use crate::listings::Listing;
use crate::resources::{Accepted, Resources};

/// How far the service's clock, which dates work requests, may be from ours, which dates creates: as far as signatures
/// are accepted.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// A condition has room for a few errors.
const MAX_ERRORS: usize = 5;

/// Makes one call about the resource of the object `uid`, which asks for `spec`.
pub async fn call(
    client: &Client,
    kind: Kind,
    spec: &Value,
    uid: &str,
    call: &Call,
) -> Result<Response, CallError> {
    let resources = client.resources(kind).within(spec);
    match call {
        Call::Create { token, body, not_after, replay: _ } => {
            accepted(resources.create(body, token.as_deref(), Some(*not_after)).await)
        }
        Call::Update { id, body, if_match } => {
            accepted(resources.update(id, body, if_match.as_deref()).await)
        }
        Call::Delete { id, if_match } => accepted(resources.delete(id, if_match.as_deref()).await),
        Call::Get { id, listed: _ } => read(resources.get(id).await),
        Call::Find { id, since, scope } => {
            // Work requests come first: the resource of one that ends in between is then listed.
            let work_requests = match (since, scope.get("compartmentId")) {
                (Some(_), Some(compartment)) if kind.has_work_requests() => {
                    resources.work_requests(compartment).await?
                }
                _ => Listing::default(),
            };
            let listing = resources.list(scope).await?;
            let creating = since.map(|since| creating(kind, &work_requests.body, &listing.body, uid, since));
            let mut found = Vec::new();
            for entry in &listing.body {
                let asked_for = id.is_some() && text(entry, &kind.id_field) == id.as_deref();
                let named = text(entry, &kind.name_field) == text(spec, &kind.name_field);
                if asked_for || owner(entry) == Some(uid) {
                    found.push(entry.clone());
                } else if kind.unique_name {
                    let ours = named && since.is_some_and(|since| created_after(entry, since) == Some(true));
                    found.extend(ours.then(|| tagged(entry, uid)));
                } else if !shows(kind, "freeformTags")
                    && (named || since.is_some_and(|since| created_after(entry, since) != Some(false)))
                {
                    // Only a read shows whose it is. Its name may have changed since the create was sent.
                    let name = kind.address.as_ref().unwrap_or(&kind.id_field);
                    let resource = resources.get(text(entry, name).unwrap_or_default()).await?.body;
                    let asked_for = id.is_some() && text(&resource, &kind.id_field) == id.as_deref();
                    found.extend((asked_for || owner(&resource) == Some(uid)).then_some(resource));
                }
            }
            let creating = creating.unwrap_or_default();
            Ok(listing.as_ref().as_ref().map(|_| Body::Listing { resources: found, creating }))
        }
        Call::GetWorkRequest { .. } | Call::ExplainFailure { .. } if !kind.has_work_requests() => {
            // A kind that is followed by its lifecycle never asks for a work request.
            let message = format!("{} has no work requests", kind.name);
            Err(CallError { message, ..CallError::default() })
        }
        Call::GetWorkRequest { id } => read(resources.work_request(id).await),
        Call::ExplainFailure { work_request } => explain(&resources, &work_request.id).await,
    }
}

/// Whether a listing shows a field.
fn shows(kind: Kind, name: &str) -> bool {
    !kind.not_listed.iter().any(|it| it == name)
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Whether a resource can be what our create made, if it says when it was created: one that was there before is another's.
fn created_after(resource: &Value, since: Timestamp) -> Option<bool> {
    let created: Timestamp = text(resource, "timeCreated")?.parse().ok()?;
    Some(since.duration_since(created) <= CLOCK_TOLERANCE)
}

/// A resource that cannot carry our tag, as if it did.
fn tagged(resource: &Value, uid: &str) -> Value {
    let mut resource = resource.clone();
    resource["freeformTags"] = json!({OWNER_TAG: uid});
    resource
}

fn accepted(result: Accepted) -> Result<Response, CallError> {
    Ok(result?.map(|body| body.map_or(Body::Empty, Body::Json)))
}

fn read(result: Result<Response<Value>, Error>) -> Result<Response, CallError> {
    Ok(result?.map(Body::Json))
}

/// The unfinished creates that may be ours: accepted no earlier than `since`, allowing for clock skew, and not naming a
/// listed resource without our tag.
fn creating(
    kind: Kind,
    work_requests: &[Value],
    resources: &[Value],
    uid: &str,
    since: Timestamp,
) -> Vec<String> {
    let Strategy::WorkRequest(types) = kind.decisions.strategy else { return Vec::new() };
    work_requests
        .iter()
        .filter(|body| {
            let accepted =
                body.get("timeAccepted").and_then(Value::as_str).and_then(|time| time.parse().ok());
            accepted.is_none_or(|accepted: Timestamp| since.duration_since(accepted) <= CLOCK_TOLERANCE)
        })
        .map(|body| WorkRequest::read(body, "", &types))
        .filter(|work_request| work_request.phase == Some(Phase::Create) && !work_request.has_ended())
        .filter(|work_request| {
            let named = resources.iter().find(|resource| {
                work_request.resource_id.is_some()
                    && resource.get("id").and_then(Value::as_str) == work_request.resource_id.as_deref()
            });
            named.is_none_or(|resource| owner(resource) == Some(uid))
        })
        .map(|work_request| work_request.id)
        .filter(|id| !id.is_empty())
        .collect()
}

/// Why a work request failed: its errors, or the last entry of its log if the service lists none.
async fn explain(resources: &Resources<'_>, id: &str) -> Result<Response, CallError> {
    let errors = resources.work_request_errors(id).await?;
    if !errors.body.is_empty() {
        return Ok(errors.map(|texts| Body::Errors(texts.into_iter().take(MAX_ERRORS).collect())));
    }
    let logs = resources.work_request_logs(id).await?;
    Ok(logs.map(|mut texts| Body::Errors(texts.pop().into_iter().collect())))
}

fn owner(resource: &Value) -> Option<&str> {
    resource.get("freeformTags")?.get(OWNER_TAG)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_request_may_be_ours_unless_its_queue_is_not() {
        let queue = crate::Catalogue::standard().get("queue/Queue").unwrap();
        let shown = |id: &str, tags: Value| json!({"id": id, "freeformTags": tags});
        let queues = [
            shown("ours", json!({"plimsoll-uid": "u1"})),
            shown("theirs", json!({"plimsoll-uid": "u2"})),
            shown("untagged", json!({})),
        ];
        let check = |change: Value, expected: bool| {
            let mut body = json!({
                "id": "wr", "operationType": "CREATE_QUEUE", "status": "IN_PROGRESS",
                "timeAccepted": "2026-01-02T03:04:05Z",
            });
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let since = "2026-01-02T03:04:05Z".parse().unwrap();
            let ids = creating(queue, &[body], &queues, "u1", since);
            assert_eq!(ids == ["wr"], expected, "{change}");
        };
        let naming = |id: &str| json!({"resources": [{"entityType": "queue", "actionType": "IN_PROGRESS", "identifier": id}]});
        check(json!({}), true);
        check(json!({"timeAccepted": "2026-01-02T02:59:05Z"}), true);
        check(json!({"timeAccepted": "2026-01-02T02:59:04Z"}), false);
        check(json!({"timeAccepted": "unreadable"}), true);
        check(json!({"status": "SUCCEEDED"}), false);
        check(json!({"status": "NEW_STATUS"}), true);
        check(json!({"operationType": "DELETE_QUEUE"}), false);
        check(naming("not listed yet"), true);
        check(naming("ours"), true);
        check(naming("theirs"), false);
        check(naming("untagged"), false);
    }
}
