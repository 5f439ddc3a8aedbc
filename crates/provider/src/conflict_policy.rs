//! `conflict_policy`: what becomes of a conflict with another manager, for one resource or for all.

use diag::Diagnostic;
use ownership::ConflictPolicy;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::schema::Attribute;
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use crate::codes;

const NAME: &str = "conflict_policy";

/// `scope` says for which resources it holds.
pub(crate) fn attribute(scope: &str) -> Attribute {
    Attribute::optional(NAME, Type::String)
        .description(format!(
            "What a plan does about fields that another manager has changed: `warn` (the default), `fail` or `ignore`. The \
             values in the configuration are applied in any case, unless the plan fails. {scope}"
        ))
        .validate(check)
}

/// `None` if it is not set.
pub(crate) fn read(attributes: &Object) -> Option<ConflictPolicy> {
    parse(attributes.text(NAME)?)
}

fn parse(text: &str) -> Option<ConflictPolicy> {
    match text {
        "warn" => Some(ConflictPolicy::Warn),
        "fail" => Some(ConflictPolicy::Fail),
        "ignore" => Some(ConflictPolicy::Ignore),
        _ => None,
    }
}

fn check(value: &Value, path: &Path) -> Diagnostics {
    match value.as_str() {
        Some(text) if parse(text).is_none() => {
            Diagnostic::error(codes::INVALID_POLICY, "Invalid Attribute Value")
                .detail(format!("{path} is {text:?}."))
                .hint("Use \"warn\", \"fail\" or \"ignore\".")
                .into()
        }
        _ => Diagnostics::new(),
    }
}
