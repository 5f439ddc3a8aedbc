//! What the provider has, by type name, with schemas and types computed once.

use std::collections::BTreeMap;
use std::sync::Arc;

use diag::Diagnostic;

use super::function;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::provider::{
    Action, DataSource, EphemeralResource, Function, IdentitySchema, ListResource, Provider, Resource,
    Signature,
};
use crate::schema::Schema;
use crate::types::Type;

pub(super) struct Registry {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) config: TypedSchema,
    resources: BTreeMap<String, Arc<ResourceEntry>>,
    data_sources: Entries<dyn DataSource>,
    ephemeral_resources: Entries<dyn EphemeralResource>,
    list_resources: Entries<dyn ListResource>,
    actions: Entries<dyn Action>,
    functions: BTreeMap<String, (Arc<dyn Function>, Signature)>,
}

type Entries<T> = BTreeMap<String, Entry<T>>;

pub(super) struct TypedSchema {
    pub(super) schema: Schema,
    pub(super) ty: Type,
}

pub(super) struct ResourceEntry {
    pub(super) resource: Arc<dyn Resource>,
    pub(super) shape: TypedSchema,
    pub(super) identity: Option<(IdentitySchema, Type)>,
}

/// Everything but resources, which also have identities.
pub(super) struct Entry<T: ?Sized> {
    pub(super) item: Arc<T>,
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
            (resource.type_name().to_owned(), Arc::new(ResourceEntry { resource, shape, identity }))
        });
        let functions = provider.functions().into_iter().map(|function| {
            let signature = function.signature();
            (function.name().to_owned(), (function, signature))
        });
        Self {
            resources: resources.collect(),
            data_sources: entries(provider.data_sources(), |item| (item.type_name(), item.schema())),
            ephemeral_resources: entries(provider.ephemeral_resources(), |item| {
                (item.type_name(), item.schema())
            }),
            list_resources: entries(provider.list_resources(), |item| (item.type_name(), item.schema())),
            actions: entries(provider.actions(), |item| (item.type_name(), item.schema())),
            functions: functions.collect(),
            config: TypedSchema::new(provider.schema()),
            provider,
        }
    }

    pub(super) fn resource(&self, name: &str) -> Result<&Arc<ResourceEntry>, Diagnostics> {
        find(&self.resources, "resource", name)
    }

    pub(super) fn data_source(&self, name: &str) -> Result<&Entry<dyn DataSource>, Diagnostics> {
        find(&self.data_sources, "data source", name)
    }

    pub(super) fn ephemeral_resource(
        &self,
        name: &str,
    ) -> Result<&Entry<dyn EphemeralResource>, Diagnostics> {
        find(&self.ephemeral_resources, "ephemeral resource", name)
    }

    pub(super) fn list_resource(&self, name: &str) -> Result<&Entry<dyn ListResource>, Diagnostics> {
        find(&self.list_resources, "list resource", name)
    }

    pub(super) fn action(&self, name: &str) -> Result<&Entry<dyn Action>, Diagnostics> {
        find(&self.actions, "action", name)
    }

    pub(super) fn function(&self, name: &str) -> Result<&(Arc<dyn Function>, Signature), Diagnostics> {
        find(&self.functions, "function", name)
    }

    pub(super) fn metadata(&self) -> proto::get_metadata::Response {
        use proto::get_metadata::{
            ActionMetadata, DataSourceMetadata, EphemeralResourceMetadata, FunctionMetadata,
            ListResourceMetadata, ResourceMetadata,
        };
        proto::get_metadata::Response {
            server_capabilities: Some(capabilities()),
            data_sources: names(&self.data_sources, |type_name| DataSourceMetadata { type_name }),
            resources: names(&self.resources, |type_name| ResourceMetadata { type_name }),
            functions: names(&self.functions, |name| FunctionMetadata { name }),
            ephemeral_resources: names(&self.ephemeral_resources, |type_name| EphemeralResourceMetadata {
                type_name,
            }),
            list_resources: names(&self.list_resources, |type_name| ListResourceMetadata { type_name }),
            actions: names(&self.actions, |type_name| ActionMetadata { type_name }),
            ..proto::get_metadata::Response::default()
        }
    }

    pub(super) fn schemas(&self) -> proto::get_provider_schema::Response {
        let resources =
            self.resources.iter().map(|(name, entry)| (name.clone(), entry.shape.schema.to_proto()));
        let actions = schemas(&self.actions).map(|(name, schema)| {
            let schema = Some(schema);
            (name, proto::ActionSchema { schema })
        });
        proto::get_provider_schema::Response {
            provider: Some(self.config.schema.to_proto()),
            resource_schemas: resources.collect(),
            data_source_schemas: schemas(&self.data_sources).collect(),
            ephemeral_resource_schemas: schemas(&self.ephemeral_resources).collect(),
            list_resource_schemas: schemas(&self.list_resources).collect(),
            action_schemas: actions.collect(),
            functions: self.functions().collect(),
            server_capabilities: Some(capabilities()),
            ..proto::get_provider_schema::Response::default()
        }
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = (String, proto::Function)> {
        self.functions.iter().map(|(name, (_, signature))| (name.clone(), function::to_proto(signature)))
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

fn entries<T: ?Sized>(items: Vec<Arc<T>>, describe: impl Fn(&T) -> (&str, Schema)) -> Entries<T> {
    let entry = |item: Arc<T>| {
        let (name, schema) = describe(&item);
        (name.to_owned(), Entry { shape: TypedSchema::new(schema), item })
    };
    items.into_iter().map(entry).collect()
}

fn schemas<T: ?Sized>(entries: &Entries<T>) -> impl Iterator<Item = (String, proto::Schema)> {
    entries.iter().map(|(name, entry)| (name.clone(), entry.shape.schema.to_proto()))
}

fn names<T, M>(entries: &BTreeMap<String, T>, message: impl Fn(String) -> M) -> Vec<M> {
    entries.keys().cloned().map(message).collect()
}

fn find<'e, T>(entries: &'e BTreeMap<String, T>, what: &str, name: &str) -> Result<&'e T, Diagnostics> {
    entries.get(name).ok_or_else(|| unknown_type(what, name, entries.keys()))
}

/// The same as terraform-plugin-framework's.
fn capabilities() -> proto::ServerCapabilities {
    proto::ServerCapabilities {
        plan_destroy: true,
        get_provider_schema_optional: true,
        move_resource_state: true,
        generate_resource_config: true,
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
