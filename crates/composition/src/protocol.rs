//! The messages between the engine and a function, as plain values: the fn v1 protocol without its wire format.
//!
//! The engine, the built-in functions and the gRPC adapters all speak in these types, so none of them depends on
//! generated code. Enum numbers the protocol does not define have no value here: decoding maps them to the
//! protocol's `UNSPECIFIED` reading, which the types below name as their default.

mod requirements;
mod response;
mod secret_data;

pub use requirements::{Match, Requirements, ResourceSelector, SchemaSelector};
pub use response::{
    ConditionStatus, FunctionCondition, FunctionResult, ResponseMeta, RunResponse, Severity, Target,
};
pub use secret_data::SecretData;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// A JSON object: what a `google.protobuf.Struct` holds.
///
/// All its numbers are doubles on the wire, so an integer above 2^53 does not survive a call.
pub type Object = Map<String, Value>;

/// One call of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRequest {
    /// The tag and what the engine can do.
    pub meta: RequestMeta,
    /// What was read before the pipeline started: the same for every step, hence shared.
    pub observed: Arc<State>,
    /// What the steps before this one want; empty at the first step.
    pub desired: State,
    /// The step's `input` block as written in the Composition.
    pub input: Option<Object>,
    /// What the previous step returned; the first step gets an empty object.
    pub context: Option<Object>,
    /// The deprecated twin of `required_resources`, for functions that ask through the deprecated field.
    pub extra_resources: BTreeMap<String, Vec<Resource>>,
    /// Answers to [`Requirements::resources`] and to what the Composition's step requires. A name that matched
    /// nothing is present with an empty list.
    pub required_resources: BTreeMap<String, Vec<Resource>>,
    /// Answers to [`Requirements::schemas`] and to what the Composition's step requires.
    pub required_schemas: BTreeMap<String, Schema>,
    /// The step's credentials, by the name the Composition gives them.
    pub credentials: BTreeMap<String, SecretData>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestMeta {
    /// SHA-256 in hex over the deterministic encoding of the request without its meta; opaque to functions.
    pub tag: String,
    /// What the engine honours; [`Capability::ALL`] for ours.
    pub capabilities: Vec<Capability>,
}

/// Something an engine can do that an older one cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// The engine advertises its capabilities at all.
    Capabilities,
    /// Required (formerly extra) resources.
    RequiredResources,
    /// Credentials from Secrets.
    Credentials,
    /// Conditions and targets.
    Conditions,
    /// Required schemas.
    RequiredSchemas,
}

impl Capability {
    /// Everything this engine honours, in the order in which it is sent.
    pub const ALL: [Self; 5] = [
        Self::Capabilities,
        Self::RequiredResources,
        Self::Credentials,
        Self::Conditions,
        Self::RequiredSchemas,
    ];
}

/// An XR and the resources it is composed of, observed or desired.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The XR.
    pub composite: Resource,
    /// The composed resources by their stable name in the composition, which is not `metadata.name`.
    pub resources: BTreeMap<String, Resource>,
}

/// One object with what the protocol carries beside it.
///
/// An empty `object` stands for a resource the message does not set.
#[derive(Clone, Default, PartialEq)]
pub struct Resource {
    /// The object, whole when observed, an apply intent when desired.
    pub object: Object,
    /// Connection details; in an answer only the composite's count.
    pub connection_details: SecretData,
    /// Whether the function considers it ready; never set in a request.
    pub ready: Ready,
}

impl Resource {
    /// A resource that is just this object. Anything but a JSON object is an empty one.
    pub fn of(object: Value) -> Self {
        match object {
            Value::Object(object) => Self { object, ..Self::default() },
            _ => Self::default(),
        }
    }

    /// Whether the message does not set anything here.
    pub fn is_empty(&self) -> bool {
        self.object.is_empty() && self.connection_details.is_empty() && self.ready == Ready::Unspecified
    }
}

/// Names the object and leaves its content out: it may be a Secret.
impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("?").to_owned();
        let metadata = |key| text(self.object.get("metadata").and_then(|metadata| metadata.get(key)));
        f.debug_struct("Resource")
            .field("api_version", &text(self.object.get("apiVersion")))
            .field("kind", &text(self.object.get("kind")))
            .field("namespace", &metadata("namespace"))
            .field("name", &metadata("name"))
            .field("connection_details", &self.connection_details)
            .field("ready", &self.ready)
            .finish()
    }
}

/// Whether a function considers a resource ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ready {
    /// Not set: a composed resource then counts as not ready, the composite as ready when all of them are.
    #[default]
    Unspecified,
    /// Ready.
    True,
    /// Not ready.
    False,
}

/// The answer to a required schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// The OpenAPI v3 schema with every `$ref` inlined; `None` if it was not found.
    pub openapi_v3: Option<Object>,
}
