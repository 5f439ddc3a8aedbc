//! Which objects belong to one another by the inventories of other tools: what Argo CD, Flux, Helm, kro and ApplySets record.
//!
//! Some record it at the parent, as a list of objects, and some at the members, as labels or annotations.

use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::array;
use super::references::Reference;

/// Where Argo CD records which Application an object belongs to.
pub(super) const ARGO_CD: &str = "argocd.argoproj.io/tracking-id";
/// The labels that say what belongs to what.
pub(crate) const LABELS: [&str; 9] = [
    "applyset.kubernetes.io/id",
    "applyset.kubernetes.io/part-of",
    "kro.run/resource-graph-definition-id",
    "kro.run/instance-id",
    "helm.toolkit.fluxcd.io/name",
    "helm.toolkit.fluxcd.io/namespace",
    // Of a release of Helm.
    "name",
    "owner",
    "status",
];
/// The annotations that do.
pub(crate) const ANNOTATIONS: [&str; 3] =
    ["meta.helm.sh/release-name", "meta.helm.sh/release-namespace", ARGO_CD];

/// The objects that an inventory in the status of `object` lists.
pub(super) fn listed(object: &Value) -> Vec<Reference> {
    let entries = |path: &str| object.pointer(path).map_or(&[][..], array);
    match group_kind(object) {
        ("argoproj.io", "Application") => entries("/status/resources").iter().filter_map(argo_cd).collect(),
        ("kustomize.toolkit.fluxcd.io" | "helm.toolkit.fluxcd.io", _) => {
            entries("/status/inventory/entries").iter().filter_map(flux).collect()
        }
        _ => Vec::new(),
    }
}

fn argo_cd(resource: &Value) -> Option<Reference> {
    let text = |name: &str| resource[name].as_str().unwrap_or_default();
    reference(text("group"), text("version"), text("kind"), text("namespace"), text("name"))
}

/// An entry is `NAMESPACE_NAME_GROUP_KIND`, with the version apart. A colon in a name is written as two underscores.
fn flux(entry: &Value) -> Option<Reference> {
    let (rest, kind) = entry["id"].as_str()?.rsplit_once('_')?;
    let (rest, group) = rest.rsplit_once('_')?;
    let (namespace, name) = rest.split_once('_')?;
    reference(group, entry["v"].as_str()?, kind, namespace, &name.replace("__", ":"))
}

fn reference(group: &str, version: &str, kind: &str, namespace: &str, name: &str) -> Option<Reference> {
    let slash = if group.is_empty() { "" } else { "/" };
    let gvk: GroupVersionKind = format!("{group}{slash}{version}/{kind}").parse().ok()?;
    let target = ObjectRef::new(gvk, Namespace::new(namespace), name);
    (!name.is_empty()).then_some(Reference { target, is_exact: true })
}

/// What identifies the members of an inventory: all of these labels or annotations.
pub(crate) struct Membership {
    marks: Vec<(&'static str, Mark)>,
}

/// The value of a label or annotation.
enum Mark {
    Is(String),
    /// It begins with one of these.
    BeginsWith([String; 2]),
}

impl Membership {
    /// How members of `object` are marked, if it has any.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (name, namespace) = (text(&metadata["name"])?, text(&metadata["namespace"]).unwrap_or_default());
        let labels = &metadata["labels"];
        if let Some(id) = text(&labels["applyset.kubernetes.io/id"]) {
            return Some(Self { marks: vec![("applyset.kubernetes.io/part-of", Mark::Is(id))] });
        }
        if labels["kro.run/resource-graph-definition-id"].is_string() {
            return Some(Self { marks: vec![("kro.run/instance-id", Mark::Is(text(&metadata["uid"])?))] });
        }
        // Helm keeps earlier releases, too; only the deployed one has members.
        if is_release(object, &name) && labels["status"] == "deployed" {
            let marks = vec![
                ("meta.helm.sh/release-name", Mark::Is(text(&labels["name"])?)),
                ("meta.helm.sh/release-namespace", Mark::Is(namespace)),
            ];
            return Some(Self { marks });
        }
        let marks = match group_kind(object) {
            ("helm.toolkit.fluxcd.io", "HelmRelease") => vec![
                ("helm.toolkit.fluxcd.io/name", Mark::Is(name)),
                ("helm.toolkit.fluxcd.io/namespace", Mark::Is(namespace)),
            ],
            // The namespace is there unless it is that of Argo CD.
            ("argoproj.io", "Application") => {
                let beginnings = [format!("{name}:"), format!("{namespace}_{name}:")];
                vec![(ARGO_CD, Mark::BeginsWith(beginnings))]
            }
            _ => return None,
        };
        Some(Self { marks })
    }

