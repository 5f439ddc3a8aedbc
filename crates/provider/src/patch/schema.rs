//! The attributes of `k8sconnect_patch`, and the validation across them.

use diag::Diagnostic;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::schema::{Attribute, Kind, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;

use super::check;
use super::content::ATTRIBUTES;
use crate::{codes, connection};

/// The first schema version with `managed_fields` as a map.
pub(super) const VERSION: i64 = 2;

pub(super) fn schema() -> Schema {
    let target = |name: &str, about: &str| {
        Attribute::required(name, Type::String).requires_replace().description(about)
    };
    Schema::new()
        .version(VERSION)
        .description(
            "Changes some fields of an object that somebody else manages. Destroying it leaves the values as they are and \
             gives the fields up.",
        )
        .attribute(
            Attribute::computed("id", Type::String)
                .use_state_for_unknown()
                .description("Twelve hexadecimal digits, the end of the manager's name: `k8sconnect-patch-<id>`."),
        )
        .attribute(
            Attribute::required(
                "target",
                Kind::nested([
                    target("api_version", "Its group and version: `apps/v1`."),
                    target("kind", "Its kind: `Deployment`."),
                    target("name", "Its name."),
                    Attribute::optional("namespace", Type::String)
                        .requires_replace()
                        .description("Its namespace; `default` if its kind has namespaces and none is given."),
                ]),
            )
            .description("The object to change. It must exist, and not be managed by a `k8sconnect_object` of this state."),
        )
        .attribute(
            Attribute::optional("patch", Type::String)
                .description("Fields to set and hold, in YAML or JSON, by server-side apply. Lists are merged by their keys.")
                .validate(check::apply),
        )
        .attribute(
            Attribute::optional("json_patch", Type::String)
                .description("Operations to carry out, a JSON array (RFC 6902).")
                .validate(check::json),
        )
        .attribute(
            Attribute::optional("merge_patch", Type::String)
                .description("A partial object in JSON to merge, in which null removes (RFC 7386).")
                .validate(check::merge),
        )
        .attribute(connection::resource_attribute())
        .attribute(
            Attribute::computed("managed_state_projection", Type::map(Type::String))
                .description("The values of the fields that `patch` holds. Values of Secrets are masked. Null for the other kinds."),
        )
        .attribute(
            Attribute::computed("managed_fields", Type::map(Type::String)).description("The fields that this patch holds."),
        )
}

pub(super) fn validate(config: &Object) -> Diagnostics {
    let mut diagnostics = connection::validate(config.get("cluster"));
    if ATTRIBUTES.iter().all(|name| config.get(name).is_null()) {
        let detail = "At least one attribute out of [patch,json_patch,merge_patch] must be specified";
        diagnostics.add_at(Path::of("patch"), combination(detail.to_owned()));
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
    fn exactly_one_kind_of_patch_is_set() {
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
