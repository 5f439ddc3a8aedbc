//! The data source `k8sconnect_objects`: all objects of a kind that match selectors.

use std::sync::Arc;

use manifest::Namespace;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{BoxFuture, DataSource, ReadDataRequest, ReadDataResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::live_object::NO_CLIENT;
use super::{deferred, respond, shown};
use crate::context::Context;
use crate::reference::Reference;
use crate::{connection, selection};

pub(crate) struct Objects(pub(crate) Arc<Context>);

impl DataSource for Objects {
    fn type_name(&self) -> &'static str {
        "k8sconnect_objects"
    }

    fn schema(&self) -> Schema {
        let schema = Schema::new()
            .description("Reads all objects of a kind that match selectors.")
            .attribute(connection::data_attribute());
        let namespace = Attribute::optional("namespace", Type::String)
            .description("Their namespace. Without it, all namespaces are read.");
        selection::attributes(namespace).into_iter().fold(schema, Schema::attribute).attribute(
            Attribute::computed("objects", Type::Dynamic).description(
                "The objects by `namespace/name`, for expressions and `for_each`; those of cluster-scoped kinds by name.",
            ),
        )
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        connection::validate(config.get("cluster"))
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
    let cluster = context
        .known_cluster(config.get("cluster"), NO_CLIENT)
        .map_err(|error| Diagnostics::from(*error).or_at(&Path::of("cluster")))?;
    let reference = Reference::parse(&config, "Discover Resource Type: Invalid Kind")?;
    let selection = selection::parse(&config, config.text("namespace").and_then(Namespace::new));
    let listed = cluster.session().list(reference.gvk(), &selection).await;
    let listed = listed.map_err(|error| error.diagnostic("List Resources"))?;
    let named = listed.items.into_iter().map(|object| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        let key = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
        (key, shown(object))
    });
    let objects: Object = named.collect();
    Ok((config.with("objects", Value::dynamic(Value::Object(objects))), Diagnostics::new()))
}