    /// Whether an object is a member that has these labels and annotations.
    pub(super) fn has<'o>(&self, mark: impl Fn(&str) -> Option<&'o str>) -> bool {
        self.marks.iter().all(|(key, wanted)| {
            mark(key).is_some_and(|value| match wanted {
                Mark::Is(wanted) => value == wanted,
                Mark::BeginsWith(beginnings) => beginnings.iter().any(|it| value.starts_with(it.as_str())),
            })
        })
    }
}

/// Whether an object is a Secret in which Helm keeps a release. Its metadata tells, too.
fn is_release(object: &Value, name: &str) -> bool {
    let is_named_so = name.starts_with("sh.helm.release.v1.");
    object["type"] == "helm.sh/release.v1" || (is_named_so && object["metadata"]["labels"]["owner"] == "helm")
}

fn group_kind(object: &Value) -> (&str, &str) {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    (group, object["kind"].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inventories_at_the_parent_list_its_members() {
        let check = |object: &Value, expected: &[&str]| {
            let found: Vec<String> = listed(object).iter().map(|it| it.target.to_string()).collect();
            assert_eq!(found, expected);
        };
        let resource = |group: &str, kind: &str, namespace: &str, name: &str| json!({ "group": group, "version": "v1", "kind": kind, "namespace": namespace, "name": name });
        check(
            &json!({ "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "status": { "resources": [
                resource("apps", "Deployment", "shop", "web"), resource("", "Namespace", "", "shop"),
            ] } }),
            &["Deployment shop/web", "Namespace shop"],
        );
        check(
            &json!({ "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "status": { "inventory": { "entries": [
                { "id": "shop_web_apps_Deployment", "v": "v1" },
                { "id": "_system__shop_rbac.authorization.k8s.io_ClusterRole", "v": "v1" },
                { "id": "shop_settings__Secret", "v": "v1" },
                { "id": "nonsense", "v": "v1" },
            ] } } }),
            &["Deployment shop/web", "ClusterRole system:shop", "Secret shop/settings"],
        );
        check(
            &json!({ "apiVersion": "example.org/v1", "kind": "Application", "status": { "resources": [{}] } }),
            &[],
        );
    }

    #[test]
    fn inventories_at_the_members_name_their_parent() {
        let check = |parent: Value, member: Value, expected: bool| {
            let mark = |key: &str| member["labels"][key].as_str().or(member["annotations"][key].as_str());
            assert_eq!(Membership::of(&parent).is_some_and(|it| it.has(mark)), expected, "{parent}");
        };
        let set =
            json!({ "metadata": { "name": "s", "labels": { "applyset.kubernetes.io/id": "applyset-1" } } });
        check(set.clone(), json!({ "labels": { "applyset.kubernetes.io/part-of": "applyset-1" } }), true);
        check(set.clone(), json!({ "labels": { "applyset.kubernetes.io/part-of": "applyset-2" } }), false);
        check(set, json!({}), false);
        let release = |status: &str| json!({ "type": "helm.sh/release.v1", "metadata": { "name": "sh.helm.release.v1.web.v2", "namespace": "shop", "labels": { "name": "web", "status": status } } });
        let annotations = json!({ "annotations": { "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop" } });
        check(release("deployed"), annotations.clone(), true);
        check(release("superseded"), annotations, false);
        check(
            release("deployed"),
            json!({ "annotations": { "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "other" } }),
            false,
        );
        let instance = json!({ "metadata": { "name": "a", "uid": "u1", "labels": { "kro.run/resource-graph-definition-id": "g" } } });
        check(instance.clone(), json!({ "labels": { "kro.run/instance-id": "u1" } }), true);
        check(instance, json!({ "labels": { "kro.run/instance-id": "u2" } }), false);
        let flux = json!({ "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": { "name": "web", "namespace": "shop" } });
        check(
            flux,
            json!({ "labels": { "helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop" } }),
            true,
        );
        check(json!({ "metadata": { "name": "plain", "labels": {} } }), json!({ "labels": {} }), false);
        let argo = json!({ "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": { "name": "web", "namespace": "team" } });
        let tracked = |id: &str| json!({ "annotations": { "argocd.argoproj.io/tracking-id": id } });
        check(argo.clone(), tracked("web:apps/Deployment:shop/web"), true);
        check(argo.clone(), tracked("team_web:apps/Deployment:shop/web"), true);
        check(argo, tracked("web2:apps/Deployment:shop/web"), false);
    }
}
