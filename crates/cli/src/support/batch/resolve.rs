//! Resolves the objects from the files: their scopes and namespaces, and which kinds the same files define.

use std::collections::HashMap;

use cluster::{Dependency, Resource};
use diag::{Diagnostic, Source, Span};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::Failure;
use crate::support::files::{Loaded, Written};

pub(crate) struct ResolvedObject {
    pub(crate) target: ObjectRef,
    pub(crate) body: Value,
    /// The text that it was written in.
    pub(crate) source: Source,
    /// The document of that text.
    pub(crate) part: Span,
    /// Whether the cluster serves its kind.
    pub(crate) is_served: bool,
    /// A dependency that the cluster lacks and the same files create.
    pub(crate) pending: Option<Pending>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    Kind,
    Namespace,
}

impl Pending {
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Kind => "these files create its kind; the details are known once it exists",
            Self::Namespace => "these files create its namespace; the details are known once it exists",
        }
    }
}

/// The kinds that the CRDs in the files define, and whether they are namespaced.
fn defined_kinds(objects: &[Written]) -> HashMap<GroupVersionKind, bool> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut kinds = HashMap::new();
    for spec in objects.iter().filter(|it| is_crd(&it.gvk)).map(|it| &it.body["spec"]) {
        let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
        for version in spec["versions"].as_array().into_iter().flatten() {
            if let Ok(gvk) = format!("{group}/{}/{kind}", text(&version["name"])).parse() {
                kinds.insert(gvk, spec["scope"] == "Namespaced");
            }
        }
    }
    kinds
}

