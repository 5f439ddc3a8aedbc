//! The provider's resources and data sources by type name, with their schemas and types computed once.

use std::collections::BTreeMap;
use std::sync::Arc;

use diag::Diagnostic;

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::provider::{DataSource, IdentitySchema, Provider, Resource};
use crate::schema::Schema;
use crate::types::Type;

pub(super) struct Registry {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) config: TypedSchema,
    resources: BTreeMap<String, ResourceEntry>,
    data_sources: BTreeMap<String, DataSourceEntry>,
}

pub(super) struct TypedSchema {
    pub(super) schema: Schema,
    pub(super) ty: Type,
}

pub(super) struct ResourceEntry {
    pub(super) resource: Arc<dyn Resource>,
    pub(super) shape: TypedSchema,
    pub(super) identity: Option<(IdentitySchema, Type)>,
}

pub(super) struct DataSourceEntry {
    pub(super) data_source: Arc<dyn DataSource>,
    pub(super) shape: TypedSchema,
}

impl Registry {
    pub(super) fn new(provider: Arc<dyn Provider>) -> Self {
        let resources = provider.resources().into_iter().map(|resource| {
            let identity = resource.identity().map(|schema| {
                let ty = schema.ty();
                (schema, ty)
            });
            let shape = TypedSchema::new(resource.schema());
            (resource.type_name().to_owned(), ResourceEntry { resource, shape, identity })
        });
        let data_sources = provider.data_sources().into_iter().map(|data_source| {
            let shape = TypedSchema::new(data_source.schema());
            (data_source.type_name().to_owned(), DataSourceEntry { data_source, shape })
        });
        Self {
            resources: resources.collect(),
            data_sources: data_sources.collect(),
            config: TypedSchema::new(provider.schema()),
            provider,
        }
    }

    pub(super) fn resource(&self, name: &str) -> Result<&ResourceEntry, Diagnostics> {
        self.resources.get(name).ok_or_else(|| unknown_type("resource", name, self.resources.keys()))
    }

    pub(super) fn data_source(&self, name: &str) -> Result<&DataSourceEntry, Diagnostics> {
        self.data_sources.get(name).ok_or_else(|| unknown_type("data source", name, self.data_sources.keys()))
    }

    pub(super) fn metadata(&self) -> proto::get_metadata::Response {
        use proto::get_metadata::{DataSourceMetadata, ResourceMetadata};
        let data_sources = self.data_sources.keys().cloned();
        let resources = self.resources.keys().cloned();
        proto::get_metadata::Response {
            server_capabilities: Some(capabilities()),
            data_sources: data_sources.map(|type_name| DataSourceMetadata { type_name }).collect(),
            resources: resources.map(|type_name| ResourceMetadata { type_name }).collect(),
            ..proto::get_metadata::Response::default()
        }
    }

    pub(super) fn schemas(&self) -> proto::get_provider_schema::Response {
        let resources =
            self.resources.iter().map(|(name, entry)| (name.clone(), entry.shape.schema.to_proto()));
        let data_sources =
            self.data_sources.iter().map(|(name, entry)| (name.clone(), entry.shape.schema.to_proto()));
        proto::get_provider_schema::Response {
            provider: Some(self.config.schema.to_proto()),
            resource_schemas: resources.collect(),
            data_source_schemas: data_sources.collect(),
            server_capabilities: Some(capabilities()),
            ..proto::get_provider_schema::Response::default()
        }
    }

    pub(super) fn identity_schemas(&self) -> proto::get_resource_identity_schemas::Response {
        let identified = self.resources.iter().filter_map(|(name, entry)| {
            let (schema, _) = entry.identity.as_ref()?;
            Some((name.clone(), identity_to_proto(schema)))
        });
        proto::get_resource_identity_schemas::Response {
            identity_schemas: identified.collect(),
            diagnostics: Vec::new(),
        }
    }
}

impl TypedSchema {
    fn new(schema: Schema) -> Self {
        Self { ty: schema.ty(), schema }
    }
}

/// The same as terraform-plugin-framework's, without the generation of configurations: Terraform does the same by itself.
fn capabilities() -> proto::ServerCapabilities {
    proto::ServerCapabilities {
        plan_destroy: true,
        get_provider_schema_optional: true,
        move_resource_state: true,
        generate_resource_config: false,
    }
}

fn identity_to_proto(schema: &IdentitySchema) -> proto::ResourceIdentitySchema {
    let attributes =
        schema.attributes.iter().map(|attribute| proto::resource_identity_schema::IdentityAttribute {
            name: attribute.name.clone(),
            r#type: attribute.ty.to_json_bytes(),
            required_for_import: attribute.required_for_import,
            optional_for_import: !attribute.required_for_import,
            description: attribute.description.clone(),
        });
    proto::ResourceIdentitySchema { version: schema.version, identity_attributes: attributes.collect() }
}

fn unknown_type<'n>(what: &str, name: &str, names: impl Iterator<Item = &'n String>) -> Diagnostics {
    let names = names.map(String::as_str).collect::<Vec<_>>().join(", ");
    Diagnostic::error(codes::UNKNOWN_TYPE, format!("This provider has no {what} {name}"))
        .detail(format!("It has: {names}."))
        .hint("Check the spelling, or use a version of the provider that has it.")
        .into()
}
