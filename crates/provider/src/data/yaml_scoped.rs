//! `k8sconnect_yaml_scoped`: manifests in the three groups that are applied one after another.

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{BoxFuture, DataSource, ReadDataRequest, ReadDataResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::manifests::{self, Manifest};
use super::{answer, input};

/// The data source.
pub(crate) struct YamlScoped;

const NAME: &str = "k8sconnect_yaml_scoped";

/// The groups, in the order in which they are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Crds,
    ClusterScoped,
    Namespaced,
}

impl Scope {
    const ALL: [Self; 3] = [Self::Crds, Self::ClusterScoped, Self::Namespaced];

    /// Where a kind belongs. Custom kinds count as namespaced, whatever they are: no cluster is asked here.
    fn of(group: &str, kind: &str) -> Self {
        if kind.eq_ignore_ascii_case("CustomResourceDefinition") {
            Self::Crds
        } else if manifest::is_known_cluster_scoped(group, kind) {
            Self::ClusterScoped
        } else {
            Self::Namespaced
        }
    }

    const fn attribute(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::ClusterScoped => "cluster_scoped",
            Self::Namespaced => "namespaced",
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Crds => "CustomResourceDefinitions, by `[group.]kind[.namespace].name`.",
            Self::ClusterScoped => {
                "Objects of the built-in kinds that live in no namespace, such as namespaces themselves."
            }
            Self::Namespaced => "Everything else.",
        }
    }
}

impl DataSource for YamlScoped {
    fn type_name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> Schema {
        let about = "Divides YAML with many documents into CRDs, cluster-scoped and namespaced manifests.";
        Scope::ALL.into_iter().fold(input::schema(about), |schema, scope| {
            schema.attribute(
                Attribute::computed(scope.attribute(), Type::map(Type::String)).description(scope.about()),
            )
        })
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
    let manifests = manifests::by_key(loaded.manifests, "Categorization Error").map_err(|error| *error)?;
    let mut state = request.config.clone().with("id", loaded.id);
    for scope in Scope::ALL {
        let of_scope = |manifest: &&Manifest| Scope::of(&manifest.group, &manifest.kind) == scope;
        let group = manifests.values().filter(of_scope);
        let group: Object = group.map(|manifest| (manifest.key.as_str(), manifest.text.as_str())).collect();
        state.set(scope.attribute(), Value::Object(group));
    }
    Ok((state, loaded.diagnostics))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_manifest_is_in_one_group_and_empty_groups_are_empty() {
        let content = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n---\n\
                       apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n---\n\
                       apiVersion: example.com/v1\nkind: Namespace\nmetadata: {name: d}\n";
        let config: Object = [("content", content)].into_iter().collect();
        let request = ReadDataRequest { config, stop: tfplugin::CancellationToken::new() };
        let state = YamlScoped.read(request).await.state.unwrap();
        let keys = |name: &str| -> Vec<String> {
            state.get(name).as_object().unwrap().iter().map(|(key, _)| key.to_owned()).collect()
        };
        assert_eq!(keys("crds"), ["apiextensions.k8s.io.customresourcedefinition.a"]);
        assert_eq!(keys("cluster_scoped"), Vec::<String>::new());
        assert_eq!(keys("namespaced"), ["configmap.shop.c", "example.com.namespace.d"]);
    }
}