fn is_crd(gvk: &GroupVersionKind) -> bool {
    (gvk.group(), gvk.kind()) == ("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// Resolves each object; also returns problems in documents that are not among them.
pub(crate) async fn resolve_all(
    cluster: &Cluster,
    loaded: Loaded,
    operation: &str,
) -> Result<(Vec<ResolvedObject>, Vec<Diagnostic>), Failure> {
    let resources = cluster.session.resources().await.map_err(|error| error.diagnostic(operation))?;
    let defined = defined_kinds(&loaded.objects);
    let (objects, conflicts) =
        resolve(loaded.objects, &defined, &resources, &cluster.namespace, cluster.namespace_typed);
    Ok((objects, loaded.problems.into_iter().chain(conflicts).collect()))
}

/// Puts every object into its namespace; dependencies come first, objects of missing kinds last.
fn resolve(
    objects: Vec<Written>,
    defined: &HashMap<GroupVersionKind, bool>,
    resources: &[Resource],
    default: &Namespace,
    typed: bool,
) -> (Vec<ResolvedObject>, Vec<Diagnostic>) {
    let scopes: HashMap<&GroupVersionKind, bool> =
        resources.iter().map(|resource| (&resource.gvk, resource.namespaced)).collect();
    let (mut resolved, mut problems) = (Vec::new(), Vec::new());
    for mut object in objects {
        let known = scopes.get(&object.gvk).copied();
        let namespaced = known.or_else(|| defined.get(&object.gvk).copied());
        let pending = (known.is_none() && namespaced.is_some()).then_some(Pending::Kind);
        if namespaced == Some(true) {
            match &object.namespace {
                Some(namespace) if typed && namespace != default => {
                    problems.push(namespace_conflict(&object, namespace, default));
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
        let (body, source, part) = (object.body, object.source, object.part);
        resolved.push(ResolvedObject { target, body, source, part, is_served: known.is_some(), pending });
    }
    // An object that may create a kind must not come after objects that wait for it.
    resolved.sort_by_key(|object| (!is_needed_by_others(&object.target), !object.is_served));
    (resolved, problems)
}

/// Whether other objects may need this one. They wait for it by themselves, but must not occupy all requests before it.
pub(crate) fn is_needed_by_others(target: &ObjectRef) -> bool {
    is_crd(&target.gvk) || (target.group(), target.kind()) == ("", "Namespace")
}

/// Whether the files may still bring what `object` lacks: a kind comes with a CRD or with an operator. A webhook may also
/// belong to what was written just before.
pub(crate) fn may_bring(files: &[ResolvedObject], dependency: &Dependency, object: &ResolvedObject) -> bool {
    match dependency {
        Dependency::Namespace(namespace) => creates_namespace(files, namespace),
        Dependency::Kind(_) => object.pending.is_some() || files.iter().any(|other| other.is_served),
        Dependency::Webhook(_) => true,
    }
}

pub(crate) fn creates_namespace(files: &[ResolvedObject], name: &str) -> bool {
    namespace_in(files, name).is_some()
}

/// The namespace of this name, if it is among the files.
pub(crate) fn namespace_in<'f>(files: &'f [ResolvedObject], name: &str) -> Option<&'f ResolvedObject> {
    let is_it = |target: &ObjectRef| target.group().is_empty() && target.kind() == "Namespace";
    files.iter().find(|object| is_it(&object.target) && object.target.name == name)
}

fn namespace_conflict(object: &Written, namespace: &Namespace, typed: &Namespace) -> Diagnostic {
    let title = format!("--namespace contradicts the namespace of {} {}", object.gvk.kind(), object.name);
    Diagnostic::error(codes::NAMESPACE_OTHER, title)
        .at(&object.source, object.span, "")
        .detail(format!("The file has {namespace}; --namespace is {typed}."))
        .hint("Omit --namespace, or remove metadata.namespace from the file.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::support::kinds;

    fn written(gvk: &str, namespace: &str, name: &str, spec: &Value) -> Written {
        Written {
            body: json!({ "metadata": { "name": name }, "spec": spec }),
            gvk: gvk.parse().unwrap(),
            namespace: Namespace::new(namespace),
            name: name.to_owned(),
            is_name_generated: false,
            source: Source::new("a.yaml", ""),
            part: Span::default(),
            span: Span::default(),
            violations: Vec::new(),
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
        let defined = defined_kinds(&objects);
        let shop = Namespace::new("shop").unwrap();
        let (resolved, problems) = resolve(objects.clone(), &defined, &resources, &shop, false);
        let shown: Vec<String> =
            resolved.iter().map(|it| format!("{} {:?}", it.target, it.pending)).collect();
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
        let (_, problems) = resolve(objects, &defined, &resources, &shop, true);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].summary, "--namespace contradicts the namespace of ConfigMap b");
    }

    #[test]
    fn only_what_the_files_may_create_is_waited_for() {
        let object = |gvk: &str, namespace: &str, name: &str, is_served: bool| {
            let target = ObjectRef::new(gvk.parse().unwrap(), Namespace::new(namespace), name);
            let source = Source::new("a.yaml", "");
            ResolvedObject {
                target,
                body: Value::Null,
                source,
                part: Span::new(0, 0),
                is_served,
                pending: None,
            }
        };
        let check = |dependency: &Dependency, files: Vec<ResolvedObject>, expected: bool| {
            assert_eq!(may_bring(&files, dependency, &files[0]), expected, "{}", files[0].target);
        };
        let settings = || object("v1/ConfigMap", "shop", "a", true);
        let shop = Dependency::Namespace("shop".to_owned());
        check(&shop, vec![settings()], false);
        check(&shop, vec![settings(), object("v1/Namespace", "", "other", true)], false);
        check(&shop, vec![settings(), object("v1/Namespace", "", "shop", true)], true);
        let route = || object("gateway.networking.k8s.io/v1/HTTPRoute", "shop", "r", false);
        let routes = Dependency::Kind(route().target.gvk);
        check(&routes, vec![route()], false);
        check(&routes, vec![route(), settings()], true);
        check(&Dependency::Webhook("webhook a".to_owned()), vec![settings()], true);
    }
}
