//! The input `StatusTransformation`, as its users write it.

use serde::Deserialize;

use crate::protocol::Target;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusTransformation {
    #[serde(default)]
    pub(super) status_condition_hooks: Vec<Hook>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hook {
    #[serde(default)]
    pub(super) matchers: Vec<Matcher>,
    #[serde(default)]
    pub(super) set_conditions: Vec<SetCondition>,
    #[serde(default)]
    pub(super) create_events: Vec<CreateEvent>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Matcher {
    #[serde(default)]
    pub(super) resources: Vec<ResourceMatcher>,
    #[serde(default)]
    pub(super) include_composite_as_resource: bool,
    #[serde(default)]
    pub(super) include_extra_resources: bool,
    #[serde(rename = "type", default)]
    pub(super) kind: MatchType,
    #[serde(default)]
    pub(super) conditions: Vec<ConditionMatcher>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ResourceMatcher {
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) enum MatchType {
    AnyResourceMatchesAnyCondition,
    AnyResourceMatchesAllConditions,
    AllResourcesMatchAnyCondition,
    #[default]
    AllResourcesMatchAllConditions,
}

#[derive(Debug, Deserialize)]
pub(super) struct ConditionMatcher {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SetCondition {
    #[serde(default)]
    pub(super) target: Target,
    #[serde(default)]
    pub(super) force: bool,
    pub(super) condition: Condition,
}

#[derive(Debug, Deserialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CreateEvent {
    #[serde(default)]
    pub(super) target: Target,
    pub(super) event: Event,
}

#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) message: String,
}
