//! A kind of resource at Oracle Cloud, described as data: its calls, its fields and its states.
//!
//! A file of descriptions is one service, as JSON. From it follow the client's calls ([`Resources`](crate::Resources)), the
//! custom resource and its controller in the operator, and the emulation: nothing is written for a kind by hand.
//!
//! ```text
//! kinds/SERVICE.json ─▶ Service ─▶ Kind ─┬─▶ Resources: signed calls
//!  (compressed by build.rs)              ├─▶ operations::Kind: what decisions need to know
//!                                        └─▶ fields: schema, bodies, drift, status, emulation
//! ```

mod catalogue;
mod check;
mod example;
mod field;
mod route;
mod unshown;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

pub use operations::{Lifecycle, Phase};
use operations::{Strategy, WorkRequestTypes};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub use catalogue::{Catalogue, Embedded, Pattern};
pub use check::DescriptionError;
pub use example::Extent;
pub use field::{Field, Fields, JSON_DATA, Model, Shape};
pub use route::{Route, parameter};
pub use unshown::Hidden;

/// A service of Oracle Cloud and its kinds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// Its name in an override, and the first part of the API group: `queue`.
    pub name: String,
    /// Its address, with the place of `{region}` and `{domain}`.
    pub host: String,
    /// The version of its API, which starts every path; may be empty.
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub work_requests: Option<WorkRequestCalls>,
    /// Objects that fields are made of, by name.
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
    pub kinds: Vec<Description>,
}

/// Where the work requests of a service are read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkRequestCalls {
    /// The name, address and version of the service that has them, if it is another one.
    #[serde(default)]
    pub service: Option<Address>,
    pub get: Route,
    /// Those of a compartment.
    #[serde(default)]
    pub list: Option<Route>,
    #[serde(default)]
    pub errors: Option<Route>,
    #[serde(default)]
    pub logs: Option<Route>,
}

/// Where requests go: the name of a service in an override, its host and the version of its API.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Address {
    pub name: String,
    pub host: String,
    #[serde(default)]
    pub version: String,
}

/// One kind, as its file describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a file states properties that do not depend on each other"
)]
pub struct Description {
    /// `Queue`.
    pub name: String,
    /// In the API server's paths: `queues`.
    pub plural: String,
    /// What it is called in a sentence, if not its name in lower case.
    #[serde(default)]
    pub noun: Option<String>,
    /// Whether it was derived from Oracle's SDK and no more than that: never exercised beyond the emulator's rules.
    #[serde(default)]
    pub derived: bool,
    #[serde(default)]
    pub doc: Docs,
    pub create: Route,
    pub get: Route,
    pub update: Route,
    /// One that is no `DELETE` only schedules the deletion.
    pub delete: Route,
    pub list: Route,
    /// What moves a resource to another compartment; without it, one stays where it was created.
    #[serde(default)]
    pub change_compartment: Option<Route>,
    /// The field of a response that identifies the resource.
    #[serde(default = "id")]
    pub id_field: String,
    /// The field of the spec that names the resource in paths, if it is not the id.
    #[serde(default)]
    pub address: Option<String>,
    /// Whether no two resources of a listing have the same name. What has no tags is found again by it.
    #[serde(default)]
    pub unique_name: bool,
    /// The parameters of the listing, as alternatives: the first that has values is used.
    pub scope: Vec<Vec<String>>,
    /// Entries per page.
    #[serde(default = "page")]
    pub page: u32,
    /// Whether a listing is a bare array, and not `{"items": […]}`.
    #[serde(default)]
    pub bare_list: bool,
    /// The fields that a listing does not show, and those that only a listing shows.
    #[serde(default)]
    pub not_listed: Vec<String>,
    #[serde(default)]
    pub listed: Fields,
    /// Whether a create that is sent twice with the same token is one create.
    #[serde(default)]
    pub retry_token: bool,
    /// The phases whose responses name a work request.
    #[serde(default)]
    pub work_requests: Vec<Phase>,
    /// The phases whose responses show the resource.
    #[serde(default = "bodies")]
    pub bodies: Vec<Phase>,
    /// The `entityType` of the kind in work requests, if it is not its name.
    #[serde(default)]
    pub entity: Option<String>,
    /// The operation types of work requests.
    #[serde(default)]
    pub operation_types: BTreeMap<String, Phase>,
    /// What each state means; a kind without states is ready as soon as it can be read.
    #[serde(default)]
    pub states: BTreeMap<String, Lifecycle>,
    /// The field that explains the state.
    #[serde(default = "details")]
    pub details: String,
    /// The field that people name it by.
    pub name_field: String,
    /// The fields with the addresses that applications use, which are also written to a Secret, by its entries. One field is the
    /// entry `endpoint`.
    #[serde(default, deserialize_with = "entries")]
    pub endpoint: BTreeMap<String, String>,
    /// Fields of which exactly one is set.
    #[serde(default)]
    pub exclusive: Vec<Vec<String>>,
    /// Further rules of the custom resource.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What the operator may do beyond what follows from the description, as rules of a `ClusterRole`.
    #[serde(default, rename = "extraRBACMarkers")]
    pub extra_rights: Vec<Value>,
    /// Whether its status repeats work request ids at its top level, as OSOK's Queue did.
    #[serde(default)]
    pub legacy_work_request_ids: bool,
    /// What a user asks for.
    pub spec: Model,
    /// What the service shows.
    pub status: Model,
}

impl Description {
    /// Whether what is created carries a tag by which it is found again.
    pub fn takes_tags(&self) -> bool {
        !self.unique_name && self.spec.get("freeformTags").is_some_and(|field| !field.late)
    }
}

fn id() -> String {
    "id".to_owned()
}

const fn page() -> u32 {
    100
}

