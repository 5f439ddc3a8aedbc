//! Objects, identities and private state in the messages of the protocol.

use diag::Diagnostic;

use super::registry::ResourceEntry;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::json::{self, Undefined};
use crate::msgpack;
use crate::plan_rules::Violation;
use crate::private::Private;
use crate::provider::Identity;
use crate::types::Type;
use crate::value::{Object, Value};

/// Reads an object; an absent or null one is none.
pub(super) fn decode(value: Option<&proto::DynamicValue>, ty: &Type) -> Result<Option<Object>, Diagnostics> {
    let Some(value) = value else { return Ok(None) };
    let decoded = if !value.msgpack.is_empty() {
        msgpack::decode(&value.msgpack, ty).map_err(|error| disagreement("sent", &error))?
    } else if !value.json.is_empty() {
        json::decode(&value.json, ty, Undefined::Refuse).map_err(|error| disagreement("sent", &error))?
    } else {
        Value::Null
    };
    match decoded {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        _ => Err(disagreement("sent", &"a resource that is unknown as a whole")),
    }
}

/// Reads an object that has to be there.
pub(super) fn decode_some(value: Option<&proto::DynamicValue>, ty: &Type) -> Result<Object, Diagnostics> {
    decode(value, ty)?.ok_or_else(|| disagreement("sent", &"nothing where a value has to be"))
}

/// Writes an object, or null for none.
pub(super) fn encode(object: Option<Object>, ty: &Type) -> Result<proto::DynamicValue, Diagnostics> {
    let value = object.map_or(Value::Null, Value::Object);
    let msgpack = msgpack::encode(value, ty).map_err(|error| disagreement("answered with", &error))?;
    Ok(proto::DynamicValue { msgpack, json: Vec::new() })
}

/// Completes an object by its type, so that rules can be checked on it.
pub(super) fn complete(object: Option<Object>, ty: &Type) -> Result<Option<Object>, Diagnostics> {
    object.map(|object| object.conform(ty)).transpose().map_err(|error| disagreement("answered with", &error))
}

/// Reads an identity; one without any value is none.
pub(super) fn decode_identity(
    entry: &ResourceEntry,
    data: Option<&proto::ResourceIdentityData>,
) -> Result<Option<Identity>, Diagnostics> {
    let (Some((_, ty)), Some(data)) = (&entry.identity, data) else { return Ok(None) };
    let identity = decode(data.identity_data.as_ref(), ty)?;
    Ok(identity.filter(|identity| identity.iter().any(|(_, value)| !value.is_null())))
}

/// Writes an identity, if the resource has one.
pub(super) fn encode_identity(
    entry: &ResourceEntry,
    identity: Option<Identity>,
) -> Result<Option<proto::ResourceIdentityData>, Diagnostics> {
    let (Some((_, ty)), Some(identity)) = (&entry.identity, identity) else { return Ok(None) };
    Ok(Some(proto::ResourceIdentityData { identity_data: Some(encode(Some(identity), ty)?) }))
}

/// Reads private state.
pub(super) fn decode_private(bytes: &[u8]) -> Result<Private, Diagnostics> {
    Private::decode(bytes).map_err(|error| {
        Diagnostic::error(codes::PRIVATE_STATE, "Error Decoding Private State")
            .detail(format!("What the provider stored beside the attributes cannot be read: {error}."))
            .hint("If the state was edited by hand, restore it; otherwise please report this.")
            .into()
    })
}

/// In debug builds, broken rules become an error that names them all; release builds leave the judgement to Terraform.
pub(super) fn enforce(call: &str, check: impl FnOnce() -> Vec<Violation>) -> Diagnostics {
    if !cfg!(debug_assertions) {
        return Diagnostics::new();
    }
    let mut diagnostics = Diagnostics::new();
    for violation in check() {
        let diagnostic = Diagnostic::error(codes::RULE_BROKEN, "The provider broke a rule of Terraform")
            .detail(format!("{call} answered something that Terraform will not accept.\n\n{violation}"))
            .hint("This is a bug in the provider, found by a development build.");
        diagnostics.add_at(violation.path, diagnostic);
    }
    diagnostics
}

fn disagreement(did: &str, error: &dyn std::fmt::Display) -> Diagnostics {
    let who = if did == "sent" { "Terraform" } else { "The provider" };
    Diagnostic::error(codes::INVALID_VALUE, "Terraform and the provider disagree about a value")
        .detail(format!("{who} {did} a value that does not fit the schema: {error}."))
        .hint("Please report this with the versions of Terraform and of the provider.")
        .into()
}
