//! What remains in a namespace that is stuck in deletion.

use futures::StreamExt as _;
use manifest::{Namespace, ObjectRef};
use serde_json::Value;

use super::strings;
use crate::discovery::Resource;
use crate::error::{Subject, Verb};
use crate::request::{Call, with_query};
use crate::session::Session;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamespaceContent {
    /// How many objects of each kind, most first.
    pub(super) counts: Vec<(String, usize)>,
    /// Objects with finalizers, as `Kind name`, each with its finalizers.
    pub(super) held: Vec<(String, Vec<String>)>,
    /// Kinds that could not be listed.
    pub(super) unreadable: Vec<String>,
}

pub(super) fn is_namespace(target: &ObjectRef) -> bool {
    target.group().is_empty() && target.kind() == "Namespace"
}

/// The number of concurrent lists.
const CONCURRENCY: usize = 8;

/// Lists every kind of object in the namespace `target`; `None` if it is not a namespace.
pub(super) async fn list(session: &Session, target: &ObjectRef) -> Option<NamespaceContent> {
    let namespace = Namespace::new(target.name.clone()).filter(|_| is_namespace(target))?;
    let mut resources = session.resources().await.ok()?;
    resources.retain(|resource| resource.namespaced && resource.can("list"));
    // One version of each kind is enough, and Events expire by themselves.
    resources.sort_by(|a, b| a.gvk.cmp(&b.gvk));
    resources.dedup_by(|a, b| a.gvk.group() == b.gvk.group() && a.gvk.kind() == b.gvk.kind());
    resources.retain(|resource| resource.gvk.kind() != "Event");
    let lists = resources.into_iter().map(|resource| list_metadata(session, &namespace, resource));
    let lists: Vec<_> = futures::stream::iter(lists).buffer_unordered(CONCURRENCY).collect().await;
    let mut content = NamespaceContent::default();
    for (kind, found) in lists {
        match found {
            None => content.unreadable.push(kind),
            Some(found) if found.is_empty() => {}
            Some(found) => {
                for object in &found {
                    let finalizers = strings(&object["metadata"]["finalizers"]);
                    if !finalizers.is_empty() {
                        let name = object["metadata"]["name"].as_str().unwrap_or_default();
                        content.held.push((format!("{kind} {name}"), finalizers));
                    }
                }
                content.counts.push((kind, found.len()));
            }
        }
    }
    content.counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    content.held.sort();
    content.unreadable.sort();
    Some(content)
}

/// The objects of one kind, metadata only; `None` if they cannot be read.
async fn list_metadata(
    session: &Session,
    namespace: &Namespace,
    resource: Resource,
) -> (String, Option<Vec<Value>>) {
    const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let path = with_query(resource.collection(Some(namespace)), &[("limit", "500")]);
    let call = Call::get(Verb::List, Subject::Kind(resource.gvk.clone()), path).accept(METADATA);
    let found = session.send(&call).await.ok();
    let items = found.map(|mut reply| reply.object["items"].take().as_array().cloned().unwrap_or_default());
    (resource.gvk.kind().to_owned(), items)
}
