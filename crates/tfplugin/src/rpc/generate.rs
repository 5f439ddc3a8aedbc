//! A configuration for an imported resource: its state without what only the provider sets.

use super::registry::Registry;
use super::wire;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::schema::{Attribute, Kind, Nesting, Presence};
use crate::value::{Object, Value};

pub(super) fn config(
    registry: &Registry,
    request: &proto::generate_resource_config::Request,
) -> Result<proto::generate_resource_config::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let state = wire::decode_some(request.state.as_ref(), &entry.shape.ty)?;
    let config = configurable(&entry.shape.schema.attributes, state);
    Ok(proto::generate_resource_config::Response {
        config: Some(wire::encode(Some(config), &entry.shape.ty)?),
        diagnostics: Vec::new(),
    })
}

/// What Terraform does itself for providers without this call: what is computed or deprecated is left out, and so is an
/// optional text that is empty.
fn configurable(attributes: &[Attribute], mut object: Object) -> Object {
    for attribute in attributes {
        object.change(&attribute.name, |value| {
            let left_out = attribute.presence == Presence::Computed
                || attribute.deprecation.is_some()
                || (attribute.presence != Presence::Required && value.as_str() == Some(""));
            match &attribute.kind {
                _ if left_out => Value::Null,
                Kind::Nested(nested) => nested_configurable(nested.nesting, &nested.attributes, value),
                Kind::Plain(_) => value,
            }
        });
    }
    object
}

fn nested_configurable(nesting: Nesting, attributes: &[Attribute], value: Value) -> Value {
    let element = |value: Value| match value {
        Value::Object(object) => Value::Object(configurable(attributes, object)),
        other => other,
    };
    match (nesting, value) {
        (Nesting::List, Value::List(elements)) => Value::List(elements.into_iter().map(element).collect()),
        (Nesting::Set, Value::Set(elements)) => Value::Set(elements.into_iter().map(element).collect()),
        (Nesting::Map, Value::Object(entries)) => {
            Value::Object(entries.into_iter().map(|(key, value)| (key, element(value))).collect())
        }
        (_, value) => element(value),
    }
}
