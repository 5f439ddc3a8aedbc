//! The attributes of `k8sconnect_object`, including `wait_for` and `status`.

use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::schema::{Attribute, Kind, Schema};
use tfplugin::types::Type;
use tfplugin::value::Value;

use super::write_only;
use crate::{body, conflict_policy, connection, duration, wait_attribute};

/// The first schema version with `managed_fields` as a map.
const VERSION: i64 = 2;

pub(super) fn schema() -> Schema {
    let schema = Schema::new()
        .version(VERSION)
        .description(
            "Manages one Kubernetes object by server-side apply. The plan shows the result that the API server computes: \
             the values of the fields this resource holds, and the manager of every field.",
        )
        .attribute(
            Attribute::computed("id", Type::String)
                .use_state_for_unknown()
                .description("Twelve hexadecimal digits, which an annotation of the object repeats."),
        )
        .attribute(
            Attribute::required("yaml_body", Type::String)
                .description("The object, as a single YAML or JSON document.")
                .validate(check_body),
        )
        .attribute(connection::resource_attribute())
        .attribute(
            Attribute::optional("delete_protection", Type::Bool)
                .description("Whether to refuse to delete the object."),
        )
        .attribute(
            Attribute::optional("delete_timeout", Type::String)
                .description(
                    "How long to wait until the object is deleted, such as `30s` or `10m`; `0s` does not wait. Default: 15 minutes \
                     for namespaces and CRDs, 10 for volumes, 8 for StatefulSets and Jobs, 5 for everything else.",
                )
                .validate(duration::check),
        )
        .attribute(Attribute::optional("force_destroy", Type::Bool).description(
            "Whether to remove the finalizers once `delete_timeout` has passed. Their controllers then do not clean up.",
        ))
        .attribute(
            Attribute::optional("ignore_fields", Type::list(Type::String))
                .description(
                    "Fields that are left to other managers: `spec.replicas`, `spec.containers[name=web].image`, \
                     `metadata.annotations['example.com/key']`. They are set when the object is created, and not afterwards.",
                )
                .validate(check_ignored),
        )
        .attribute(
            Attribute::optional("wait_for", wait_attribute::attributes())
                .description("What to wait for after the object is created or changed."),
        )
        .attribute(Attribute::computed("status", Type::Dynamic).description(
            "The value of `wait_for.field`, at its path below `status`. Null for other waits.",
        ))
        .attribute(conflict_policy::attribute("Defaults to the provider's."))
        .attribute(
            Attribute::computed("managed_state_projection", Type::map(Type::String))
                .description("The values of the fields this resource holds. Values of Secrets are masked."),
        )
        .attribute(
            Attribute::computed("managed_fields", Type::map(Type::String))
                .description("The manager of every field."),
        )
        .attribute(
            Attribute::computed(
                "object_ref",
                Kind::nested([
                    Attribute::computed("api_version", Type::String).description("The group and version."),
                    Attribute::computed("kind", Type::String).description("The kind."),
                    Attribute::computed("name", Type::String).description("The name."),
                    Attribute::computed("namespace", Type::String)
                        .description("The namespace; null for cluster-scoped kinds."),
                ]),
            )
            .description("Identifies the object, for `k8sconnect_wait` and `k8sconnect_patch`."),
        );
    write_only::schema().into_iter().fold(schema, Schema::attribute)
}

/// As in the Go provider, an empty text is rejected only at apply.
fn check_body(value: &Value, _: &Path) -> Diagnostics {
    value.as_str().filter(|text| !text.is_empty()).map(body::check).unwrap_or_default().into()
}

fn check_ignored(value: &Value, path: &Path) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for (index, entry) in value.as_elements().unwrap_or_default().iter().enumerate() {
        let Some(text) = entry.as_str() else { continue };
        if let Err(problems) = fields::IgnoreFields::parse([text]) {
            diagnostics.add(Diagnostics::from(problems).or_at(&path.clone().index(index)));
        }
    }
    diagnostics
}
