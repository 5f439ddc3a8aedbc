//! Lists objects for `terraform query`, page by page.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use manifest::{Namespace, ObjectRef};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::{BoxFuture, ListRequest, ListResource, Listed, Results};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::import;
use crate::context::Context;
use crate::private::Keys as _;
use crate::reference::Reference;
use crate::{identity, selection};

/// Objects of the provider's own cluster.
pub(crate) struct ListedObjects(pub(crate) Arc<Context>);

impl ListResource for ListedObjects {
    fn type_name(&self) -> &'static str {
        "k8sconnect_object"
    }

    fn schema(&self) -> Schema {
        let schema = Schema::new().description(
            "Lists the objects of a kind in the provider's cluster. Objects that a controller made from others, and those \
             that Kubernetes puts into every namespace, are left out.",
        );
        let namespaces = Attribute::optional("namespaces", Type::list(Type::String))
            .description("Their namespaces. If it is not set, all namespaces are listed.");
        selection::attributes(namespaces).into_iter().fold(schema, Schema::attribute)
    }

    fn list(&self, request: ListRequest, results: Results) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            match list(&self.0, &request, &results).await {
                Ok(()) => Diagnostics::new(),
                Err(diagnostics) => diagnostics,
            }
        })
    }
}

async fn list(context: &Context, request: &ListRequest, results: &Results) -> Result<(), Diagnostics> {
    let config = &request.config;
    let cluster = context.known_cluster(&Value::Null, "Invalid connection")?;
    let gvk = Reference::parse(config, "Invalid Kind")?.gvk().clone();
    let mut rest = request.limit;
    if rest == 0 {
        return Ok(());
    }
    // A list that has expired begins again, and every namespace has the same objects of a cluster-scoped kind.
    let mut sent = HashSet::new();
    for namespace in namespaces(config) {
        let selection = selection::parse(config, namespace);
        let mut from = String::new();
        loop {
            let page = match cluster.session().list_page(&gvk, &selection, &from).await {
                Ok(page) => page,
                // The client took so long that the rest of the list has expired.
                Err(error) if !from.is_empty() && error.status().is_some_and(|status| status.code == 410) => {
                    from.clear();
                    continue;
                }
                Err(error) => return Err(error.diagnostic("List").into()),
            };
            for object in page.items.into_iter().filter(is_adoptable) {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
                let target = ObjectRef::new(gvk.clone(), Namespace::new(text("namespace")), text("name"));
                if !sent.insert((target.namespace.clone(), target.name.clone())) {
                    continue;
                }
                let identity = identity::of(&target);
                let display_name = target.to_string();
                let resource = if request.include_resource {
                    // Nothing is stored, so the masks are of this result alone.
                    let mut private = Private::default();
                    private.renew_mask_key();
                    Some(import::state_of(&target, object, Value::Null, &private.mask_key())?)
                } else {
                    None
                };
                if !results.send(Listed { identity, display_name, resource }).await {
                    return Ok(());
                }
                rest = rest.saturating_sub(1);
                if rest == 0 {
                    return Ok(());
                }
            }
            if page.next.is_empty() {
                break;
            }
            from = page.next;
        }
    }
    Ok(())
}

/// The namespaces to list one by one; `None` stands for all of them at once. A list without a name is not meant to be that:
/// its expression has found none.
fn namespaces(config: &Object) -> Vec<Option<Namespace>> {
    let Some(named) = config.get("namespaces").as_elements() else { return vec![None] };
    let named: BTreeSet<_> = named.iter().filter_map(|name| name.as_str().and_then(Namespace::new)).collect();
    named.into_iter().map(Some).collect()
}

/// Whether an author wrote the object: not a controller, not Kubernetes itself, and it is not about to go.
fn is_adoptable(object: &Json) -> bool {
    let metadata = &object["metadata"];
    let owners = metadata["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_controlled = owners.iter().any(|owner| owner["controller"] == true);
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let is_kubernetes_own = manifest::is_in_every_namespace(&text(&object["kind"]), &text(&metadata["name"]));
    !is_controlled && !is_kubernetes_own && metadata["deletionTimestamp"].is_null()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_an_author_wrote_is_listed() {
        let check = |kind: &str, metadata: Json, expected: bool| {
            assert_eq!(
                is_adoptable(&json!({"kind": kind, "metadata": metadata})),
                expected,
                "{kind} {metadata}"
            );
        };
        check("ConfigMap", json!({"name": "settings"}), true);
        check("ConfigMap", json!({"name": "kube-root-ca.crt"}), false);
        check("ServiceAccount", json!({"name": "default"}), false);
        check("Pod", json!({"name": "a", "ownerReferences": [{"controller": true}]}), false);
        check("Pod", json!({"name": "a", "ownerReferences": [{"kind": "Thing"}]}), true);
        check("Pod", json!({"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}), false);
    }

    #[test]
    fn namespaces_are_listed_one_by_one_or_all_at_once() {
        assert_eq!(namespaces(&Object::new()), [None]);
        let check = |names: Vec<&str>, expected: &[&str]| {
            let found = namespaces(&Object::new().with("namespaces", names));
            assert_eq!(found, expected.iter().map(|name| Namespace::new(*name)).collect::<Vec<_>>());
        };
        check(vec!["a", "b"], &["a", "b"]);
        check(vec!["b", "a", "b"], &["a", "b"]);
        check(vec![], &[]);
        check(vec![""], &[]);
    }
}
