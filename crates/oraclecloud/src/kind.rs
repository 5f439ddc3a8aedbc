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
mod example;
mod field;
mod route;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use operations::{Lifecycle, Phase, Strategy, WorkRequestTypes};
use serde::Deserialize;

pub use catalogue::{Catalogue, DescriptionError, Embedded, Pattern};
pub use field::{Field, Fields, JSON_DATA, Model, Shape};
pub use route::Route;
pub(crate) use route::parameter;

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
    pub delete: Route,
    pub list: Route,
    /// Calls that no controller makes.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// The parameters of the listing, as alternatives: the first that has values is used.
    pub scope: Vec<Vec<String>>,
    /// Entries per page.
    #[serde(default = "default_page")]
    pub page: u32,
    /// Whether a listing is a bare array, and not `{"items": […]}`.
    #[serde(default)]
    pub bare_list: bool,
    /// The fields that a listing does not show.
    #[serde(default)]
    pub not_listed: Vec<String>,
    /// Whether a create that is sent twice with the same token is one create.
    #[serde(default)]
    pub retry_token: bool,
    /// The phases whose responses name a work request.
    #[serde(default)]
    pub work_requests: Vec<PhaseName>,
    /// The phases whose responses have no body; those of deletes never have one.
    #[serde(default)]
    pub bodiless: Vec<PhaseName>,
    /// The `entityType` of the kind in work requests, if it is not its name.
    #[serde(default)]
    pub entity: Option<String>,
    /// The operation types of work requests.
    #[serde(default)]
    pub operation_types: BTreeMap<String, PhaseName>,
    pub states: BTreeMap<String, State>,
    /// The field that explains the state.
    #[serde(default = "default_details")]
    pub details: String,
    /// The field that people name it by.
    pub name_field: String,
    /// The field with the address that applications use, which is also written to a Secret.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// Fields of which exactly one is set.
    #[serde(default)]
    pub exclusive: Vec<Vec<String>>,
    /// Further rules of the custom resource.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Whether its status repeats work request ids at its top level, as OSOK's Queue did.
    #[serde(default)]
    pub legacy_work_request_ids: bool,
    /// What a user asks for.
    pub spec: Fields,
    /// What the service shows.
    pub status: Fields,
}

fn default_page() -> u32 {
    100
}

fn default_details() -> String {
    "lifecycleDetails".to_owned()
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

/// A call beside the usual ones, which changes the fields that it shares with the resource.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    pub call: Route,
    /// The operation type of its work request.
    pub operation_type: String,
    pub fields: Fields,
}

/// A rule in the Common Expression Language.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    pub rule: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PhaseName {
    Create,
    Update,
    Delete,
}

impl From<PhaseName> for Phase {
    fn from(name: PhaseName) -> Self {
        match name {
            PhaseName::Create => Self::Create,
            PhaseName::Update => Self::Update,
            PhaseName::Delete => Self::Delete,
        }
    }
}

/// What a lifecycle state means, in the words of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    Creating,
    Updating,
    Deleting,
    Ready,
    Deleted,
    Failed,
    Attention,
}

impl From<State> for Lifecycle {
    fn from(state: State) -> Self {
        match state {
            State::Creating => Self::Pending(Phase::Create),
            State::Updating => Self::Pending(Phase::Update),
            State::Deleting => Self::Pending(Phase::Delete),
            State::Ready => Self::Ready,
            State::Deleted => Self::Deleted,
            State::Failed => Self::Failed,
            State::Attention => Self::Attention,
        }
    }
}

/// A described kind. Descriptions are read once and live as long as the program, so this is as cheap as a reference.
#[derive(Clone, Copy)]
pub struct Kind {
    pub service: &'static Service,
    description: &'static Description,
    /// What decisions need to know about it.
    pub decisions: operations::Kind,
}

impl Kind {
    fn new(service: &'static Service, description: &'static Description) -> Self {
        let leak = |pairs: Vec<(&'static str, Phase)>| &*pairs.leak();
        let types = description.operation_types.iter().map(|(name, phase)| (name.as_str(), (*phase).into()));
        let strategy = if description.work_requests.is_empty() {
            Strategy::Lifecycle
        } else {
            let entity = description.entity.as_deref().unwrap_or(&description.name);
            Strategy::WorkRequest(WorkRequestTypes { entity, operations: leak(types.collect()) })
        };
        let states = description.states.iter().map(|(name, state)| (name.as_str(), (*state).into()));
        let decisions = operations::Kind {
            name: &description.name,
            strategy,
            states: states.collect::<Vec<_>>().leak(),
            retry_tokens: description.retry_token,
        };
        Self { service, description, decisions }
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
        format!("{}/{}", self.service.name, self.description.name)
    }

    pub fn model(self, name: &str) -> Option<&'static Model> {
        self.service.models.get(name)
    }

    /// The fields of the spec that are part of a path: they say where a resource is, and never change.
    pub fn parents(self) -> impl Iterator<Item = &'static str> {
        self.description.create.parameters()
    }
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
