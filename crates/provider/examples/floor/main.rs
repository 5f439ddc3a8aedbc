//! A provider with our schemas that answers at once and sends no request: what remains is what Terraform itself needs for a
//! configuration and a state like ours. `bench` compares our plans with it.

use std::process::ExitCode;
use std::sync::Arc;

use tfplugin::provider::{
    ApplyRequest, ApplyResponse, BoxFuture, IdentitySchema, Provider, ReadRequest, ReadResponse, Resource,
};
use tfplugin::schema::{Attribute, Kind, Schema};

fn main() -> ExitCode {
    tfplugin::serve(provider::ADDRESS, || Arc::new(Floor::default()))
}

#[derive(Default)]
struct Floor(provider::Provider);

impl Provider for Floor {
    fn schema(&self) -> Schema {
        unchecked(self.0.schema())
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        let ours = self.0.resources().into_iter();
        ours.map(|resource| Arc::new(AtOnce(resource)) as Arc<dyn Resource>).collect()
    }
}

/// A resource that is always as the state says.
struct AtOnce(Arc<dyn Resource>);

impl Resource for AtOnce {
    fn type_name(&self) -> &str {
        self.0.type_name()
    }

    fn schema(&self) -> Schema {
        unchecked(self.0.schema())
    }

    fn identity(&self) -> Option<IdentitySchema> {
        self.0.identity()
    }

    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
        // States come from our own provider.
        Box::pin(async move {
            ApplyResponse { state: request.change.prior().cloned(), ..ApplyResponse::default() }
        })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        Box::pin(async move { request.unchanged() })
    }
}

/// The schema without its validators.
fn unchecked(mut schema: Schema) -> Schema {
    clear(&mut schema.attributes);
    schema
}

fn clear(attributes: &mut [Attribute]) {
    for attribute in attributes {
        attribute.validators.clear();
        if let Kind::Nested(nested) = &mut attribute.kind {
            clear(nested);
        }
    }
}
