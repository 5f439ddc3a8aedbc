//! `k8sconnect_yaml_scoped`: manifests in three groups that are applied one after another.

use super::division::{Division, Output};

pub(crate) const YAML_SCOPED: Division = Division {
    type_name: "k8sconnect_yaml_scoped",
    about: "Divides YAML with many documents into CRDs, cluster-scoped and namespaced manifests.",
    ambiguous: "Categorization Error",
    outputs: &[Scope::Crds.output(), Scope::ClusterScoped.output(), Scope::Namespaced.output()],
    output_of: |manifest| Scope::of(&manifest.group, &manifest.kind).output().name,
};

/// The groups, in the order of application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Crds,
    ClusterScoped,
    Namespaced,
}

impl Scope {
    /// The group of a kind. Custom kinds count as namespaced, because no cluster is asked.
    fn of(group: &str, kind: &str) -> Self {
        if kind.eq_ignore_ascii_case("CustomResourceDefinition") {
            Self::Crds
        } else if manifest::is_known_cluster_scoped(group, kind) {
            Self::ClusterScoped
        } else {
            Self::Namespaced
        }
    }

    const fn output(self) -> Output {
        match self {
            Self::Crds => Output {
                name: "crds",
                about: "CustomResourceDefinitions, by `[group.]kind[.namespace].name`.",
            },
            Self::ClusterScoped => Output {
                name: "cluster_scoped",
                about: "Objects of the built-in kinds that live in no namespace, such as namespaces themselves.",
            },
            Self::Namespaced => Output { name: "namespaced", about: "Everything else." },
        }
    }
}

#[cfg(test)]
mod tests {
    use tfplugin::provider::{DataSource as _, ReadDataRequest};
    use tfplugin::value::Object;

    use super::*;

    #[tokio::test]
    async fn every_manifest_is_in_one_group_and_empty_groups_are_empty() {
        let content = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n---\n\
                       apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n---\n\
                       apiVersion: example.com/v1\nkind: Namespace\nmetadata: {name: d}\n";
        let config: Object = [("content", content)].into_iter().collect();
        let request = ReadDataRequest { config, stop: tfplugin::CancellationToken::new() };
        let state = YAML_SCOPED.read(request).await.state.unwrap();
        let keys = |name: &str| -> Vec<String> {
            state.get(name).as_object().unwrap().iter().map(|(key, _)| key.to_owned()).collect()
        };
        assert_eq!(keys("crds"), ["apiextensions.k8s.io.customresourcedefinition.a"]);
        assert_eq!(keys("cluster_scoped"), Vec::<String>::new());
        assert_eq!(keys("namespaced"), ["configmap.shop.c", "example.com.namespace.d"]);
    }
}
