//! The attributes of `k8sconnect_wait`, and how they are validated together.

use readiness::Cut;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::schema::{Attribute, Kind, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;

use crate::{connection, reference, wait_attribute};

pub(super) fn schema() -> Schema {
    Schema::new()
        .version(1)
        .description(
            "Waits until an object is ready. Until then, its dependents are held back. A wait that does not finish is an \
             error, and the next apply waits again.",
        )
        .attribute(
            Attribute::computed("id", Type::String)
                .use_state_for_unknown()
                .description("Twelve hexadecimal digits."),
        )
        .attribute(
            Attribute::required("object_ref", Kind::nested(reference::attributes())).description("The object to wait for, for instance `k8sconnect_object.web.object_ref`."),
        )
        .attribute(connection::resource_attribute())
        .attribute(Attribute::required("wait_for", wait_attribute::attributes()).description("What to wait for."))
        .attribute(Attribute::computed("result", Type::Dynamic).description(
            "The value of `wait_for.field`, at its path in the object: `result.status.loadBalancer.ingress[0].ip`. Null \
             for other waits.",
        ))
}

pub(super) fn validate(config: &Object) -> Diagnostics {
    let mut diagnostics = connection::validate(config.get("cluster"));
    if let Some(written) = wait_attribute::read(config.get("wait_for")) {
        let gvk = config.get("object_ref").as_object().and_then(|reference| {
            format!("{}/{}", reference.text("api_version")?, reference.text("kind")?).parse().ok()
        });
        diagnostics.add(wait_attribute::located(written.parse(gvk.as_ref(), Cut::Root).diagnostics));
    }
    diagnostics
}

#[cfg(test)]
mod tests {
    use tfplugin::value::Value;

    use super::*;
    use crate::testing::assert_diagnostics;

    fn check(entries: &[(&str, Value)], expected: &[(&str, &str)]) {
        let reference = Object::from([("api_version", "v1"), ("kind", "ConfigMap"), ("name", "a")]);
        let mut config = Object::new().with("object_ref", reference);
        for (name, value) in entries {
            config.set(*name, value.clone());
        }
        assert_diagnostics(&validate(&config), expected);
    }

    fn wait(name: &str, value: impl Into<Value>) -> (&'static str, Value) {
        ("wait_for", Value::Object(Object::new().with(name, value)))
    }

    #[test]
    fn a_connection_without_credentials_is_refused() {
        let cluster = Object::new().with("host", "https://example.com");
        check(
            &[wait("field", "status.x"), ("cluster", cluster.into())],
            &[("cluster", "Invalid Cluster Connection Configuration")],
        );
    }

    #[test]
    fn a_wait_for_nothing_is_a_warning() {
        check(&[wait("rollout", false)], &[("wait_for", "Wait Has No Condition")]);
        check(&[("wait_for", Value::Object(Object::new()))], &[("wait_for", "Wait Has No Condition")]);
    }

    #[test]
    fn waits_are_checked_for_the_kind_they_wait_for() {
        check(&[wait("field", "spec.volumeName")], &[]);
        check(&[wait("rollout", true)], &[("wait_for.rollout", "Rollout Not Supported")]);
        check(&[wait("field", "status.x[")], &[("wait_for.field", "Invalid JSONPath Syntax")]);
        check(&[wait("timeout", "0s")], &[("wait_for.timeout", "Invalid Timeout")]);
        check(&[wait("condition", Value::unknown())], &[]);
        check(&[wait("condition", "Ready")], &[("wait_for.condition", "Unknown Condition")]);
    }
}
