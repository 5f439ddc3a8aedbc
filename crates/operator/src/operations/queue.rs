//! Queues at Oracle Cloud, whose operations are work requests.

use operations::{
    Call, CallError, ExternalService, Kind, OWNER_TAG, QUEUE_STATES, QUEUE_WORK_REQUESTS, Resource, Response,
    Scope, Strategy,
};
use oraclecloud::Client;
use serde_json::{Map, Value, json};

use super::drift::{Comparison, create_body, same};
use super::response::{COMPARTMENT, defined_tags, freeform_tags, number, scope, text};
use crate::api::{ObservedQueue, QueueCapability, QueueSpec};

#[derive(Clone, Debug)]
pub struct QueueService {
    client: Client,
}

impl QueueService {
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
        // An empty encryption key means none, which is also the default of a create.
        let mut body = create_body(spec, spec.freeform_tags.as_ref(), uid);
        if let Some(capabilities) = body.get_mut("capabilities") {
            *capabilities = spec.capabilities.iter().flatten().map(capability_body).collect();
        }
        body.into()
    }

    fn scope(spec: &QueueSpec) -> Scope {
        scope(&[(COMPARTMENT, Some(spec.compartment_id.as_str()))])
    }

    fn read(spec: &QueueSpec, uid: &str, body: &Value) -> Option<Resource> {
        Some(Resource {
            id: text(body, "id")?,
            raw_state: text(body, "lifecycleState"),
            details: text(body, "lifecycleDetails"),
            owner: freeform_tags(body).remove(OWNER_TAG),
            drift: compare(spec, uid, body).drift(),
            scope: scope(&[(COMPARTMENT, text(body, COMPARTMENT).as_deref())]),
            etag: None,
        })
    }

    async fn call(&self, spec: &QueueSpec, uid: &str, call: &Call) -> Result<Response, CallError> {
        let compartment = match call {
            Call::Find { scope, .. } => scope.get(COMPARTMENT),
            _ => None,
        };
        let compartment = compartment.unwrap_or(&spec.compartment_id);
        oraclecloud::call_queue(&self.client, compartment, uid, call).await
    }
}

/// What status shows of a queue. The response to a list has fewer fields and must not be used.
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
    // The service returns no key as an absent field, and a spec asks for it as an empty one.
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

/// The body of a capability: the object in `jsonData`, if there is one, overlaid with the other fields.
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

/// Whether a queue has the capability. A read returns its type but not all of its fields; those that are missing count as
/// equal.
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
