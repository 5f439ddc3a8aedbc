//! `k8sconnect_yaml_split`: manifests as a map, for `for_each`.

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{BoxFuture, DataSource, ReadDataRequest, ReadDataResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::{answer, input, manifests};

/// The data source.
pub(crate) struct YamlSplit;

const NAME: &str = "k8sconnect_yaml_split";

impl DataSource for YamlSplit {
    fn type_name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> Schema {
        input::schema("Divides YAML with many documents into single manifests, with keys that do not depend on their order.")
            .attribute(Attribute::computed("manifests", Type::map(Type::String)).description(
                "The manifests as they were written, by `[group.]kind[.namespace].name`: `apps.deployment.shop.web`.",
            ))
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        input::validate(config)
    }

    fn read(&self, request: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse> {
        Box::pin(async move { answer(read(&request).await) })
    }
}

async fn read(request: &ReadDataRequest) -> Result<(Object, Diagnostics), Diagnostics> {
    let loaded = input::load(NAME, request).await?;
    let manifests =
        manifests::by_key(loaded.manifests, "Manifest Generation Error").map_err(|error| *error)?;
    let manifests: Object = manifests.into_iter().map(|(key, manifest)| (key, manifest.text)).collect();
    let state = request.config.clone().with("id", loaded.id).with("manifests", Value::Object(manifests));
    Ok((state, loaded.diagnostics))
}
