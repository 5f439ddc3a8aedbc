//! Validates configurations by schema and provider, and configures the provider.

use diag::Diagnostic;
use tokio_util::sync::CancellationToken;

use super::registry::{Registry, TypedSchema};
use super::wire;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::path::{Path, Step};
use crate::provider::ConfigureRequest;
use crate::schema::{Attribute, Kind};
use crate::value::{Object, Value};

pub(super) fn validate_provider(
    registry: &Registry,
    request: &proto::validate_provider_config::Request,
) -> Result<proto::validate_provider_config::Response, Diagnostics> {
    let config = wire::decode(request.config.as_ref(), &registry.config.ty)?.unwrap_or_default();
    let mut check = Check::new(true);
    check.object(&registry.config.schema.attributes, &config);
    check.diagnostics.add(registry.provider.validate(&config));
    Ok(proto::validate_provider_config::Response { diagnostics: check.diagnostics.into_proto() })
}

pub(super) fn validate_resource(
    registry: &Registry,
    request: &proto::validate_resource_config::Request,
) -> Result<proto::validate_resource_config::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let write_only_allowed =
        request.client_capabilities.as_ref().is_some_and(|client| client.write_only_attributes_allowed);
    let check = Check::new(write_only_allowed);
    let diagnostics =
        validate(&entry.shape, request.config.as_ref(), check, |config| entry.resource.validate(config))?;
    Ok(proto::validate_resource_config::Response { diagnostics })
}

/// Validates the configuration of anything but a resource or the provider: none of it has write-only attributes.
macro_rules! validate {
    ($($function:ident($message:ident, $registry_entry:ident, $name:ident);)*) => {
        $(pub(super) fn $function(
            registry: &Registry,
            request: &proto::$message::Request,
        ) -> Result<proto::$message::Response, Diagnostics> {
            let entry = registry.$registry_entry(&request.$name)?;
            let check = Check::new(true);
            let diagnostics =
                validate(&entry.shape, request.config.as_ref(), check, |config| entry.item.validate(config))?;
            Ok(proto::$message::Response { diagnostics })
        })*
    };
}

validate! {
    validate_data(validate_data_resource_config, data_source, type_name);
    validate_ephemeral(validate_ephemeral_resource_config, ephemeral_resource, type_name);
    validate_list(validate_list_resource_config, list_resource, type_name);
    validate_action(validate_action_config, action, action_type);
}

fn validate(
    shape: &TypedSchema,
    config: Option<&proto::DynamicValue>,
    mut check: Check,
    further: impl FnOnce(&Object) -> Diagnostics,
) -> Result<Vec<proto::Diagnostic>, Diagnostics> {
    let config = wire::decode_required(config, &shape.ty)?;
    check.object(&shape.schema.attributes, &config);
    check.diagnostics.add(further(&config));
    Ok(check.diagnostics.into_proto())
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

/// Checks validators, write-only attributes and deprecations; Terraform itself checks types and required attributes.
struct Check {
    diagnostics: Diagnostics,
    path: Path,
    /// Older versions of Terraform would store the value of a write-only attribute in the state.
    write_only_allowed: bool,
}

impl Check {
    fn new(write_only_allowed: bool) -> Self {
        Self { diagnostics: Diagnostics::new(), path: Path::root(), write_only_allowed }
    }

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
        if attribute.write_only && !self.write_only_allowed {
            let refusal = Diagnostic::error(codes::WRITE_ONLY, "WriteOnly Attribute Not Allowed")
                .detail(format!(
                    "{} is write-only, which this version of Terraform does not support.",
                    self.path
                ))
                .hint("Use Terraform or OpenTofu 1.11 or later.");
            self.diagnostics.add_at(self.path.clone(), refusal);
        }
        if value.is_unknown() {
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
