//! Schemas in the messages of the protocol.

use super::{Attribute, Kind, Nested, Nesting, Presence, Schema};
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
            Kind::Nested(nested) => (Vec::new(), Some(nested.to_proto())),
        };
        proto::schema::Attribute {
            name: self.name.clone(),
            r#type: ty,
            nested_type,
            description: self.description.clone(),
            required: self.presence == Presence::Required,
            optional: matches!(self.presence, Presence::Optional | Presence::OptionalComputed),
            computed: self.is_computed(),
            sensitive: self.sensitive,
            description_kind: proto::StringKind::Markdown.into(),
            deprecated: self.deprecation.is_some(),
            write_only: self.write_only,
            deprecation_message: self.deprecation.clone().unwrap_or_default(),
        }
    }
}

impl Nested {
    fn to_proto(&self) -> proto::schema::Object {
        use proto::schema::object::NestingMode;
        let nesting = match self.nesting {
            Nesting::Single => NestingMode::Single,
            Nesting::List => NestingMode::List,
            Nesting::Set => NestingMode::Set,
            Nesting::Map => NestingMode::Map,
        };
        proto::schema::Object {
            attributes: self.attributes.iter().map(Attribute::to_proto).collect(),
            nesting: nesting.into(),
            ..proto::schema::Object::default()
        }
    }
}
