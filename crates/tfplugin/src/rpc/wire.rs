//! Objects, identities and private state in the messages of the protocol.

use diag::Diagnostic;

use super::registry::ResourceEntry;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::json::{self, UndefinedAttributes};
use crate::msgpack;
use crate::plan_rules::Violation;
use crate::private::Private;
use crate::provider::Identity;
use crate::types::Type;
use crate::value::{Object, Value};

/// `None` for an absent or null value.
pub(super) fn decode(value: Option<&proto::DynamicValue>, ty: &Type) -> Result<Option<Object>, Diagnostics> {
    let Some(value) = value else { return Ok(None) };
    let decoded = if !value.msgpack.is_empty() {
        msgpack::decode(&value.msgpack, ty)
    } else if !value.json.is_empty() {
        json::decode(&value.json, ty, UndefinedAttributes::Refuse)
    } else {
        Ok(Value::Null)
    };
    match decoded.map_err(|error| invalid_value("Terraform sent", &error))? {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        _ => Err(invalid_value("Terraform sent", &"a resource that is wholly unknown")),
    }
}

/// A value that is not an object: an argument of a function.
pub(super) fn decode_value(value: &proto::DynamicValue, ty: &Type) -> Result<Value, Diagnostics> {
    msgpack::decode(&value.msgpack, ty).map_err(|error| invalid_value("Terraform sent", &error))
}

pub(super) fn decode_required(value: Option<&proto::DynamicValue>, ty: &Type) -> Result<Object, Diagnostics> {
    decode(value, ty)?.ok_or_else(|| invalid_value("Terraform sent", &"no value where one is required"))
}

/// Null for `None`.
pub(super) fn encode(object: Option<Object>, ty: &Type) -> Result<proto::DynamicValue, Diagnostics> {
    encode_value(object.map_or(Value::Null, Value::Object), ty)
}

/// Like [`encode`], for what [`complete`] returned.
pub(super) fn encode_complete(object: Option<Object>, ty: &Type) -> proto::DynamicValue {
    let value = object.map_or(Value::Null, Value::Object);
    proto::DynamicValue { msgpack: msgpack::encode_complete(&value, ty), json: Vec::new() }
}

pub(super) fn encode_value(value: Value, ty: &Type) -> Result<proto::DynamicValue, Diagnostics> {
    let msgpack =
        msgpack::encode(value, ty).map_err(|error| invalid_value("The provider returned", &error))?;
    Ok(proto::DynamicValue { msgpack, json: Vec::new() })
}

/// Conforms an object to its type, so that rules can be checked on it.
pub(super) fn complete(object: Option<Object>, ty: &Type) -> Result<Option<Object>, Diagnostics> {
    object
        .map(|object| object.conform(ty))
        .transpose()
        .map_err(|error| invalid_value("The provider returned", &error))
}

/// `None` for an identity without any value.
pub(super) fn decode_identity(
    entry: &ResourceEntry,
    data: Option<&proto::ResourceIdentityData>,
) -> Result<Option<Identity>, Diagnostics> {
    let (Some((_, ty)), Some(data)) = (&entry.identity, data) else { return Ok(None) };
    let identity = decode(data.identity_data.as_ref(), ty)?;
    Ok(identity.filter(|identity| identity.iter().any(|(_, value)| !value.is_null())))
}

pub(super) fn encode_identity(
    entry: &ResourceEntry,
    identity: Option<Identity>,
) -> Result<Option<proto::ResourceIdentityData>, Diagnostics> {
    let (Some((_, ty)), Some(identity)) = (&entry.identity, identity) else { return Ok(None) };
    Ok(Some(proto::ResourceIdentityData { identity_data: Some(encode(Some(identity), ty)?) }))
}

pub(super) fn decode_private(bytes: &[u8]) -> Result<Private, Diagnostics> {
    Private::decode(bytes).map_err(|error| {
        Diagnostic::error(codes::PRIVATE_STATE, "Error Decoding Private State")
            .detail(format!("The private state cannot be read: {error}."))
            .hint("If the state was edited by hand, restore it; otherwise report this.")
            .into()
    })
}

pub(super) fn deferral_allowed(client: Option<&proto::ClientCapabilities>) -> bool {
    client.is_some_and(|client| client.deferral_allowed)
}

/// In debug builds every violation is an error; release builds leave the check to Terraform.
pub(super) fn enforce_rules(call: &str, check: impl FnOnce() -> Vec<Violation>) -> Diagnostics {
    if !cfg!(debug_assertions) {
        return Diagnostics::new();
    }
    let mut diagnostics = Diagnostics::new();
    for violation in check() {
        let diagnostic = Diagnostic::error(codes::RULE_BROKEN, "The provider violated a rule of Terraform")
            .detail(format!("Terraform will not accept the response to {call}.\n\n{violation}"))
            .hint("This is a bug in the provider, found by a development build.");
        diagnostics.add_at(violation.path, diagnostic);
    }
    diagnostics
}

fn invalid_value(origin: &str, error: &dyn std::fmt::Display) -> Diagnostics {
    Diagnostic::error(codes::INVALID_VALUE, "A value does not match the provider's schema")
        .detail(format!("{origin} a value that does not match the schema: {error}."))
        .hint("Report this with the versions of Terraform and of the provider.")
        .into()
}
