//! The ephemeral resource `k8sconnect_object`: an object, such as a Secret, read while Terraform runs.

use std::sync::Arc;

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{BoxFuture, EphemeralResource, OpenRequest, OpenResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;

use super::{deferred, respond};
use crate::context::Context;
use crate::{connection, data, reference};

pub(crate) struct EphemeralObject(pub(crate) Arc<Context>);

impl EphemeralResource for EphemeralObject {
    fn type_name(&self) -> &'static str {
        "k8sconnect_object"
    }

    fn schema(&self) -> Schema {
        let schema = Schema::new()
            .description(
                "Reads an object, such as a Secret, whenever Terraform runs. Neither plan nor state contains it.",
            )
            .attribute(connection::data_attribute())
            .attribute(Attribute::computed("yaml_body", Type::String).description("The object as YAML."))
            .attribute(Attribute::computed("object", Type::Dynamic).description(
                "The object, for expressions: `base64decode(ephemeral.k8sconnect_object.db.object.data.password)`.",
            ));
        reference::attributes().into_iter().chain([data::wait_for()]).fold(schema, Schema::attribute)
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        data::validate(config)
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, OpenResponse> {
        Box::pin(async move {
            if let Some(deferred) = deferred(&self.0, &request) {
                return deferred;
            }
            let looked = data::look(&self.0, &request.config).await;
            respond(looked.map(|(object, diagnostics)| {
                let result = request.config.with("yaml_body", manifest::to_yaml(&object));
                (result.with("object", data::shown(object)), diagnostics)
            }))
        })
    }
}