fn bodies() -> Vec<Phase> {
    vec![Phase::Create, Phase::Update]
}

fn details() -> String {
    "lifecycleDetails".to_owned()
}

fn entries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(String),
        Several(BTreeMap<String, String>),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::One(field) => [("endpoint".to_owned(), field)].into(),
        Written::Several(entries) => entries,
    })
}

/// Sentences of the custom resource; derived kinds have none.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Docs {
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub spec: Option<String>,
    #[serde(default)]
    pub status: Option<String>,
}

/// A rule in the Common Expression Language.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    pub rule: String,
    pub message: String,
}

/// A described kind. Descriptions are read once and live as long as the program, so this is as cheap as a reference.
#[derive(Clone, Copy)]
pub struct Kind {
    pub service: &'static Service,
    description: &'static Description,
    /// What decisions need to know about it.
    pub decisions: operations::Kind,
    /// `queue/Queue`, as metrics name it: several services have a kind of the same name.
    pub label: &'static str,
}

impl Kind {
    fn new(service: &'static Service, description: &'static Description) -> Self {
        let strategy = if description.work_requests.is_empty() {
            Strategy::Lifecycle
        } else {
            let entity = description.entity.as_deref().unwrap_or(&description.name);
            Strategy::WorkRequest(WorkRequestTypes {
                entity,
                operations: pairs(&description.operation_types),
            })
        };
        let decided = operations::Kind {
            name: &description.name,
            strategy,
            states: pairs(&description.states),
            retry_tokens: description.retry_token,
        };
        let label = format!("{}/{}", service.name, description.name).leak();
        Self { service, description, decisions: decided, label }
    }

    /// The description itself, for as long as the program runs.
    pub const fn description(self) -> &'static Description {
        self.description
    }

    pub const fn has_work_requests(self) -> bool {
        matches!(self.decisions.strategy, Strategy::WorkRequest(_))
    }

    /// `queue.oracle.com`.
    pub fn group(self) -> String {
        format!("{}{GROUP_SUFFIX}", self.service.name)
    }

    /// What the kind is called in a sentence.
    pub fn noun(self) -> String {
        self.description.noun.clone().unwrap_or_else(|| self.description.name.to_lowercase())
    }

    /// `queue/Queue`, as patterns name it.
    pub fn path(self) -> String {
        self.label.to_owned()
    }

    pub fn model(self, name: &str) -> Option<&'static Model> {
        self.service.models.get(name)
    }

    /// Whether a field of the spec says where a resource is, and is part of no body.
    pub fn is_place(self, name: &str) -> bool {
        self.description.spec[name].local || self.description.create.parameters().any(|it| it == name)
    }

    /// Whether a resource can go to another compartment.
    pub fn can_move(self) -> bool {
        let field = self.description.spec.get("compartmentId");
        field.is_some_and(|field| {
            (field.update || self.change_compartment.is_some()) && !self.is_place("compartmentId")
        })
    }

    /// The values that a response has in a field, if they are known.
    pub fn known_values(self, name: &str) -> Option<&'static [String]> {
        match &self.description.status.get(name)?.shape {
            Shape::OneOf(values) => Some(values),
            _ => None,
        }
    }

    /// A value that is made of others, rebuilt from what becomes of each; any other value as it is.
    pub fn rebuild(self, shape: &Shape, value: &Value, part: Rebuild<'_>) -> Value {
        match (shape, value) {
            (Shape::List(of), Value::Array(entries)) => {
                let entries = entries.iter().enumerate();
                entries.filter_map(|(index, it)| part(Part::Index(index), of, it)).collect()
            }
            (Shape::Map(of), Value::Object(entries)) => {
                let entries = entries.iter();
                entries
                    .filter_map(|(name, it)| Some((name.clone(), part(Part::Key(name), of, it)?)))
                    .collect()
            }
            (Shape::Model(name), Value::Object(_)) => {
                self.model(name).map_or_else(|| value.clone(), |model| rebuild_object(model, value, part))
            }
            _ => value.clone(),
        }
    }

    /// Whether a value of this shape may name a Secret.
    pub fn has_secret(self, shape: &Shape) -> bool {
        match shape {
            Shape::Secret => true,
            Shape::List(of) | Shape::Map(of) => self.has_secret(of),
            Shape::Model(name) => self
                .model(name)
                .is_some_and(|model| model.values().any(|field| self.has_secret(&field.shape))),
            _ => false,
        }
    }
}

/// What a value is made of.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    Index(usize),
    Key(&'a str),
    /// A field, if its object has such a field.
    Field(&'a str, Option<&'a Field>),
}

pub type Rebuild<'a> = &'a mut dyn FnMut(Part<'_>, &Shape, &Value) -> Option<Value>;

/// An object, rebuilt from what becomes of its fields.
pub fn rebuild_object(model: &Model, object: &Value, part: Rebuild<'_>) -> Value {
    let entries = object.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, value)| {
            let field = model.get(name);
            let shape = field.map_or(&Shape::Any, |field| &field.shape);
            Some((name.clone(), part(Part::Field(name, field), shape, value)?))
        })
        .collect()
}

fn pairs<T: Copy>(map: &'static BTreeMap<String, T>) -> &'static [(&'static str, T)] {
    map.iter().map(|(name, value)| (name.as_str(), *value)).collect::<Vec<_>>().leak()
}

/// The end of every API group of Oracle's kinds.
const GROUP_SUFFIX: &str = ".oracle.com";

/// The service whose kinds are in an API group.
pub fn service_of(group: &str) -> Option<&str> {
    group.strip_suffix(GROUP_SUFFIX)
}

impl Deref for Kind {
    type Target = Description;

    fn deref(&self) -> &Description {
        self.description
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.description, other.description)
    }
}

impl Eq for Kind {}
