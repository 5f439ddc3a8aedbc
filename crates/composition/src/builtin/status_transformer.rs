//! `function-status-transformer`: turns conditions of composed resources into conditions and events for people.
//!
//! It never returns a fatal result. Its own state is the condition `StatusTransformationSuccess` on the XR, and an error
//! in one hook does not keep the others from running.

mod input;
mod matcher;
mod template;

use std::collections::{BTreeMap, BTreeSet};

use manifest::GroupVersionKind;
use serde_json::Value;

use self::input::{Hook, SetCondition, StatusTransformation};
use super::respond_to;
use crate::object;
use crate::protocol::{
    ConditionStatus, FunctionCondition, FunctionResult, Object, RunRequest, RunResponse, Severity, Target,
};

const SUCCESS: &str = "StatusTransformationSuccess";
const EXTRA_RESOURCES: &str = "apiextensions.crossplane.io/extra-resources";

/// What a message can refer to: the named groups of the patterns that matched.
type Groups = BTreeMap<String, String>;

/// Why a hook had no effect, or not its whole effect.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HookError {
    reason: &'static str,
    message: String,
}

impl HookError {
    fn matching(message: String) -> Self {
        Self { reason: "MatchFailure", message }
    }

    fn setting(message: String) -> Self {
        Self { reason: "SetConditionFailure", message }
    }
}

/// Runs every hook of the input in order.
pub(super) fn run(request: &RunRequest) -> RunResponse {
    let mut response = respond_to(request);
    let input = Value::Object(request.input.clone().unwrap_or_default());
    let transformation: StatusTransformation = match serde_path_to_error::deserialize(&input) {
        Ok(transformation) => transformation,
        Err(error) => {
            let message = format!("cannot read the input at {}: {}", error.path(), error.inner());
            response.conditions.push(own_condition(ConditionStatus::False, "InputFailure", Some(message)));
            return response;
        }
    };
    let mut done = BTreeSet::new();
    let mut errors = Vec::new();
    for (at, hook) in transformation.status_condition_hooks.iter().enumerate() {
        let mut fail = |error: HookError| {
            let message = format!("statusConditionHooks[{at}]: {}", error.message);
            errors.push(HookError { message, ..error });
        };
        match matched(hook, request) {
            Ok(Some(groups)) => fire(hook, &groups, &mut done, &mut response).into_iter().for_each(fail),
            Ok(None) => {}
            Err(error) => fail(error),
        }
    }
    response.conditions.push(match errors.first() {
        None => own_condition(ConditionStatus::True, "Available", None),
        Some(first) => {
            let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
            own_condition(ConditionStatus::False, first.reason, Some(messages.join("; ")))
        }
    });
    response
}

/// The groups of a hook all of whose matchers match. A hook without matchers never fires.
fn matched(hook: &Hook, request: &RunRequest) -> Result<Option<Groups>, HookError> {
    let mut groups = Groups::new();
    for (at, wanted) in hook.matchers.iter().enumerate() {
        let resources = candidates(wanted.include_extra_resources, request);
        let composite = wanted.include_composite_as_resource.then_some(&request.observed.composite.object);
        let found = matcher::run(wanted, &resources, composite)
            .map_err(|why| HookError::matching(format!("matchers[{at}].{why}")))?;
        let Some(found) = found else { return Ok(None) };
        groups.extend(found);
    }
    Ok((!hook.matchers.is_empty()).then_some(groups))
}

/// Sets the conditions and makes the events of a hook, as far as that goes.
fn fire(
    hook: &Hook,
    groups: &Groups,
    done: &mut BTreeSet<String>,
    response: &mut RunResponse,
) -> Vec<HookError> {
    let mut errors = Vec::new();
    for (at, set) in hook.set_conditions.iter().enumerate() {
        if done.contains(&set.condition.kind) && !set.force {
            continue;
        }
        match condition(set, groups) {
            Ok(condition) => {
                done.insert(condition.kind.clone());
                response.conditions.push(condition);
            }
            Err(why) => errors.push(HookError::setting(format!("setConditions[{at}].{why}"))),
        }
    }
    for (at, create) in hook.create_events.iter().enumerate() {
        let event = &create.event;
        let severity = match event.kind.as_deref() {
            None | Some("Normal") => Severity::Normal,
            Some("Warning") => Severity::Warning,
            Some(other) => {
                let why = format!("createEvents[{at}].event.type: {other:?} is neither Normal nor Warning");
                errors.push(HookError::setting(why));
                continue;
            }
        };
        match template::render(&event.message, groups) {
            Ok(message) => response.results.push(FunctionResult {
                severity,
                message,
                reason: event.reason.clone(),
                target: create.target,
            }),
            Err(why) => errors.push(HookError::setting(format!("createEvents[{at}].event.message: {why}"))),
        }
    }
    errors
}

fn condition(set: &SetCondition, groups: &Groups) -> Result<FunctionCondition, String> {
    let wanted = &set.condition;
    let message = wanted.message.as_deref().map(|message| template::render(message, groups)).transpose();
    Ok(FunctionCondition {
        kind: wanted.kind.clone(),
        status: ConditionStatus::parse(&wanted.status),
        reason: wanted.reason.clone(),
        message: message.map_err(|why| format!("condition.message: {why}"))?,
        target: set.target,
    })
}

/// What patterns of names are matched against: observed resources by key, and extra resources by a name made for them.
fn candidates(extra: bool, request: &RunRequest) -> BTreeMap<String, &Object> {
    let mut all: BTreeMap<String, &Object> =
        request.observed.resources.iter().map(|(key, resource)| (key.clone(), &resource.object)).collect();
    let given =
        request.context.as_ref().and_then(|context| context.get(EXTRA_RESOURCES)).and_then(Value::as_object);
    for (into, list) in given.into_iter().flatten().filter(|_| extra) {
        for item in list.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let Ok(gvk) = GroupVersionKind::of(item) else { continue };
            let namespace = object::namespace(item).unwrap_or_default();
            let name = object::name(item).unwrap_or_default();
            all.insert(
                format!("extra-resource.{into}.{}.{}.{namespace}.{name}", gvk.group(), gvk.kind()),
                item,
            );
        }
    }
    all
}

fn own_condition(status: ConditionStatus, reason: &str, message: Option<String>) -> FunctionCondition {
    let (kind, reason) = (SUCCESS.to_owned(), reason.to_owned());
    FunctionCondition { kind, status, reason, message, target: Target::Composite }
}

#[cfg(test)]
mod tests;
