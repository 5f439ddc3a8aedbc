//! Crossplane's render protocol, by which another CLI runs an engine: a `RenderRequest` in, a `RenderResponse` out.

use composition::event::Event;
use composition::object;
use composition::protocol::{Match, Object, ResourceSelector, SchemaSelector};
use prost::Message as _;
use serde_json::json;

use crate::r#gen::render as pb;
use crate::wire::Struct;
use pb::render_request::Input;
use pb::render_response::Output;

#[derive(Clone, PartialEq)]
pub struct Request {
    pub composite: Object,
    pub composition: Object,
    /// The XRD.
    pub definition: Option<Object>,
    /// Names of functions and the endpoints that serve them, without TLS.
    pub functions: Vec<(String, String)>,
    /// Existing composed resources.
    pub observed: Vec<Object>,
    /// Objects that functions may require.
    pub required: Vec<Object>,
    /// OpenAPI v3 documents.
    pub schemas: Vec<Object>,
    /// Secrets.
    pub credentials: Vec<Object>,
}

#[derive(Debug, thiserror::Error)]
pub enum BadRequest {
    #[error("it is not a RenderRequest of crossplane.render.v1alpha1")]
    Malformed(#[source] prost::DecodeError),
    #[error("composite.{0}")]
    Object(String),
    #[error("it has no {0}")]
    Missing(&'static str),
    #[error("it asks to render {0}, but only composite resources can be rendered")]
    Operation(&'static str),
}

impl Request {
    pub fn read(bytes: &[u8]) -> Result<Self, BadRequest> {
        let request = pb::RenderRequest::decode(bytes).map_err(BadRequest::Malformed)?;
        let input = match request.input {
            Some(Input::Composite(input)) => input,
            Some(Input::Operation(_)) => return Err(BadRequest::Operation("an Operation")),
            Some(Input::CronOperation(_)) => return Err(BadRequest::Operation("a CronOperation")),
            Some(Input::WatchOperation(_)) => return Err(BadRequest::Operation("a WatchOperation")),
            None => return Err(BadRequest::Missing("input")),
        };
        let composite = input.composite_resource.ok_or(BadRequest::Missing("composite_resource"))?;
        let composition = input.composition.ok_or(BadRequest::Missing("composition"))?;
        let definition = input.composite_resource_definition;
        Ok(Self {
            composite: object(composite, "composite_resource")?,
            composition: object(composition, "composition")?,
            definition: definition.map(|one| object(one, "composite_resource_definition")).transpose()?,
            functions: input.functions.into_iter().map(|one| (one.name, one.address)).collect(),
            observed: objects(input.observed_resources, "observed_resources")?,
            required: objects(input.required_resources, "required_resources")?,
            schemas: objects(input.required_schemas, "required_schemas")?,
            credentials: objects(input.credentials, "credentials")?,
        })
    }
}

fn object(message: Struct, field: &str) -> Result<Object, BadRequest> {
    message.into_object().map_err(|error| BadRequest::Object(error.within(field).to_string()))
}

/// Objects in a list. Crossplane's command passes on the empty documents of a file.
fn objects(messages: Vec<Struct>, field: &str) -> Result<Vec<Object>, BadRequest> {
    let numbered = messages.into_iter().enumerate();
    let read = numbered.map(|(index, message)| object(message, &format!("{field}[{index}]")));
    read.filter(|object| !object.as_ref().is_ok_and(Object::is_empty)).collect()
}

#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The XR after reconciliation.
    pub composite: &'a Object,
    pub composed: &'a [Object],
    pub deleted: &'a [Object],
    pub events: &'a [Event],
    /// The resources that functions required.
    pub resources: &'a [ResourceSelector],
    /// The schemas that functions required.
    pub schemas: &'a [SchemaSelector],
}

impl Response<'_> {
    pub fn write(&self) -> Vec<u8> {
        let objects = |all: &[Object]| all.iter().map(Struct::new).collect();
        let event = |event: &Event| pb::Event {
            r#type: event.kind.as_str().to_owned(),
            reason: event.reason.clone(),
            message: event.message.clone(),
        };
        let output = pb::CompositeOutput {
            composite_resource: Some(Struct::new(self.composite)),
            composed_resources: objects(self.composed),
            deleted_resources: objects(self.deleted),
            events: self.events.iter().map(event).collect(),
            required_resources: self
                .resources
                .iter()
                .map(|one| Struct::new(&resource_selector(one)))
                .collect(),
            required_schemas: self.schemas.iter().map(|one| Struct::new(&schema_selector(one))).collect(),
        };
        pb::RenderResponse { output: Some(Output::Composite(output)) }.encode_to_vec()
    }
}

/// A selector in protobuf's JSON.
fn resource_selector(selector: &ResourceSelector) -> Object {
    let mut written = json!({"apiVersion": selector.api_version, "kind": selector.kind});
    match &selector.matching {
        Match::All => {}
        Match::Name(name) => written["matchName"] = name.as_str().into(),
        Match::Labels(labels) => written["matchLabels"] = json!({"labels": labels}),
    }
    if let Some(namespace) = &selector.namespace {
        written["namespace"] = namespace.as_str().into();
    }
    object::object(written)
}

fn schema_selector(selector: &SchemaSelector) -> Object {
    object::object(json!({"apiVersion": selector.api_version, "kind": selector.kind}))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn selectors_are_written_as_the_json_of_their_messages() {
        let check = |matching: Match, namespace: Option<&str>, expected: Value| {
            let namespace = namespace.map(str::to_owned);
            let (api_version, kind) = ("v1".to_owned(), "ConfigMap".to_owned());
            let selector = ResourceSelector { api_version, kind, matching, namespace };
            assert_eq!(Value::Object(resource_selector(&selector)), expected);
        };
        check(Match::All, None, json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        check(
            Match::Name("a".to_owned()),
            Some("n"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "matchName": "a", "namespace": "n"}),
        );
        check(
            Match::Labels([("app".to_owned(), "web".to_owned())].into()),
            None,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {"labels": {"app": "web"}}}),
        );
        let schema = SchemaSelector { api_version: "apps/v1".to_owned(), kind: "Deployment".to_owned() };
        assert_eq!(
            Value::Object(schema_selector(&schema)),
            json!({"apiVersion": "apps/v1", "kind": "Deployment"})
        );
    }
}
