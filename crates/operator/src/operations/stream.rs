//! Stream at Oracle Cloud: followed by its lifecycle, and without retry tokens.

use operations::{
    Call, CallError, ExternalService, Kind, OWNER_TAG, Resource, Response, STREAM_STATES, Strategy,
};
use oraclecloud::{Client, StreamScope};
use serde_json::{Map, Value, json};

use super::answer::{defined_tags, freeform_tags, number, text};
use super::drift::{Comparison, new_tags};
use crate::api::{ObservedStream, StreamSpec};

/// Streams, reached with the credentials of one client.
#[derive(Clone, Debug)]
pub struct StreamService {
    client: Client,
    /// Where the object's stream was last seen.
    compartment: Option<String>,
}

impl StreamService {
    /// Streams that `client` reaches. `compartment` is the one that status shows for the object: a listing of it finds
    /// the stream whatever pool it is in, also while the spec already names the pool it is to go to.
    pub const fn new(client: Client, compartment: Option<String>) -> Self {
        Self { client, compartment }
    }

    fn home<'a>(&'a self, spec: &'a StreamSpec) -> Option<StreamScope<'a>> {
        let compartment = self.compartment.as_deref().or(spec.compartment_id.as_deref());
        compartment.map(StreamScope::Compartment).or(spec.stream_pool_id.as_deref().map(StreamScope::Pool))
    }
}

impl ExternalService for StreamService {
    type Spec = StreamSpec;

    const KIND: Kind =
        Kind { name: "Stream", strategy: Strategy::Lifecycle, states: STREAM_STATES, retry_tokens: false };

    fn create_body(spec: &StreamSpec, uid: &str) -> Value {
        let mut body = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            body.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("name", Some(json!(spec.name)));
        set("partitions", Some(json!(spec.partitions)));
        set("compartmentId", spec.compartment_id.as_deref().map(Value::from));
        set("streamPoolId", spec.stream_pool_id.as_deref().map(Value::from));
        set("retentionInHours", spec.retention_in_hours.map(Value::from));
        set("freeformTags", Some(new_tags(spec.freeform_tags.as_ref(), uid)));
        set(
            "definedTags",
            spec.defined_tags.as_ref().filter(|tags| !tags.is_empty()).map(|tags| json!(tags)),
        );
        body.into()
    }

    fn read(spec: &StreamSpec, uid: &str, body: &Value) -> Option<Resource> {
        Some(Resource {
            id: text(body, "id")?,
            raw_state: text(body, "lifecycleState"),
            details: text(body, "lifecycleStateDetails"),
            owner: freeform_tags(body).remove(OWNER_TAG),
            drift: compare(spec, uid, body).drift(),
            etag: None,
        })
    }

    async fn call(&self, spec: &StreamSpec, uid: &str, call: &Call) -> Result<Response, CallError> {
        match self.home(spec) {
            Some(home) => oraclecloud::call_stream(&self.client, home, uid, call).await,
            // The definition refuses such a spec; one that is older than the rule is told the same.
            None => Err(CallError {
                status: Some(400),
                code: "MissingParameter".to_owned(),
                message: "neither compartmentId nor streamPoolId is set".to_owned(),
                ..CallError::default()
            }),
        }
    }
}

/// What status shows of a stream that was read. A listing shows less and is not for this.
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
