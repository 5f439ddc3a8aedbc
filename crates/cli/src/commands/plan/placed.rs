//! Where written objects go: their namespaces, and what of the cluster comes with the same files.

use std::collections::HashMap;

use cluster::Resource;
use diag::Diagnostic;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use crate::codes;
use crate::commands::connect::Cluster;
use crate::commands::files::{Loaded, Written};
use crate::exit::Failure;

/// An object whose place is known.
pub(crate) struct Placed {
    pub(crate) target: ObjectRef,
    pub(crate) body: Value,
    /// Whether the cluster has its kind.
    pub(crate) is_served: bool,
    /// What it needs and the cluster lacks, though it comes with the same files.
    pub(crate) pending: Option<Pending>,
}

/// Something that must exist first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    Kind,
    Namespace,
}

impl Pending {
    /// Why nothing more can be said.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Kind => "its kind comes with these files; more can be said once that is there",
            Self::Namespace => "its namespace comes with these files; more can be said once that is there",
        }
    }
}

/// The kinds that the files bring along, and whether their objects are in namespaces.
#[derive(Default)]
struct Coming {
    kinds: HashMap<GroupVersionKind, bool>,
}

impl Coming {
    fn of(objects: &[Written]) -> Self {
        let mut coming = Self::default();
        for object in objects {
            let is_crd = object.gvk.kind() == "CustomResourceDefinition";
            if is_crd && object.gvk.group() == "apiextensions.k8s.io" {
                coming.add_kinds(&object.body["spec"]);
            }
        }
        coming
    }

    fn add_kinds(&mut self, spec: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
        for version in spec["versions"].as_array().into_iter().flatten() {
            if let Ok(gvk) = format!("{group}/{}/{kind}", text(&version["name"])).parse() {
                self.kinds.insert(gvk, spec["scope"] == "Namespaced");
            }
        }
    }
}

/// Says where each object goes; and what is wrong with documents that are not among them.
pub(crate) async fn place_all(
    cluster: &Cluster,
    loaded: Loaded,
    operation: &str,
) -> Result<(Vec<Placed>, Vec<Diagnostic>), Failure> {
    let resources = cluster.session.resources().await.map_err(|error| error.diagnostic(operation))?;
    let coming = Coming::of(&loaded.objects);
    let (objects, elsewhere) =
        place(loaded.objects, &coming, &resources, &cluster.namespace, cluster.namespace_typed);
    Ok((objects, loaded.problems.into_iter().chain(elsewhere).collect()))
}

/// Puts every object into its namespace; those that others need come first, and those of kinds that are missing last.
fn place(
    objects: Vec<Written>,
    coming: &Coming,
    resources: &[Resource],
    default: &Namespace,
    typed: bool,
) -> (Vec<Placed>, Vec<Diagnostic>) {
    let scopes: HashMap<&GroupVersionKind, bool> =
        resources.iter().map(|resource| (&resource.gvk, resource.namespaced)).collect();
    let (mut placed, mut problems) = (Vec::new(), Vec::new());
    for mut object in objects {
        let known = scopes.get(&object.gvk).copied();
        let namespaced = known.or_else(|| coming.kinds.get(&object.gvk).copied());
        let pending = (known.is_none() && namespaced.is_some()).then_some(Pending::Kind);
        if namespaced == Some(true) {
            match &object.namespace {
                Some(namespace) if typed && namespace != default => {
                    problems.push(elsewhere(&object, namespace, default));
                    continue;
                }
                Some(_) => {}
                None => {
                    object.body["metadata"]["namespace"] = default.as_str().into();
                    object.namespace = Some(default.clone());
                }
            }
        }
        let namespace = object.namespace.filter(|_| namespaced != Some(false));
        let target = ObjectRef::new(object.gvk, namespace, object.name);
        placed.push(Placed { target, body: object.body, is_served: known.is_some(), pending });
    }
    // Whatever may bring a kind must not stand behind those that wait for it.
    placed.sort_by_key(|object| (!is_needed_by_others(&object.target), !object.is_served));
    (placed, problems)
}

/// Whether other objects may need this one. They wait for it by themselves, but must not keep it from its turn.
pub(crate) fn is_needed_by_others(target: &ObjectRef) -> bool {
    matches!(
        (target.group(), target.kind()),
        ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}

fn elsewhere(object: &Written, namespace: &Namespace, typed: &Namespace) -> Diagnostic {
    let title =
        format!("{} {} is in another namespace than --namespace says", object.gvk.kind(), object.name);
    Diagnostic::error(codes::NAMESPACE_OTHER, title)
        .at(&object.source, object.span, "")
        .detail(format!("It names {namespace}, and --namespace names {typed}."))
        .hint("Leave --namespace away, or take metadata.namespace out of the file.")
}

#[cfg(test)]
mod tests {
    use diag::{Source, Span};
    use serde_json::json;

    use super::*;
    use crate::commands::kinds;

    fn written(gvk: &str, namespace: &str, name: &str, spec: &Value) -> Written {
        Written {
            body: json!({ "metadata": { "name": name }, "spec": spec }),
            gvk: gvk.parse().unwrap(),
            namespace: Namespace::new(namespace),
            name: name.to_owned(),
            source: Source::new("a.yaml", ""),
            span: Span::default(),
        }
    }

    fn resource(gvk: &str, namespaced: bool) -> Resource {
        kinds::tests::resource(gvk, "", namespaced)
    }

    #[test]
    fn objects_get_their_namespaces_and_what_others_need_comes_first() {
        let crd = json!({
            "group": "shop.org", "names": { "kind": "Widget" }, "scope": "Namespaced", "versions": [{ "name": "v1" }],
        });
        let objects = vec![
            written("v1/ConfigMap", "", "a", &json!({})),
            written("v1/ConfigMap", "other", "b", &json!({})),
            written("shop.org/v1/Widget", "", "w", &json!({})),
            written("rbac.authorization.k8s.io/v1/ClusterRole", "shop", "r", &json!({})),
            written("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "widgets.shop.org", &crd),
            written("none.org/v1/None", "", "n", &json!({})),
        ];
        let resources = [
            resource("v1/ConfigMap", true),
            resource("rbac.authorization.k8s.io/v1/ClusterRole", false),
            resource("apiextensions.k8s.io/v1/CustomResourceDefinition", false),
        ];
        let coming = Coming::of(&objects);
        let shop = Namespace::new("shop").unwrap();
        let (placed, problems) = place(objects.clone(), &coming, &resources, &shop, false);
        let shown: Vec<String> = placed.iter().map(|it| format!("{} {:?}", it.target, it.pending)).collect();
        assert_eq!(
            shown,
            [
                "CustomResourceDefinition widgets.shop.org None",
                "ConfigMap shop/a None",
                "ConfigMap other/b None",
                "ClusterRole r None",
                "Widget shop/w Some(Kind)",
                "None n None",
            ]
        );
        assert!(problems.is_empty());
        let (_, problems) = place(objects, &coming, &resources, &shop, true);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].summary, "ConfigMap b is in another namespace than --namespace says");
    }
}
