//! Queue at Oracle Cloud: followed by its work requests.

use operations::{
    Call, CallError, ExternalService, Kind, OWNER_TAG, QUEUE_STATES, QUEUE_WORK_REQUESTS, Resource, Response,
    Strategy,
};
use oraclecloud::Client;
use serde_json::{Map, Value, json};

use super::answer::{defined_tags, freeform_tags, number, text};
use super::drift::{Comparison, new_tags, same};
use crate::api::{ObservedQueue, QueueCapability, QueueSpec};

/// Queues, reached with the credentials of one client.
#[derive(Clone, Debug)]
pub struct QueueService {
    client: Client,
}

impl QueueService {
    /// Queues that `client` reaches.
    pub const fn new(client: Client) -> Self {
        Self { client }
    }
}

impl ExternalService for QueueService {
    type Spec = QueueSpec;

    const KIND: Kind = Kind {
        name: "Queue",
        strategy: Strategy::WorkRequest(QUEUE_WORK_REQUESTS),
        states: QUEUE_STATES,
        retry_tokens: true,
    };

    fn create_body(spec: &QueueSpec, uid: &str) -> Value {
        let mut body = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            body.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("displayName", Some(json!(spec.display_name)));
        set("compartmentId", Some(json!(spec.compartment_id)));
        set("retentionInSeconds", spec.retention_in_seconds.map(Value::from));
        set("visibilityInSeconds", spec.visibility_in_seconds.map(Value::from));
        set("timeoutInSeconds", spec.timeout_in_seconds.map(Value::from));
        set("channelConsumptionLimit", spec.channel_consumption_limit.map(Value::from));
        set("deadLetterQueueDeliveryCount", spec.dead_letter_queue_delivery_count.map(Value::from));
        // The empty key means none, which is what a create without it asks for.
        let key = spec.custom_encryption_key_id.as_deref().filter(|key| !key.is_empty());
        set("customEncryptionKeyId", key.map(Value::from));
        let capabilities = spec.capabilities.as_deref().filter(|capabilities| !capabilities.is_empty());
        set("capabilities", capabilities.map(|list| list.iter().map(capability_body).collect()));
        set("freeformTags", Some(new_tags(spec.freeform_tags.as_ref(), uid)));
        set(
            "definedTags",
            spec.defined_tags.as_ref().filter(|tags| !tags.is_empty()).map(|tags| json!(tags)),
        );
        body.into()
    }

    fn read(spec: &QueueSpec, uid: &str, body: &Value) -> Option<Resource> {
        Some(Resource {
            id: text(body, "id")?,
            raw_state: text(body, "lifecycleState"),
            details: text(body, "lifecycleDetails"),
            owner: freeform_tags(body).remove(OWNER_TAG),
            drift: compare(spec, uid, body).drift(),
            etag: None,
        })
    }

    async fn call(&self, spec: &QueueSpec, uid: &str, call: &Call) -> Result<Response, CallError> {
        oraclecloud::call_queue(&self.client, &spec.compartment_id, uid, call).await
    }
}

/// What status shows of a queue that was read. A listing shows less and is not for this.
impl From<&Value> for ObservedQueue {
    fn from(body: &Value) -> Self {
        let capabilities = body.get("capabilities").and_then(Value::as_array).into_iter().flatten();
        Self {
            id: text(body, "id"),
            compartment_id: text(body, "compartmentId"),
            time_created: text(body, "timeCreated"),
            time_updated: text(body, "timeUpdated"),
            lifecycle_state: text(body, "lifecycleState"),
            lifecycle_details: text(body, "lifecycleDetails"),
            messages_endpoint: text(body, "messagesEndpoint"),
            retention_in_seconds: number(body, "retentionInSeconds"),
            visibility_in_seconds: number(body, "visibilityInSeconds"),
            timeout_in_seconds: number(body, "timeoutInSeconds"),
            channel_consumption_limit: number(body, "channelConsumptionLimit"),
            dead_letter_queue_delivery_count: number(body, "deadLetterQueueDeliveryCount"),
            display_name: text(body, "displayName"),
            custom_encryption_key_id: text(body, "customEncryptionKeyId"),
            freeform_tags: freeform_tags(body),
            defined_tags: defined_tags(body, "definedTags"),
            system_tags: defined_tags(body, "systemTags"),
            capabilities: capabilities.filter_map(observed_capability).collect(),
        }
    }
}

fn compare<'a>(spec: &QueueSpec, uid: &str, shown: &'a Value) -> Comparison<'a> {
    let mut comparison = Comparison::with(shown);
    comparison.fixed("compartmentId", Some(spec.compartment_id.as_str()));
    comparison.fixed("retentionInSeconds", spec.retention_in_seconds);
    comparison.changeable("displayName", Some(spec.display_name.as_str()));
    comparison.changeable("visibilityInSeconds", spec.visibility_in_seconds);
    comparison.changeable("timeoutInSeconds", spec.timeout_in_seconds);
    comparison.changeable("channelConsumptionLimit", spec.channel_consumption_limit);
    comparison.changeable("deadLetterQueueDeliveryCount", spec.dead_letter_queue_delivery_count);
    // No key is shown as an absent one, and asked for as an empty one.
    if let Some(key) = &spec.custom_encryption_key_id
        && text(shown, "customEncryptionKeyId").unwrap_or_default() != *key
    {
        comparison.change("customEncryptionKeyId", json!(key));
    }
    let capabilities: Vec<Value> = spec.capabilities.iter().flatten().map(capability_body).collect();
    if !capabilities.iter().all(|wanted| shows_capability(shown, wanted)) {
        comparison.change("capabilities", capabilities.into());
    }
    comparison.tags(spec.freeform_tags.as_ref(), spec.defined_tags.as_ref(), uid);
    comparison
}

/// What is sent for a capability: the object in `jsonData`, if there is one, with the other fields on top.
fn capability_body(capability: &QueueCapability) -> Value {
    let QueueCapability { json_data, .. } = capability;
    let given = json_data.as_deref().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let mut body = given.clone().unwrap_or_default();
    if let Ok(Value::Object(mut fields)) = serde_json::to_value(capability) {
        if given.is_some() || json_data.as_deref().is_some_and(|text| text.trim().is_empty()) {
            fields.remove("jsonData");
        }
        body.extend(fields);
    }
    body.into()
}

/// Whether a queue shows the capability. A read names a capability's type and not all of its fields, so what it does
/// not show is taken to be as asked.
fn shows_capability(queue: &Value, wanted: &Value) -> bool {
    let Some(kind) = wanted.get("type").and_then(Value::as_str) else { return true };
    let shown = queue.get("capabilities").and_then(Value::as_array);
    shown.into_iter().flatten().any(|shown| {
        let named = shown.get("type").unwrap_or(shown).as_str();
        let fields = shown.as_object().into_iter().flatten().filter(|(name, _)| *name != "type");
        named.is_some_and(|named| named.eq_ignore_ascii_case(kind))
            && fields
                .into_iter()
                .all(|(name, shown)| wanted.get(name).is_none_or(|wanted| same(wanted, shown)))
    })
}

fn observed_capability(shown: &Value) -> Option<QueueCapability> {
    let kind = shown.get("type").unwrap_or(shown).as_str()?.to_owned();
    let read = serde_json::from_value(shown.clone()).unwrap_or_default();
    Some(QueueCapability { kind: Some(kind), ..read })
}

#[cfg(test)]
mod tests;
