//! The calls of `operations`, made with this client: one half of a kind's `ExternalService`.
//!
//! The other half, how a spec becomes a body and what counts as drift, is with the controllers.

use jiff::{SignedDuration, Timestamp};
use operations::{Body, Call, CallError, OWNER_TAG, Phase, Response, Strategy, WorkRequest};
use serde_json::Value;

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
        Call::Get { id, listed: _ } => json(resources.get(id).await),
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
            let found = found(&listing, id.as_deref(), uid, creating.unwrap_or_default());
            if kind.not_listed.iter().any(|name| name == "freeformTags") {
                return find_by_reading(&resources, kind, spec, uid, id.as_deref(), &listing, found).await;
            }
            Ok(found)
        }
        Call::GetWorkRequest { .. } | Call::ExplainFailure { .. } if !kind.has_work_requests() => {
            // A kind that is followed by its lifecycle never asks for a work request.
            let message = format!("{} has no work requests", kind.name);
            Err(CallError { message, ..CallError::default() })
        }
        Call::GetWorkRequest { id } => json(resources.work_request(id).await),
        Call::ExplainFailure { work_request } => explain(&resources, &work_request.id).await,
    }
}

/// Reads what a listing without tags may show of ours: the resources with our name or id.
async fn find_by_reading(
    resources: &Resources<'_>,
    kind: Kind,
    spec: &Value,
    uid: &str,
    id: Option<&str>,
    listing: &Listing,
    mut found: Response,
) -> Result<Response, CallError> {
    let Body::Listing { resources: ours, .. } = &mut found.body else { return Ok(found) };
    ours.clear();
    let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    let name = text(spec, &kind.name_field);
    for entry in &listing.body {
        let Some(entry_id) = text(entry, "id") else { continue };
        if id != Some(&entry_id) && text(entry, &kind.name_field) != name {
            continue;
        }
        let resource = resources.get(&entry_id).await?.body;
        if id == Some(&entry_id) || owner(&resource) == Some(uid) {
            ours.push(resource);
        }
    }
    Ok(found)
}

fn accepted(result: Accepted) -> Result<Response, CallError> {
    Ok(result?.map(|body| body.map_or(Body::Empty, Body::Json)))
}

fn json(result: Result<Response<Value>, Error>) -> Result<Response, CallError> {
    Ok(result?.map(Body::Json))
}

/// The entries of a listing that belong to the object or have the requested id.
fn found(listing: &Response<Vec<Value>>, id: Option<&str>, uid: &str, creating: Vec<String>) -> Response {
    listing.as_ref().map(|entries| {
        let ours = |entry: &&Value| {
            owner(entry) == Some(uid) || (id.is_some() && entry.get("id").and_then(Value::as_str) == id)
        };
        Body::Listing { resources: entries.iter().filter(ours).cloned().collect(), creating }
    })
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
    let texts: Vec<String> = errors
        .body
        .iter()
        .filter(|entry| !entry.message.is_empty() || entry.code.is_some())
        .map(|entry| match &entry.code {
            Some(code) => format!("{code}: {}", entry.message),
            None => entry.message.clone(),
        })
        .take(MAX_ERRORS)
        .collect();
    if !texts.is_empty() {
        return Ok(errors.map(|_| Body::Errors(texts)));
    }
    let logs = resources.work_request_logs(id).await?;
    let last = logs.body.iter().rev().map(|entry| entry.message.clone()).find(|message| !message.is_empty());
    Ok(logs.map(|_| Body::Errors(last.into_iter().collect())))
}

fn owner(resource: &Value) -> Option<&str> {
    resource.get("freeformTags")?.get(OWNER_TAG)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
