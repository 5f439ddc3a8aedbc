//! The attributes of `k8sconnect_object`, including `wait_for` and `status`.

use manifest::GoDuration;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::schema::{Attribute, Kind, Schema};
use tfplugin::types::Type;
use tfplugin::value::Value;

use crate::{body, codes, connection, waiting};

/// The first schema version with `managed_fields` as a map.
const VERSION: i64 = 2;

pub(super) fn schema() -> Schema {
    Schema::new()
        .version(VERSION)
        .description(
            "One Kubernetes object, applied by server-side apply. The plan shows what the API server will make of it: the \
             values of the fields this resource holds, and who holds every field.",
        )
        .attribute(
            Attribute::computed("id", Type::String)
                .use_state_for_unknown()
                .description("Twelve hexadecimal digits by which the object knows its resource."),
        )
        .attribute(
            Attribute::required("yaml_body", Type::String)
                .description("The object in YAML or JSON; one document.")
                .validate(check_body),
        )
        .attribute(connection::resource_attribute())
        .attribute(
            Attribute::optional("delete_protection", Type::Bool)
                .description("Refuse to delete the object while this is true."),
        )
        .attribute(
            Attribute::optional("delete_timeout", Type::String)
                .description(
                    "How long to wait until the object is gone, as `30s` or `10m`; `0s` does not wait. By default 15 minutes \
                     for namespaces and CRDs, 10 for volumes, 8 for StatefulSets and Jobs, 5 for everything else.",
                )
                .validate(check_duration),
        )
        .attribute(Attribute::optional("force_destroy", Type::Bool).description(
            "When `delete_timeout` has passed, take the finalizers away. What they were there for will not be done.",
        ))
        .attribute(
            Attribute::optional("ignore_fields", Type::list(Type::String))
                .description(
                    "Fields that are left to others: `spec.replicas`, `spec.containers[name=web].image`, \
                     `metadata.annotations['example.com/key']`. They are set when the object is created and never again.",
                )
                .validate(check_ignored),
        )
        .attribute(
            Attribute::optional("wait_for", waiting::attributes())
                .description("What to wait for after a create or change."),
        )
        .attribute(Attribute::computed("status", Type::Dynamic).description(
            "What `wait_for.field` waited for, cut to that path, as it is below `status`. Null unless a field is waited for.",
        ))
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
                        .description("The namespace; null for kinds that live in none."),
                ]),
            )
            .description("Which object it is, for `k8sconnect_wait` and `k8sconnect_patch`."),
        )
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

/// As in the Go provider, zero and negative durations are accepted.
fn check_duration(value: &Value, path: &Path) -> Diagnostics {
    match value.as_str().map(str::parse::<GoDuration>) {
        Some(Err(error)) => diag::Diagnostic::error(codes::INVALID_DURATION, "Invalid Duration")
            .detail(format!("{path} is not a duration: {error}."))
            .hint("Write it like \"30s\", \"5m\" or \"1h30m\".")
            .into(),
        _ => Diagnostics::new(),
    }
}
