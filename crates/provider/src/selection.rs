//! The attributes that select objects of a kind.

use cluster::Selection;
use manifest::Namespace;
use tfplugin::schema::Attribute;
use tfplugin::types::Type;
use tfplugin::value::Object;

/// The kind, and the attribute for their namespaces, before the selectors.
pub(crate) fn attributes(namespaces: Attribute) -> [Attribute; 5] {
    let required = |name: &str, about: &str| Attribute::required(name, Type::String).description(about);
    let optional = |name: &str, about: &str| Attribute::optional(name, Type::String).description(about);
    [
        required("api_version", "Their group and version, such as `apps/v1`."),
        required("kind", "Their kind, such as `Deployment`."),
        namespaces,
        optional("label_selector", "A label selector, such as `app=web,tier!=cache`."),
        optional("field_selector", "A field selector, such as `metadata.name=web`."),
    ]
}

pub(crate) fn parse(config: &Object, namespace: Option<Namespace>) -> Selection {
    Selection {
        namespace,
        labels: config.text("label_selector").map(str::to_owned),
        fields: config.text("field_selector").map(str::to_owned),
        limit: None,
    }
}
