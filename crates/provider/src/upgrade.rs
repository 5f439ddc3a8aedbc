//! Upgrades states from before `managed_fields` was a map.

use diag::Diagnostic;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{UpgradeRequest, UpgradeResponse};
use tfplugin::schema::Schema;
use tfplugin::types::Type;
use tfplugin::value::Value;

use crate::codes;

/// Upgrades an older state to `schema`: only `managed_fields` differs, and the next read fills it in.
pub(crate) fn before_managed_fields(request: &UpgradeRequest, schema: &Schema) -> UpgradeResponse {
    if request.version > schema.version {
        let newer = Diagnostic::error(codes::STATE_NEWER, "Unable to Upgrade Resource State")
            .detail(format!(
                "The state has schema version {}, and this provider knows versions up to {}.",
                request.version, schema.version
            ))
            .hint("Use a provider that is at least as new as the one that wrote the state.");
        return UpgradeResponse { state: None, diagnostics: newer.into() };
    }
    let ty = match schema.ty() {
        Type::Object(mut attributes) => {
            attributes.remove("managed_fields");
            Type::Object(attributes)
        }
        other => other,
    };
    match request.state.decode(&ty) {
        Ok(mut state) => {
            state.set("managed_fields", Value::Null);
            UpgradeResponse { state: Some(state), diagnostics: Diagnostics::new() }
        }
        Err(error) => {
            let unreadable = Diagnostic::error(codes::STATE_UNREADABLE, "Unable to Upgrade Resource State")
                .detail(format!("The state of version {} cannot be read: {error}.", request.version))
                .hint("States from before 0.2.0 have to be upgraded with the Go provider first.");
            UpgradeResponse { state: None, diagnostics: unreadable.into() }
        }
    }
}
