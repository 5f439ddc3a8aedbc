//! What identifies an object permanently: not its version, which changes, and not the connection.

use manifest::{Namespace, ObjectRef};
use tfplugin::provider::{Identity, IdentityAttribute, IdentitySchema};
use tfplugin::types::Type;
use tfplugin::value::Object;

pub(crate) fn schema() -> IdentitySchema {
    let attribute = |name: &str, required_for_import: bool, description: &str| IdentityAttribute {
        name: name.to_owned(),
        ty: Type::String,
        required_for_import,
        description: description.to_owned(),
    };
    IdentitySchema {
        version: 0,
        attributes: vec![
            attribute("group", false, "The API group; omitted for the core group."),
            attribute("kind", true, "The kind, such as `Deployment`."),
            attribute("namespace", false, "The namespace; omitted for cluster-scoped kinds."),
            attribute("name", true, "The name."),
        ],
    }
}

pub(crate) fn of(target: &ObjectRef) -> Identity {
    Object::new()
        .with("group", Some(target.group()).filter(|group| !group.is_empty()))
        .with("kind", target.kind())
        .with("namespace", target.namespace.as_ref().map(Namespace::as_str))
        .with("name", target.name.as_str())
}
