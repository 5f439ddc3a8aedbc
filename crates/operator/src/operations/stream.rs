//! Streams at Oracle Cloud, whose operations are followed by lifecycle state and have no retry tokens.

use operations::{
    Call, CallError, ExternalService, Kind, OWNER_TAG, Resource, Response, STREAM_STATES, Scope, Strategy,
};
use oraclecloud::{Client, StreamScope};
use serde_json::Value;

use super::drift::{Comparison, create_body};
use super::response::{COMPARTMENT, defined_tags, freeform_tags, number, scope, text};
use crate::api::{ObservedStream, StreamSpec};

const POOL: &str = "streamPoolId";

#[derive(Clone, Debug)]
pub struct StreamService {
    client: Client,
}

impl StreamService {
    pub const fn new(client: Client) -> Self {
        Self { client }
    }
}

impl ExternalService for StreamService {
    type Spec = StreamSpec;

    const KIND: Kind =
        Kind { name: "Stream", strategy: Strategy::Lifecycle, states: STREAM_STATES, retry_tokens: false };

    fn create_body(spec: &StreamSpec, uid: &str) -> Value {
        create_body(spec, spec.freeform_tags.as_ref(), uid).into()
    }

    fn scope(spec: &StreamSpec) -> Scope {
        scope(&[(COMPARTMENT, spec.compartment_id.as_deref()), (POOL, spec.stream_pool_id.as_deref())])
    }

    fn read(spec: &StreamSpec, uid: &str, body: &Value) -> Option<Resource> {
        Some(Resource {
            id: text(body, "id")?,
            raw_state: text(body, "lifecycleState"),
            details: text(body, "lifecycleStateDetails"),
            owner: freeform_tags(body).remove(OWNER_TAG),
            drift: compare(spec, uid, body).drift(),
            // A list of the compartment shows the stream in any pool, even while it moves to another.
            scope: scope(&[(COMPARTMENT, text(body, COMPARTMENT).as_deref())]),
            etag: None,
        })
    }

    async fn call(&self, spec: &StreamSpec, uid: &str, call: &Call) -> Result<Response, CallError> {
        let listing = match call {
            Call::Find { scope, .. } => scope.clone(),
            _ => Self::scope(spec),
        };
        let compartment = listing.get(COMPARTMENT).map(|id| StreamScope::Compartment(id));
        match compartment.or(listing.get(POOL).map(|id| StreamScope::Pool(id))) {
            Some(listing) => oraclecloud::call_stream(&self.client, listing, uid, call).await,
            // The definition rejects such a spec; one that is older than the rule gets the same error.
            None => Err(CallError {
                status: Some(400),
                code: "MissingParameter".to_owned(),
                message: "neither compartmentId nor streamPoolId is set".to_owned(),
                ..CallError::default()
            }),
        }
    }
}

/// What status shows of a stream. The response to a list has fewer fields and must not be used.
impl From<&Value> for ObservedStream {
    fn from(body: &Value) -> Self {
        Self {
            id: text(body, "id"),
            name: text(body, "name"),
            partitions: number(body, "partitions"),
            retention_in_hours: number(body, "retentionInHours"),
            compartment_id: text(body, "compartmentId"),
            stream_pool_id: text(body, "streamPoolId"),
            lifecycle_state: text(body, "lifecycleState"),
            lifecycle_state_details: text(body, "lifecycleStateDetails"),
            time_created: text(body, "timeCreated"),
            messages_endpoint: text(body, "messagesEndpoint"),
            freeform_tags: freeform_tags(body),
            defined_tags: defined_tags(body, "definedTags"),
        }
    }
}

fn compare<'a>(spec: &StreamSpec, uid: &str, shown: &'a Value) -> Comparison<'a> {
    let mut comparison = Comparison::with(shown);
    comparison.fixed("name", Some(spec.name.as_str()));
    comparison.fixed("partitions", Some(spec.partitions));
    comparison.fixed("retentionInHours", spec.retention_in_hours);
    comparison.fixed("compartmentId", spec.compartment_id.as_deref());
    comparison.changeable("streamPoolId", spec.stream_pool_id.as_deref());
    comparison.tags(spec.freeform_tags.as_ref(), spec.defined_tags.as_ref(), uid);
    comparison
}

#[cfg(test)]
mod tests;
