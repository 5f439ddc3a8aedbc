//! The data source `k8sconnect_object`: an object as it is in the cluster.

use std::sync::Arc;

use cluster::Readiness;
use diag::Diagnostic;
use manifest::ObjectRef;
use readiness::{Cut, Wait};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{BoxFuture, DataSource, ReadDataRequest, ReadDataResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::{deferred, respond};
use crate::context::Context;
use crate::dynamic::dynamic;
use crate::reference::Reference;
use crate::{codes, connection, reference, wait_attribute, wait_resource};

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
        reference::attributes().into_iter().chain([wait_for()]).fold(schema, Schema::attribute)
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        validate(config)
    }

    fn read(&self, request: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse> {
        Box::pin(async move {
            match deferred(&self.0, &request) {
                Some(deferred) => deferred,
                None => respond(read(&self.0, request.config).await),
            }
        })
    }
}

async fn read(context: &Context, config: Object) -> Result<(Object, Diagnostics), Diagnostics> {
    let (object, diagnostics) = look(context, &config).await?;
    let state = config
        .with("manifest", manifest::to_json_pretty(&object))
        .with("yaml_body", manifest::to_yaml(&object))
        .with("object", shown(object));
    Ok((state, diagnostics))
}

/// The attribute that makes a read wait until the object is ready.
pub(crate) fn wait_for() -> Attribute {
    Attribute::optional("wait_for", wait_attribute::attributes()).description(
        "What to wait for before the object is read. The wait includes the time until the object and its kind exist.",
    )
}

/// Checks the connection and the wait of a configuration that names an object.
pub(crate) fn validate(config: &Object) -> Diagnostics {
    let mut diagnostics = connection::validate(config.get("cluster"));
    if let Some(written) = wait_attribute::read(config.get("wait_for")) {
        let gvk = Reference::parse(config, "").ok().map(|reference| reference.gvk().clone());
        let gvk = gvk.filter(|_| config.get("kind").as_str().is_some());
        diagnostics.add(wait_attribute::located(written.parse(gvk.as_ref(), Cut::Root).diagnostics));
    }
    diagnostics
}

/// The title of the error about an unusable connection: the operation that users of the Go provider know, and the problem.
pub(super) const NO_CLIENT: &str = "Connect to Cluster: Invalid connection";

/// The object that a configuration names, once it meets its `wait_for`.
pub(crate) async fn look(context: &Context, config: &Object) -> Result<(Json, Diagnostics), Diagnostics> {
    let cluster = context
        .known_cluster(config.get("cluster"), NO_CLIENT)
        .map_err(|error| Diagnostics::from(*error).or_at(&Path::of("cluster")))?;
    let reference = Reference::parse(config, "Discover Resource Type: Invalid Kind")?;
    let session = cluster.session();
    let wait = wait_attribute::read(config.get("wait_for"));
    if let Some(wait) = wait.and_then(|written| written.parse(None, Cut::Root).wait) {
        let (target, timeout) = wait_resource::locate(session, &reference, wait.timeout).await?;
        let wait = Wait { timeout, ..wait };
        return match session.wait_for(&target, &wait, wait_attribute::log(&target)).await {
            Ok(Readiness::Met { object, .. }) => Ok((object, Diagnostics::new())),
            Ok(Readiness::Unmet { diagnosis, .. }) => Err((*diagnosis).into()),
            Err(error) => Err(error.diagnostic("Wait").into()),
        };
    }
    let target =
        reference.locate(session).await.map_err(|error| error.diagnostic("Discover Resource Type"))?;
    let Some(reply) = session.read(&target).await.map_err(|error| error.diagnostic("Read Resource"))? else {
        return Err(absent(&target).into());
    };
    let diagnostics = reply.diagnostics(&target);
    Ok((reply.object, diagnostics.into()))
}

/// An object for expressions.
pub(crate) fn shown(mut object: Json) -> Value {
    drop_managed_fields(&mut object);
    dynamic(Some(&object))
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
