//! Generates the configuration of an imported resource: its state without what only the provider sets.

use super::registry::Registry;
use super::wire;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::schema::{Attribute, Kind, Presence};
use crate::value::{Object, Value};

pub(super) fn config(
    registry: &Registry,
    request: &proto::generate_resource_config::Request,
) -> Result<proto::generate_resource_config::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let state = wire::decode_required(request.state.as_ref(), &entry.shape.ty)?;
    let config = configurable(&entry.shape.schema.attributes, state);
    Ok(proto::generate_resource_config::Response {
        config: Some(wire::encode(Some(config), &entry.shape.ty)?),
        diagnostics: Vec::new(),
    })
}

/// Does what Terraform does for providers without this call: drops what is computed or deprecated, and optional strings that
/// are empty.
fn configurable(attributes: &[Attribute], mut object: Object) -> Object {
    for attribute in attributes {
        object.change(&attribute.name, |value| {
            let is_dropped = attribute.is_computed()
                || attribute.deprecation.is_some()
                || (attribute.presence != Presence::Required && value.as_str() == Some(""));
            match &attribute.kind {
                _ if is_dropped => Value::Null,
                Kind::Nested(nested) => value.map_object(|object| configurable(nested, object)),
                Kind::Plain(_) => value,
            }
        });
    }
    object
}
