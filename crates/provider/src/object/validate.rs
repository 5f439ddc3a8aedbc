//! Validation across the attributes of a configuration.

use diag::Diagnostic;
use readiness::Cut;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::Object;

use super::{attributes, write_only};
use crate::{codes, connection, wait_attribute};

pub(super) fn validate(config: &Object) -> Diagnostics {
    let mut diagnostics = connection::validate(config.get("cluster"));
    let is_true = |name: &str| config.get(name).as_bool() == Some(true);
    if is_true("delete_protection") && is_true("force_destroy") {
        let conflict = Diagnostic::error(codes::CONFLICTING_DELETION, "Conflicting Deletion Settings")
            .detail("delete_protection and force_destroy contradict each other.")
            .hint("Set only one of them to true.");
        diagnostics.add_at(Path::of("delete_protection"), conflict);
    }
    if config.get("yaml_body").is_null() {
        let missing = Diagnostic::error(codes::MISSING_FIELD, "Missing Required Field")
            .detail("yaml_body is null, so there is no object to apply.")
            .hint("Set yaml_body to the object in YAML.");
        diagnostics.add_at(Path::of("yaml_body"), missing);
    }
    diagnostics.add(check_wait(config));
    diagnostics.add(crate::write_only::validate(write_only::NAMES, config));
    diagnostics
}

fn check_wait(config: &Object) -> Diagnostics {
    let Some(written) = wait_attribute::read(config.get("wait_for")) else { return Diagnostics::new() };
    let body = attributes::body(config);
    let gvk = body.as_ref().map(|body| &body.gvk);
    wait_attribute::located(written.parse(gvk, Cut::Status).diagnostics)
}

#[cfg(test)]
mod tests {
    use tfplugin::value::Value;

    use super::*;
    use crate::testing::assert_diagnostics;

    const BODY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

    fn check(entries: &[(&str, Value)], expected: &[(&str, &str)]) {
        let mut config: Object = [("yaml_body", BODY)].into_iter().collect();
        for (name, value) in entries {
            config.set(*name, value.clone());
        }
        assert_diagnostics(&validate(&config), expected);
    }

    #[test]
    fn contradictory_settings_are_rejected() {
        check(&[], &[]);
        check(&[("delete_protection", true.into()), ("force_destroy", false.into())], &[]);
        check(&[("delete_protection", true.into()), ("force_destroy", Value::unknown())], &[]);
        check(
            &[("delete_protection", true.into()), ("force_destroy", true.into())],
            &[("delete_protection", "Conflicting Deletion Settings")],
        );
        check(&[("yaml_body", Value::Null)], &[("yaml_body", "Missing Required Field")]);
    }

    #[test]
    fn a_wait_is_checked_for_the_kind_it_waits_for() {
        let wait = |name: &str, value: Value| ("wait_for", Value::Object(Object::new().with(name, value)));
        check(&[wait("rollout", true.into())], &[("wait_for.rollout", "Rollout Not Supported")]);
        check(&[wait("rollout", true.into()), ("yaml_body", Value::unknown())], &[]);
        check(&[wait("field", "spec.x".into())], &[("wait_for.field", "Field Outside Status")]);
        check(&[wait("field", "status.x[".into())], &[("wait_for.field", "Invalid JSONPath Syntax")]);
        check(&[wait("rollout", false.into())], &[("wait_for", "Wait Has No Condition")]);
        check(&[wait("condition", "Ready".into())], &[("wait_for.condition", "Unknown Condition")]);
        check(&[wait("field", Value::unknown())], &[]);
    }
}
