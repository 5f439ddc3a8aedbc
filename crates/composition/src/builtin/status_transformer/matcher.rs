//! Whether resources show the conditions a matcher looks for, and what its patterns capture.

use std::collections::BTreeMap;

use regex::Regex;

use super::Groups;
use super::input::{ConditionMatcher, MatchType, Matcher};
use crate::condition::Conditions;
use crate::protocol::{ConditionStatus, Object};

/// The groups captured if the matcher matches. Without a resource, or without a condition, nothing does.
pub(super) fn run(
    matcher: &Matcher,
    candidates: &BTreeMap<String, &Object>,
    composite: Option<&Object>,
) -> Result<Option<Groups>, String> {
    let mut resources: BTreeMap<&str, &Object> = BTreeMap::new();
    for (at, wanted) in matcher.resources.iter().enumerate() {
        let pattern = compile(&wanted.name).map_err(|why| format!("resources[{at}].name: {why}"))?;
        let named = candidates.iter().filter(|(name, _)| pattern.is_match(name));
        resources.extend(named.map(|(name, object)| (name.as_str(), *object)));
    }
    let mut patterns = Vec::with_capacity(matcher.conditions.len());
    for (at, wanted) in matcher.conditions.iter().enumerate() {
        let pattern = wanted.message.as_deref().map(compile).transpose();
        patterns.push((wanted, pattern.map_err(|why| format!("conditions[{at}].message: {why}"))?));
    }
    let resources: Vec<&Object> = resources.into_values().chain(composite).collect();
    if resources.is_empty() || patterns.is_empty() {
        return Ok(None);
    }

    let (every_resource, every_condition) = match matcher.kind {
        MatchType::AnyResourceMatchesAnyCondition => (false, false),
        MatchType::AnyResourceMatchesAllConditions => (false, true),
        MatchType::AllResourcesMatchAnyCondition => (true, false),
        MatchType::AllResourcesMatchAllConditions => (true, true),
    };
    let resource_matches = |object: &&Object| {
        let conditions = Conditions::of(object);
        combine(
            every_condition,
            patterns.iter().map(|(wanted, pattern)| one(&conditions, wanted, pattern.as_ref())),
        )
    };
    Ok(combine(every_resource, resources.iter().map(resource_matches)))
}

/// What a condition captures if it is as wanted. A condition that is not there reads as `Unknown` without a reason.
fn one(conditions: &Conditions, wanted: &ConditionMatcher, pattern: Option<&Regex>) -> Option<Groups> {
    let found = conditions.get(&wanted.kind);
    let status = found.map_or(ConditionStatus::Unknown, |found| found.status).as_str();
    let reason = found.map_or("", |found| found.reason.as_str());
    let message = found.map_or("", |found| found.message.as_str());
    let fits = |wanted: Option<&String>, found: &str| wanted.is_none_or(|wanted| wanted == found);
    if !fits(wanted.status.as_ref(), status) || !fits(wanted.reason.as_ref(), reason) {
        return None;
    }
    let Some(pattern) = pattern else { return Some(Groups::new()) };
    let captures = pattern.captures(message)?;
    let group = |name: &str| {
        let text = captures.name(name).map_or("", |group| group.as_str());
        (name.to_owned(), text.to_owned())
    };
    Some(pattern.capture_names().flatten().map(group).collect())
}

/// All of what is captured: by every one if every one has to match, else by those that do.
fn combine(every: bool, results: impl Iterator<Item = Option<Groups>>) -> Option<Groups> {
    let mut combined = None;
    for result in results {
        match result {
            Some(groups) => combined.get_or_insert_with(Groups::new).extend(groups),
            None if every => return None,
            None => {}
        }
    }
    combined
}

fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| {
        // The whole text draws the pattern over several lines; the last of them says what is wrong.
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        format!("{pattern:?} is not a valid regular expression: {}", last.trim_start_matches("error: "))
    })
}
