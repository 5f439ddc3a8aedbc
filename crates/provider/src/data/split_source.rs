//! Data sources that split multi-document YAML into maps of single manifests.

use diag::{Diagnostic, Source};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{BoxFuture, DataSource, ReadDataRequest, ReadDataResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;

use super::manifests::{self, Manifest};
use super::{input, respond};

/// Such a data source: its name, and which manifest goes into which map.
pub(crate) struct SplitSource {
    type_name: &'static str,
    about: &'static str,
    /// The title of the error about two manifests with the same key.
    ambiguous: &'static str,
    /// Its maps, which are empty rather than null: name and description.
    outputs: &'static [(&'static str, &'static str)],
    /// The name of the map for a manifest.
    output_of: fn(&Manifest) -> &'static str,
}

/// Manifests as a map, for `for_each`.
pub(crate) const YAML_SPLIT: SplitSource = SplitSource {
    type_name: "k8sconnect_yaml_split",
    about: "Splits multi-document YAML into single manifests, with keys that do not depend on their order.",
    ambiguous: "Manifest Generation Error",
    outputs: &[(
        "manifests",
        "The manifests as they were written, by `[group.]kind[.namespace].name`: `apps.deployment.shop.web`.",
    )],
    output_of: |_| "manifests",
};

/// Manifests in three maps that are applied one after another.
pub(crate) const YAML_SCOPED: SplitSource = SplitSource {
    type_name: "k8sconnect_yaml_scoped",
    about: "Splits multi-document YAML into CRDs, cluster-scoped and namespaced manifests.",
    ambiguous: "Categorization Error",
    outputs: &[
        ("crds", "CustomResourceDefinitions, by `[group.]kind[.namespace].name`."),
        ("cluster_scoped", "Objects of built-in cluster-scoped kinds, such as namespaces."),
        ("namespaced", "Everything else."),
    ],
    // Custom kinds count as namespaced, because no cluster is asked.
    output_of: |manifest| match manifest.kind.as_str() {
        kind if kind.eq_ignore_ascii_case("CustomResourceDefinition") => "crds",
        kind if manifest::is_known_cluster_scoped(&manifest.group, kind) => "cluster_scoped",
        _ => "namespaced",
    },
};

impl DataSource for SplitSource {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn schema(&self) -> Schema {
        self.outputs.iter().fold(input::schema(self.about), |schema, (name, about)| {
            schema.attribute(Attribute::computed(*name, Type::map(Type::String)).description(*about))
        })
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        input::validate(config)
    }

    fn read(&self, request: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse> {
        Box::pin(async move { respond(self.split(&request).await) })
    }
}

impl SplitSource {
    async fn split(&self, request: &ReadDataRequest) -> Result<(Object, Diagnostics), Diagnostics> {
        let loaded = input::load(self.type_name, request).await?;
        let mut state = request.config.clone().with("id", loaded.id);
        for (name, map) in self.maps(loaded.manifests)? {
            state.set(name, map);
        }
        Ok((state, loaded.diagnostics))
    }

    /// The manifests in the maps they belong to.
    fn maps(&self, manifests: Vec<Manifest>) -> Result<Object, Box<Diagnostic>> {
        let manifests = manifests::by_key(manifests, self.ambiguous)?;
        let map = |name: &str| -> Object {
            let members = manifests.values().filter(|manifest| (self.output_of)(manifest) == name);
            members.map(|manifest| (manifest.key.as_str(), manifest.text.as_str())).collect()
        };
        Ok(self.outputs.iter().map(|(name, _)| (*name, map(name))).collect())
    }
}

/// The maps that a data source would have for `content`.
pub(crate) fn split(content: &str, source: &SplitSource) -> Result<Object, Box<Diagnostic>> {
    let manifests = manifests::split(&Source::new("content", content));
    let manifests = manifests.map_err(|problems| {
        Box::new(problems.into_iter().next().expect("what cannot be read has a problem"))
    })?;
    source.maps(manifests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_manifest_is_in_one_map_and_empty_maps_are_not_null() {
        let content = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n---\n\
                       apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n---\n\
                       apiVersion: example.com/v1\nkind: Namespace\nmetadata: {name: d}\n";
        let config: Object = [("content", content)].into_iter().collect();
        let request =
            ReadDataRequest { config, deferral_allowed: false, stop: tfplugin::CancellationToken::new() };
        let state = YAML_SCOPED.read(request).await.state.unwrap();
        let keys = |name: &str| -> Vec<String> {
            state.get(name).as_object().unwrap().iter().map(|(key, _)| key.to_owned()).collect()
        };
        assert_eq!(keys("crds"), ["apiextensions.k8s.io.customresourcedefinition.a"]);
        assert_eq!(keys("cluster_scoped"), Vec::<String>::new());
        assert_eq!(keys("namespaced"), ["configmap.shop.c", "example.com.namespace.d"]);
    }
}
