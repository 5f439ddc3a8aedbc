//! The attributes of `k8sconnect_patch`, and the validation across them.

use diag::Diagnostic;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::schema::{Attribute, Kind, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;

use super::check;
use super::content::ATTRIBUTES;
use super::write_only;
use crate::{codes, conflict_policy, connection, reference};

/// The first schema version with `managed_fields` as a map.
pub(super) const VERSION: i64 = 2;

pub(super) fn schema() -> Schema {
    let target = reference::attributes().map(Attribute::requires_replace);
    let schema = Schema::new()
        .version(VERSION)
        .description(
            "Changes some fields of an object that is managed elsewhere. Destroying it releases the fields and leaves their \
             values as they are.",
        )
        .attribute(
            Attribute::computed("id", Type::String)
                .use_state_for_unknown()
                .description("Twelve hexadecimal digits. The field manager of the patch is `k8sconnect-patch-<id>`."),
        )
        .attribute(
            Attribute::required("target", Kind::nested(target))
                .description("The object to change. It must exist, and must not be managed by a `k8sconnect_object` of this state."),
        )
        .attribute(
            Attribute::optional("patch", Type::String)
                .description("Fields to set and hold by server-side apply, in YAML or JSON. Lists are merged by key.")
                .validate(check::apply),
        )
        .attribute(
            Attribute::optional("json_patch", Type::String)
                .description("A JSON Patch (RFC 6902): an array of operations.")
                .validate(check::json),
        )
        .attribute(
            Attribute::optional("merge_patch", Type::String)
                .description("A JSON Merge Patch (RFC 7386): a partial object, in which null removes a field.")
                .validate(check::merge),
        )
        .attribute(connection::resource_attribute())
        .attribute(conflict_policy::attribute("Defaults to the provider's."))
        .attribute(
            Attribute::computed("managed_state_projection", Type::map(Type::String))
                .description("The values of the fields that `patch` holds. Values of Secrets are masked. Null for `json_patch` and `merge_patch`."),
        )
        .attribute(
            Attribute::computed("managed_fields", Type::map(Type::String)).description("The fields that this patch holds."),
        );
    write_only::schema().into_iter().fold(schema, Schema::attribute)
}

pub(super) fn validate(config: &Object) -> Diagnostics {
    let mut diagnostics = connection::validate(config.get("cluster"));
    diagnostics.add(crate::write_only::validate(write_only::NAMES, config));
    let secret = !config.get(write_only::NAMES.value).is_null();
    if !secret && ATTRIBUTES.iter().all(|name| config.get(name).is_null()) {
        let detail = "At least one attribute out of [patch,json_patch,merge_patch] must be specified";
        diagnostics.add_at(Path::of("patch"), combination(detail.to_owned()));
    }
    for other in ["json_patch", "merge_patch"] {
        if secret && config.text(other).is_some() {
            let detail = format!("Attribute \"patch_wo\" cannot be specified when {other:?} is specified");
            diagnostics.add_at(Path::of(other), combination(detail));
        }
    }
    // An unknown attribute may turn out to be null.
    let set: Vec<&str> = ATTRIBUTES.into_iter().filter(|name| config.text(name).is_some()).collect();
    for (index, first) in set.iter().enumerate() {
        for second in &set[index + 1..] {
            let detail = format!("Attribute {second:?} cannot be specified when {first:?} is specified");
            diagnostics.add_at(Path::of(*first), combination(detail));
        }
    }
    diagnostics
}

fn combination(detail: String) -> Diagnostic {
    Diagnostic::error(codes::PATCH_CHOICE, "Invalid Attribute Combination")
        .detail(detail)
        .hint("Set exactly one of patch, json_patch and merge_patch.")
}

#[cfg(test)]
mod tests {
    use tfplugin::value::Value;

    use super::*;

    #[test]
    fn exactly_one_type_of_patch_is_set() {
        let check = |set: &[(&str, Value)], errors: usize| {
            let config: Object = set.iter().cloned().collect();
            let found = validate(&config);
            assert_eq!(found.iter().count(), errors, "{found:?}");
            assert!(found.iter().all(|(_, found)| found.summary == "Invalid Attribute Combination"));
        };
        let known = || Value::from("{}");
        check(&[], 1);
        check(&[("patch", known())], 0);
        check(&[("patch", Value::unknown())], 0);
        check(&[("patch", known()), ("json_patch", Value::unknown())], 0);
        check(&[("patch", known()), ("merge_patch", known())], 1);
        check(&[("patch", known()), ("json_patch", known()), ("merge_patch", known())], 3);
    }
}
