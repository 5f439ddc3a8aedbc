//! Validates configurations by schema and provider, and configures the provider.

use diag::Diagnostic;
use tokio_util::sync::CancellationToken;

use super::registry::Registry;
use super::wire;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::path::{Path, Step};
use crate::provider::ConfigureRequest;
use crate::schema::{Attribute, Kind, Schema};
use crate::value::{Object, Value};

pub(super) fn validate_provider(
    registry: &Registry,
    request: &proto::validate_provider_config::Request,
) -> Result<proto::validate_provider_config::Response, Diagnostics> {
    let config = wire::decode(request.config.as_ref(), &registry.config.ty)?.unwrap_or_default();
    let mut diagnostics = check(&registry.config.schema, &config);
    diagnostics.add(registry.provider.validate(&config));
    Ok(proto::validate_provider_config::Response { diagnostics: diagnostics.into_proto() })
}

pub(super) fn validate_resource(
    registry: &Registry,
    request: &proto::validate_resource_config::Request,
) -> Result<proto::validate_resource_config::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let config = wire::decode_required(request.config.as_ref(), &entry.shape.ty)?;
    let mut diagnostics = check(&entry.shape.schema, &config);
    diagnostics.add(entry.resource.validate(&config));
    Ok(proto::validate_resource_config::Response { diagnostics: diagnostics.into_proto() })
}

pub(super) fn validate_data(
    registry: &Registry,
    request: &proto::validate_data_resource_config::Request,
) -> Result<proto::validate_data_resource_config::Response, Diagnostics> {
    let entry = registry.data_source(&request.type_name)?;
    let config = wire::decode_required(request.config.as_ref(), &entry.shape.ty)?;
    let mut diagnostics = check(&entry.shape.schema, &config);
    diagnostics.add(entry.data_source.validate(&config));
    Ok(proto::validate_data_resource_config::Response { diagnostics: diagnostics.into_proto() })
}

pub(super) async fn configure(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::configure_provider::Request,
) -> Result<proto::configure_provider::Response, Diagnostics> {
    let config = wire::decode(request.config.as_ref(), &registry.config.ty)?.unwrap_or_default();
    let request = ConfigureRequest { config, terraform_version: request.terraform_version, stop };
    let diagnostics = registry.provider.configure(request).await;
    Ok(proto::configure_provider::Response { diagnostics: diagnostics.into_proto() })
}

/// Checks validators and deprecations; Terraform itself checks types and required attributes.
fn check(schema: &Schema, config: &Object) -> Diagnostics {
    let mut check = Check { diagnostics: Diagnostics::new(), path: Path::root() };
    check.object(&schema.attributes, config);
    check.diagnostics
}

struct Check {
    diagnostics: Diagnostics,
    path: Path,
}

impl Check {
    fn object(&mut self, attributes: &[Attribute], config: &Object) {
        for attribute in attributes {
            self.path.push(Step::Attribute(attribute.name.clone()));
            self.attribute(attribute, config.get(&attribute.name));
            self.path.pop();
        }
    }

    fn attribute(&mut self, attribute: &Attribute, value: &Value) {
        if value.is_null() || value.is_unknown() {
            return;
        }
        for validator in &attribute.validators {
            self.diagnostics.add(validator.check(value, &self.path).or_at(&self.path));
        }
        if let (Kind::Nested(nested), Some(object)) = (&attribute.kind, value.as_object()) {
            self.object(nested, object);
        }
        if let Some(message) = &attribute.deprecation {
            let warning = Diagnostic::warning(codes::DEPRECATED, "Attribute Deprecated").detail(message);
            self.diagnostics.add_at(self.path.clone(), warning);
        }
    }
}
