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
    let mut diagnostics = check(&registry.config.schema, &config, WriteOnly::Allowed);
    diagnostics.add(registry.provider.validate(&config));
    Ok(proto::validate_provider_config::Response { diagnostics: diagnostics.into_proto() })
}

pub(super) fn validate_resource(
    registry: &Registry,
    request: &proto::validate_resource_config::Request,
) -> Result<proto::validate_resource_config::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let config = wire::decode_required(request.config.as_ref(), &entry.shape.ty)?;
    let write_only = match &request.client_capabilities {
        Some(capabilities) if capabilities.write_only_attributes_allowed => WriteOnly::Allowed,
        _ => WriteOnly::Refused,
    };
    let mut diagnostics = check(&entry.shape.schema, &config, write_only);
    diagnostics.add(entry.resource.validate(&config));
    Ok(proto::validate_resource_config::Response { diagnostics: diagnostics.into_proto() })
}

pub(super) fn validate_data(
    registry: &Registry,
    request: &proto::validate_data_resource_config::Request,
) -> Result<proto::validate_data_resource_config::Response, Diagnostics> {
    let entry = registry.data_source(&request.type_name)?;
    let config = wire::decode_required(request.config.as_ref(), &entry.shape.ty)?;
    let mut diagnostics = check(&entry.shape.schema, &config, WriteOnly::Allowed);
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

/// Terraform keeps write-only values out of the state since 1.11.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteOnly {
    Allowed,
    Refused,
}

/// Checks validators, write-only attributes and deprecations; Terraform itself checks types and required attributes.
fn check(schema: &Schema, config: &Object, write_only: WriteOnly) -> Diagnostics {
    let mut check = Check { diagnostics: Diagnostics::new(), path: Path::root(), write_only };
    check.object(&schema.attributes, config);
    check.diagnostics
}

struct Check {
    diagnostics: Diagnostics,
    path: Path,
    write_only: WriteOnly,
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
        if value.is_null() {
            return;
        }
        if attribute.write_only && self.write_only == WriteOnly::Refused {
            let refusal = Diagnostic::error(codes::WRITE_ONLY, "WriteOnly Attribute Not Allowed")
                .detail(format!(
                    "The resource contains a non-null value for WriteOnly attribute {}.",
                    self.path
                ))
                .hint("Write-only attributes are only supported in Terraform 1.11 and later.");
            self.diagnostics.add_at(self.path.clone(), refusal);
        }
        if value.is_unknown() {
            return;
        }
        for validator in &attribute.validators {
            self.diagnostics.add(validator.check(value, &self.path).or_at(&self.path));
        }
        if let Kind::Nested(nested) = &attribute.kind {
            for (step, object) in nested.objects(value) {
                let depth = self.path.steps().len();
                self.path.extend(step);
                self.object(&nested.attributes, object);
                self.path.truncate(depth);
            }
        }
        if let Some(message) = &attribute.deprecation {
            let warning = Diagnostic::warning(codes::DEPRECATED, "Attribute Deprecated").detail(message);
            self.diagnostics.add_at(self.path.clone(), warning);
        }
    }
}
