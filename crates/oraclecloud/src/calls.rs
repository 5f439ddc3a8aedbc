//! The calls of `operations`, made with this client: one half of a kind's `ExternalService`.
//!
//! The other half, how a spec becomes a body and what counts as drift, needs the typed spec and stays with the
//! controllers, whose `call` delegates to one of the two functions here.

use jiff::{SignedDuration, Timestamp};
use operations::{Body, Call, CallError, OWNER_TAG, Phase, QUEUE_WORK_REQUESTS, Response, WorkRequest};
use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::listings::Listing;
use crate::queue::Accepted;
use crate::stream::StreamScope;

/// How far the service's clock, which dates work requests, may be from ours, which dates creates: as far as signatures
/// are accepted.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// A condition has room for a few errors.
const MAX_ERRORS: usize = 5;

/// Makes one call about the Queue of the object `uid`.
pub async fn call_queue(
    client: &Client,
    compartment: &str,
    uid: &str,
    call: &Call,
) -> Result<Response, CallError> {
    let queues = client.queues();
    match call {
        Call::Create { token, body, not_after, replay: _ } => {
            accepted(queues.create(body, token.as_deref(), Some(*not_after)).await)
        }
        Call::Update { id, body, if_match } => accepted(queues.update(id, body, if_match.as_deref()).await),
        Call::Delete { id, if_match } => accepted(queues.delete(id, if_match.as_deref()).await),
        Call::Get { id, listed: _ } => json(queues.get(id).await),
        Call::GetWorkRequest { id } => json(queues.work_request(id).await),
        Call::Find { id, since, scope: _ } => {
            // Work requests come first: the queue of one that ends in between is then listed.
            let work_requests = match since {
                Some(_) => queues.work_requests(compartment).await?,
                None => Listing::default(),
            };
            let listing = queues.list(compartment).await?;
            let creating = since.map(|since| creating(&work_requests.body, &listing.body, uid, since));
            Ok(found(&listing, id.as_deref(), uid, creating.unwrap_or_default()))
        }
        Call::ExplainFailure { work_request } => explain(client, &work_request.id).await,
    }
}

/// Makes one call about the Stream of the object `uid`.
pub async fn call_stream(
    client: &Client,
    scope: StreamScope<'_>,
    uid: &str,
    call: &Call,
) -> Result<Response, CallError> {
    let streams = client.streams();
    match call {
        Call::Create { token: _, body, not_after, replay: _ } => {
            accepted(streams.create(body, Some(*not_after)).await)
        }
        Call::Update { id, body, if_match } => accepted(streams.update(id, body, if_match.as_deref()).await),
        Call::Delete { id, if_match } => accepted(streams.delete(id, if_match.as_deref()).await),
        Call::Get { id, listed: _ } => json(streams.get(id).await),
        Call::Find { id, .. } => Ok(found(&*streams.list(scope).await?, id.as_deref(), uid, Vec::new())),
        // A kind that is followed by its lifecycle never asks for a work request.
        Call::GetWorkRequest { .. } | Call::ExplainFailure { .. } => {
            Err(CallError { message: "Streaming has no work requests".to_owned(), ..CallError::default() })
        }
    }
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
/// listed queue without our tag.
fn creating(work_requests: &[Value], queues: &[Value], uid: &str, since: Timestamp) -> Vec<String> {
    work_requests
        .iter()
        .filter(|body| {
            let accepted =
                body.get("timeAccepted").and_then(Value::as_str).and_then(|time| time.parse().ok());
            accepted.is_none_or(|accepted: Timestamp| since.duration_since(accepted) <= CLOCK_TOLERANCE)
        })
        .map(|body| WorkRequest::read(body, "", &QUEUE_WORK_REQUESTS))
        .filter(|work_request| work_request.phase == Some(Phase::Create) && !work_request.has_ended())
        .filter(|work_request| {
            let named = queues.iter().find(|queue| {
                work_request.resource_id.is_some()
                    && queue.get("id").and_then(Value::as_str) == work_request.resource_id.as_deref()
            });
            named.is_none_or(|queue| owner(queue) == Some(uid))
        })
        .map(|work_request| work_request.id)
        .filter(|id| !id.is_empty())
        .collect()
}

/// Why a work request failed: its errors, or the last entry of its log if the service lists none.
async fn explain(client: &Client, id: &str) -> Result<Response, CallError> {
    let queues = client.queues();
    let errors = queues.work_request_errors(id).await?;
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
    let logs = queues.work_request_logs(id).await?;
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
        let queue = |id: &str, tags: Value| json!({"id": id, "freeformTags": tags});
        let queues = [
            queue("ours", json!({"plimsoll-uid": "u1"})),
            queue("theirs", json!({"plimsoll-uid": "u2"})),
            queue("untagged", json!({})),
        ];
        let check = |change: Value, expected: bool| {
            let mut body = json!({
                "id": "wr", "operationType": "CREATE_QUEUE", "status": "IN_PROGRESS",
                "timeAccepted": "2026-01-02T03:04:05Z",
            });
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let since = "2026-01-02T03:04:05Z".parse().unwrap();
            let ids = creating(&[body], &queues, "u1", since);
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
