//! Data sources that split multi-document YAML into maps of single manifests.

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{BoxFuture, DataSource, ReadDataRequest, ReadDataResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::manifests::{self, Manifest};
use super::{answer, input};

/// Such a data source: its name, and which manifest goes into which map.
pub(crate) struct Division {
    pub(super) type_name: &'static str,
    pub(super) about: &'static str,
    /// The title of the error about two manifests with the same key.
    pub(super) ambiguous: &'static str,
    /// Its maps, which are empty rather than null.
    pub(super) outputs: &'static [Output],
    /// The name of the map for a manifest.
    pub(super) output_of: fn(&Manifest) -> &'static str,
}

/// A map of manifests by key.
pub(super) struct Output {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
}

impl DataSource for Division {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn schema(&self) -> Schema {
        self.outputs.iter().fold(input::schema(self.about), |schema, output| {
            schema.attribute(
                Attribute::computed(output.name, Type::map(Type::String)).description(output.about),
            )
        })
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        input::validate(config)
    }

    fn read(&self, request: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse> {
        Box::pin(async move { answer(self.divide(&request).await) })
    }
}

impl Division {
    async fn divide(&self, request: &ReadDataRequest) -> Result<(Object, Diagnostics), Diagnostics> {
        let loaded = input::load(self.type_name, request).await?;
        let manifests = manifests::by_key(loaded.manifests, self.ambiguous).map_err(|error| *error)?;
        let mut state = request.config.clone().with("id", loaded.id);
        for output in self.outputs {
            let members = manifests.values().filter(|manifest| (self.output_of)(manifest) == output.name);
            let map = members.map(|manifest| (manifest.key.as_str(), manifest.text.as_str()));
            state.set(output.name, Value::Object(map.collect()));
        }
        Ok((state, loaded.diagnostics))
    }
}
