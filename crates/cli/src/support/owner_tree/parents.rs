//! What an object belongs to: its owners, the claim it was created for, and the tools that delivered it.

use manifest::GroupVersionKind;
use serde_json::{Value, json};

use super::array;

/// The parent of an object as `Kind name`: its controller, or the claim it was created for.
pub(crate) fn parent(object: &Value) -> Option<String> {
    let parent = owner(object)?;
    Some(format!("{} {}", parent["kind"].as_str()?, parent["name"].as_str()?))
}

/// Its controller, or the claim it was created for.
fn owner(object: &Value) -> Option<&Value> {
    let owners = array(&object["metadata"]["ownerReferences"]);
    let controller = owners.iter().find(|owner| owner["controller"] == true).or(owners.first());
    controller.or(Some(&object["spec"]["claimRef"]).filter(|claim| claim.is_object()))
}

/// Everything an object belongs to, each with `apiVersion`, `kind`, `namespace` and `name`. Whether an owner is in the namespace
/// of the object or in none, `is_namespaced` knows.
pub(crate) fn parents(object: &Value, is_namespaced: impl Fn(&GroupVersionKind) -> bool) -> Vec<Value> {
    let metadata = &object["metadata"];
    let own = metadata["namespace"].as_str();
    let mut parents = Vec::new();
    if let Some(owner) = owner(object) {
        let gvk = owner.as_object().and_then(|owner| GroupVersionKind::of(owner).ok());
        let inside = own.filter(|_| gvk.is_some_and(|gvk| is_namespaced(&gvk)));
        let namespace = owner["namespace"].as_str().or(inside);
        parents.push(json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "namespace": namespace, "name": owner["name"],
        }));
    }
    let labels = |key: &str| metadata["labels"][key].as_str();
    let mut delivered = |group: &str, kind: &str, namespace: Option<&str>, name: Option<&str>| {
        if let Some((namespace, name)) = namespace.zip(name) {
            let parent = json!({ "apiVersion": group, "kind": kind, "namespace": namespace, "name": name });
            parents.push(parent);
        }
    };
    for (group, kind) in
        [("kustomize.toolkit.fluxcd.io", "Kustomization"), ("helm.toolkit.fluxcd.io", "HelmRelease")]
    {
        let label = |key: &str| labels(&format!("{group}/{key}"));
        delivered(&format!("{group}/v1"), kind, label("namespace"), label("name"));
    }
    if let Some((namespace, name)) = application(metadata) {
        delivered("argoproj.io/v1alpha1", "Application", Some(namespace), Some(name));
    }
    parents
}

/// Namespace and name of the Application in Argo CD's mark: `name:group/kind:namespace/name`, or with the namespace of the
/// Application first, `namespace_name:…`.
fn application(metadata: &Value) -> Option<(&str, &str)> {
    const DEFAULT: &str = "argocd";
    let (application, _) = metadata["annotations"][super::inventories::ARGO_CD]
        .as_str()?
        .split_once(':')
        .filter(|(name, _)| !name.is_empty())?;
    Some(application.split_once('_').unwrap_or((DEFAULT, application)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_belongs_to_its_owner_and_to_what_delivered_it() {
        let check = |object: Value, expected: &[&str]| {
            let parents = parents(&object, |gvk| gvk.kind() != "XApp");
            let shown = parents.iter().map(|parent| {
                let text = |name: &str| parent[name].as_str().unwrap_or("-").to_owned();
                format!("{} {} {} {}", text("apiVersion"), text("kind"), text("namespace"), text("name"))
            });
            assert_eq!(shown.collect::<Vec<_>>(), expected);
        };
        let owner = |kind: &str, name: &str, controller: bool| json!({ "apiVersion": "example.org/v1", "kind": kind, "name": name, "uid": "u", "controller": controller });
        check(json!({ "metadata": { "namespace": "shop" } }), &[]);
        check(
            json!({ "metadata": { "namespace": "shop", "ownerReferences": [owner("A", "a", false), owner("B", "b", true)] } }),
            &["example.org/v1 B shop b"],
        );
        check(
            json!({ "metadata": { "namespace": "shop", "ownerReferences": [owner("XApp", "x", true)] } }),
            &["example.org/v1 XApp - x"],
        );
        let claim =
            json!({ "apiVersion": "example.org/v1", "kind": "App", "namespace": "shop", "name": "a" });
        check(json!({ "spec": { "claimRef": claim } }), &["example.org/v1 App shop a"]);
        check(
            json!({ "metadata": { "namespace": "shop",
                "labels": { "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system" },
                "annotations": { "argocd.argoproj.io/tracking-id": "team_web:apps/Deployment:shop/web" },
            } }),
            &[
                "kustomize.toolkit.fluxcd.io/v1 Kustomization flux-system apps",
                "argoproj.io/v1alpha1 Application team web",
            ],
        );
    }
}
