//! Reading objects, one or many.

use std::fmt;

use futures::future::try_join_all;
use serde_json::Value;

use crate::error::{Error, Subject, Verb};
use crate::redact::Redacted;
use crate::request::{Call, Reply, with_query};
use crate::session::Session;
use manifest::{GroupVersionKind, Namespace, ObjectRef};

/// Selects objects of a kind.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// All namespaces if `None`.
    pub namespace: Option<Namespace>,
    /// A label selector, as in `app=web,tier!=cache`.
    pub labels: Option<String>,
    /// A field selector, as in `metadata.name=web`.
    pub fields: Option<String>,
    pub limit: Option<usize>,
}

/// Objects, or what was kept of each, and the version of the collection they were read at.
#[derive(Clone, PartialEq)]
pub struct Listing<T = Value> {
    /// Each with `apiVersion` and `kind`.
    pub items: Vec<T>,
    /// The version to start a watch from.
    pub resource_version: String,
    /// The server's `Warning` headers for this call.
    pub warnings: Vec<String>,
}

/// Some of the objects of a kind.
pub struct Page {
    /// Each with `apiVersion` and `kind`.
    pub items: Vec<Value>,
    /// Where the next page begins; empty after the last one.
    pub next: String,
}

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing")
            .field("items", &self.items.iter().map(Redacted).collect::<Vec<_>>())
            .field("resource_version", &self.resource_version)
            .field("warnings", &self.warnings)
            .finish()
    }
}

/// The page size of lists.
const PAGE: usize = 500;
/// The page size for callers that keep less than each object, so that few whole objects are in memory at once.
const SMALL_PAGE: usize = 100;

impl Session {
    /// Reads one object. `None` only if the server says that this very object does not exist; an unknown path, a
    /// proxy's page or a missing kind is an error, because it says nothing about the object.
    pub async fn read(&self, object: &ObjectRef) -> Result<Option<Reply>, Error> {
        let (_, path) = self.locate(Verb::Read, object).await?;
        let call = Call::get(Verb::Read, Subject::Object(object.clone()), path);
        match self.send_to(&object.gvk, &call).await {
            Ok(reply) => Ok(Some(reply)),
            Err(error) if is_absent(&error, &object.name) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads one page of the objects of a kind that match `selection`; `from` is empty for the first one.
    pub async fn list_page(
        &self,
        gvk: &GroupVersionKind,
        selection: &Selection,
        from: &str,
    ) -> Result<Page, Error> {
        let resource = self.resource(gvk).await?;
        let limit = selection.limit.unwrap_or(PAGE).min(PAGE).to_string();
        let mut query = selectors(selection);
        query.push(("limit", &limit));
        if !from.is_empty() {
            query.push(("continue", from));
        }
        let path = with_query(resource.collection(selection.namespace.as_ref()), &query);
        let call = Call::get(Verb::List, Subject::Kind(gvk.clone()), path);
        let mut reply = self.send_to(gvk, &call).await?;
        let next = text(&reply.object["metadata"]["continue"]);
        let Value::Array(mut items) = reply.object["items"].take() else {
            return Ok(Page { items: Vec::new(), next });
        };
        for item in &mut items {
            set_kind(item, gvk);
        }
        Ok(Page { items, next })
    }

    /// Reads all objects of a kind that match `selection`, page by page.
    pub async fn list(&self, gvk: &GroupVersionKind, selection: &Selection) -> Result<Listing, Error> {
        self.list_pages(gvk, selection, PAGE, &|object| object).await
    }

    /// All objects of those `kinds` of `group` that are served, each in its preferred version.
    pub async fn list_kinds(&self, group: &str, kinds: &[&str]) -> Result<Vec<Value>, Error> {
        let resources = self.resources().await?;
        let lists = kinds.iter().filter_map(|kind| {
            let served = resources.iter().filter(|it| it.gvk.group() == group && it.gvk.kind() == *kind);
            let preferred = served.max_by_key(|resource| resource.version_priority())?;
            Some(async { self.list(&preferred.gvk, &Selection::default()).await })
        });
        Ok(try_join_all(lists).await?.into_iter().flat_map(|listing| listing.items).collect())
    }

    /// Like [`Session::list`]; of each object only what `keep` makes of it is kept, before the next page is read. That is often a
    /// fraction of the memory.
    pub async fn list_kept<T>(
        &self,
        gvk: &GroupVersionKind,
        selection: &Selection,
        keep: &(dyn Fn(Value) -> T + Send + Sync),
    ) -> Result<Listing<T>, Error> {
        self.list_pages(gvk, selection, SMALL_PAGE, keep).await
    }

    async fn list_pages<T>(
        &self,
        gvk: &GroupVersionKind,
        selection: &Selection,
        page: usize,
        keep: &(dyn Fn(Value) -> T + Send + Sync),
    ) -> Result<Listing<T>, Error> {
        let resource = self.resource(gvk).await?;
        let collection = resource.collection(selection.namespace.as_ref());
        let mut listing =
            Listing { items: Vec::new(), resource_version: String::new(), warnings: Vec::new() };
        let mut next = String::new();
        let mut page = selection.limit.unwrap_or(page).min(page);
        loop {
            let limit = page.to_string();
            let mut query = selectors(selection);
            // Zero means no limit.
            query.push(("limit", &limit));
            if !next.is_empty() {
                query.push(("continue", &next));
            }
            let path = with_query(collection.clone(), &query);
            let call = Call::get(Verb::List, Subject::Kind(gvk.clone()), path);
            let mut reply = match self.send_to(gvk, &call).await {
                Ok(reply) => reply,
                // The continue token has expired; fetch the rest again, without pages.
                Err(error) if !next.is_empty() && error.status().is_some_and(|status| status.code == 410) => {
                    listing.items.clear();
                    next.clear();
                    page = 0;
                    continue;
                }
                Err(error) => return Err(error),
            };
            listing.warnings.append(&mut reply.warnings);
            let metadata = &reply.object["metadata"];
            listing.resource_version = text(&metadata["resourceVersion"]);
            next = text(&metadata["continue"]);
            let items = match reply.object["items"].take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            };
            listing.items.extend(items.into_iter().map(|mut item| {
                set_kind(&mut item, gvk);
                keep(item)
            }));
            let enough = selection.limit.is_some_and(|limit| listing.items.len() >= limit);
            if next.is_empty() || enough {
                return Ok(listing);
            }
        }
    }
}

/// List items omit what the list itself says.
fn set_kind(item: &mut Value, gvk: &GroupVersionKind) {
    item["apiVersion"] = Value::String(gvk.api_version().to_string());
    item["kind"] = Value::String(gvk.kind().to_owned());
}

pub(crate) fn selectors(selection: &Selection) -> Vec<(&'static str, &str)> {
    let labels = selection.labels.as_deref().map(|labels| ("labelSelector", labels));
    let fields = selection.fields.as_deref().map(|fields| ("fieldSelector", fields));
    labels.into_iter().chain(fields).collect()
}

/// Whether the server says that the object named `name` does not exist.
pub(crate) fn is_absent(error: &Error, name: &str) -> bool {
    error.status().is_some_and(|status| {
        status.code == 404 && status.reason == "NotFound" && status.details.name == name && !name.is_empty()
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
