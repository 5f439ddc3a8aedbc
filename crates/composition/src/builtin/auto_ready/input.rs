//! The input `Input` of function-auto-ready, as its users write it.

use std::collections::BTreeMap;
use std::time::Duration;

use manifest::GoDuration;
use regex::Regex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::protocol::Object;

const API_VERSION: &str = "autoready.fn.crossplane.io/v1beta1";
const KIND: &str = "Input";

/// A setting that is not known here would be ignored silently, so it is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Written {
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(rename = "metadata")]
    _metadata: IgnoredAny,
    ttl: String,
    cel_health_check_customization: BTreeMap<String, String>,
    cel_health_check_customization_from: Option<String>,
}

/// What the input decides.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Input {
    /// How long the response is valid.
    pub(super) ttl: Option<Duration>,
    /// CEL expressions by `group_version_kind`.
    pub(super) rules: BTreeMap<String, String>,
}

impl Input {
    /// Reads the input; `context` may have rules as well, which those of the input override.
    pub(super) fn read(input: Option<&Object>, context: Option<&Object>) -> Result<Self, String> {
        let Some(input) = input.filter(|input| !input.is_empty()) else { return Ok(Self::default()) };
        let written: Written = serde_path_to_error::deserialize(Value::Object(input.clone()))
            .map_err(|error| format!("cannot read the input at {}: {}", error.path(), error.inner()))?;
        let (api_version, kind) = (written.api_version.as_deref(), written.kind.as_deref());
        if api_version.is_some_and(|found| found != API_VERSION) || kind.is_some_and(|found| found != KIND) {
            let found = [api_version, kind].map(Option::unwrap_or_default).join(" ");
            return Err(format!("the input is {}; expected {API_VERSION} {KIND}", found.trim()));
        }
        let ttl = (!written.ttl.is_empty()).then(|| ttl(&written.ttl)).transpose()?;
        let mut rules = match (&written.cel_health_check_customization_from, context) {
            (Some(path), Some(context)) => rules_at(context, path),
            _ => BTreeMap::new(),
        };
        rules.extend(written.cel_health_check_customization);
        Ok(Self { ttl, rules })
    }
}

fn ttl(text: &str) -> Result<Duration, String> {
    let parsed: GoDuration = text.parse().map_err(|error| format!("cannot set ttl: {error}"))?;
    parsed.to_std().ok_or_else(|| format!("cannot set ttl: {text} is negative"))
}

/// The rules in the context at a path such as `[apiextensions.crossplane.io/environment].rules`; none if there are none.
fn rules_at(context: &Object, path: &str) -> BTreeMap<String, String> {
    let keys = Regex::new(r"\[([^\[\]]+)\]|([^.\[\]]+)").expect("the pattern is valid");
    let mut found = Some(context);
    for key in keys.captures_iter(path) {
        let key = key.get(1).or_else(|| key.get(2)).map_or("", |key| key.as_str());
        found = found.and_then(|object| object.get(key)?.as_object());
    }
    let rules = found.into_iter().flatten();
    rules.filter_map(|(kind, rule)| Some((kind.clone(), rule.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::object;

    /// The seconds of the ttl, and the rules.
    type Expected<'a> = Result<(Option<u64>, &'a [(&'a str, &'a str)]), &'a str>;

    #[track_caller]
    fn check(input: Value, context: &Value, expected: Expected<'_>) {
        let (input, context) = (object(input), object(context.clone()));
        let found = Input::read(Some(&input), Some(&context));
        let found = found.map(|input| (input.ttl.map(|ttl| ttl.as_secs()), input.rules));
        let rules = |rules: &[(&str, &str)]| {
            rules.iter().map(|(kind, rule)| ((*kind).to_owned(), (*rule).to_owned())).collect()
        };
        assert_eq!(found, expected.map(|(ttl, all)| (ttl, rules(all))).map_err(str::to_owned));
    }

    #[test]
    fn ttl_and_rules_are_read_and_the_input_overrides_the_context() {
        let none = json!({});
        check(
            json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "x"}}),
            &none,
            Ok((None, &[])),
        );
        check(json!({"ttl": "5m30s"}), &none, Ok((Some(330), &[])));
        let environment = json!({"apiextensions.crossplane.io/environment": {"rules": {"_v1_Pod": "a", "_v1_Node": "b", "n": 1}}});
        let from = "[apiextensions.crossplane.io/environment].rules";
        check(
            json!({"celHealthCheckCustomizationFrom": from, "celHealthCheckCustomization": {"_v1_Pod": "c"}}),
            &environment,
            Ok((None, &[("_v1_Pod", "c"), ("_v1_Node", "b")])),
        );
        check(json!({"celHealthCheckCustomizationFrom": "gone.rules"}), &environment, Ok((None, &[])));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let none = json!({});
        let refuse = |input: Value, expected: &str| check(input, &none, Err(expected));
        refuse(json!({"ttl": "soon"}), "cannot set ttl: time: invalid duration \"soon\"");
        refuse(json!({"ttl": "-1s"}), "cannot set ttl: -1s is negative");
        refuse(
            json!({"kind": "Resources"}),
            "the input is Resources; expected autoready.fn.crossplane.io/v1beta1 Input",
        );
        let unknown = Input::read(Some(&object(json!({"mode": "strict"}))), None).unwrap_err();
        assert!(unknown.starts_with("cannot read the input at mode: unknown field `mode`"), "{unknown}");
    }
}
