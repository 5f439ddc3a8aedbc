//! Schemas in the messages of the protocol.

use super::{Attribute, Kind, Presence, Schema};
use crate::r#gen::tfplugin6 as proto;

impl Schema {
    pub(crate) fn to_proto(&self) -> proto::Schema {
        proto::Schema {
            version: self.version,
            block: Some(proto::schema::Block {
                version: self.version,
                attributes: self.attributes.iter().map(Attribute::to_proto).collect(),
                description: self.description.clone(),
                description_kind: proto::StringKind::Markdown.into(),
                ..proto::schema::Block::default()
            }),
        }
    }
}

impl Attribute {
    fn to_proto(&self) -> proto::schema::Attribute {
        // An attribute has a type or a nested type, never both.
        let (ty, nested_type) = match &self.kind {
            Kind::Plain(ty) => (ty.to_json_bytes(), None),
            Kind::Nested(nested) => (Vec::new(), Some(nested_to_proto(nested))),
        };
        proto::schema::Attribute {
            name: self.name.clone(),
            r#type: ty,
            nested_type,
            description: self.description.clone(),
            required: self.presence == Presence::Required,
            optional: self.presence == Presence::Optional,
            computed: self.is_computed(),
            sensitive: self.sensitive,
            write_only: self.write_only,
            description_kind: proto::StringKind::Markdown.into(),
            deprecated: self.deprecation.is_some(),
            deprecation_message: self.deprecation.clone().unwrap_or_default(),
        }
    }
}

fn nested_to_proto(attributes: &[Attribute]) -> proto::schema::Object {
    proto::schema::Object {
        attributes: attributes.iter().map(Attribute::to_proto).collect(),
        nesting: proto::schema::object::NestingMode::Single.into(),
        ..proto::schema::Object::default()
    }
}
