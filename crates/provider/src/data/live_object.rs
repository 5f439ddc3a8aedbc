//! The data source `k8sconnect_object`: an object as it is in the cluster.

use std::sync::Arc;

use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{BoxFuture, DataSource, ReadDataRequest, ReadDataResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;

use super::respond;
use crate::context::Context;
use crate::dynamic::dynamic;
use crate::reference::Reference;
use crate::{codes, connection, reference};

pub(crate) struct LiveObject(pub(crate) Arc<Context>);

impl DataSource for LiveObject {
    fn type_name(&self) -> &'static str {
        "k8sconnect_object"
    }

    fn schema(&self) -> Schema {
        let schema = Schema::new()
            .description("Reads an object from the cluster.")
            .attribute(connection::data_attribute())
            .attribute(Attribute::computed("manifest", Type::String).description("The object as JSON."))
            .attribute(Attribute::computed("yaml_body", Type::String).description("The object as YAML."))
            .attribute(
                Attribute::computed("object", Type::Dynamic)
                    .description("The object, for expressions: `object.status.loadBalancer.ingress[0].ip`."),
            );
        reference::attributes().into_iter().fold(schema, Schema::attribute)
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        connection::validate(config.get("cluster"))
    }

    fn read(&self, request: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse> {
        Box::pin(async move { respond(read(&self.0, request.config).await) })
    }
}

async fn read(context: &Context, config: Object) -> Result<(Object, Diagnostics), Diagnostics> {
    let cluster = context
        .known_cluster(config.get("cluster"), "Invalid connection")
        .map_err(|error| Diagnostics::from(*error).or_at(&Path::of("cluster")))?;
    let reference = Reference::parse(&config, "Discover Resource Type: Invalid Kind")?;
    let session = cluster.session();
    let target =
        reference.locate(session).await.map_err(|error| error.diagnostic("Discover Resource Type"))?;
    let Some(reply) = session.read(&target).await.map_err(|error| error.diagnostic("Read Resource"))? else {
        return Err(absent(&target).into());
    };
    let mut shown = reply.object.clone();
    drop_managed_fields(&mut shown);
    let state = config
        .with("manifest", manifest::to_json_pretty(&reply.object))
        .with("yaml_body", manifest::to_yaml(&reply.object))
        .with("object", dynamic(Some(&shown)));
    Ok((state, reply.diagnostics(&target).into()))
}

/// Removes `managedFields` at every level.
fn drop_managed_fields(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            fields.remove("managedFields");
            fields.values_mut().for_each(drop_managed_fields);
        }
        Json::Array(items) => items.iter_mut().for_each(drop_managed_fields),
        _ => {}
    }
}

fn absent(target: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::DATA_ABSENT, "Read Resource: Resource Not Found")
        .detail(format!("{target} does not exist, so there is nothing to read."))
        .object(target.to_string())
        .hint(
            "Check its name and namespace, or make this data source depend on the resource that creates it.",
        )
}

#[cfg(test)]
mod tests {
    use manifest::Namespace;
    use serde_json::json;

    use super::*;

    #[test]
    fn managed_fields_are_left_out_at_any_depth() {
        let mut object =
            json!({"metadata": {"name": "a", "managedFields": []}, "spec": [{"managedFields": 1, "x": 2}]});
        drop_managed_fields(&mut object);
        assert_eq!(object, json!({"metadata": {"name": "a"}, "spec": [{"x": 2}]}));
    }

    #[test]
    fn an_object_that_does_not_exist_is_an_error() {
        let target = ObjectRef::new("v1/Pod".parse().unwrap(), Namespace::new("shop"), "web");
        assert!(absent(&target).is_error());
    }
}
