//! Reading objects, one or many.

use std::fmt;

use serde_json::Value;

use crate::error::{Error, Subject, Verb};
use crate::request::{Call, Reply, with_query};
use crate::session::Session;
use crate::shown::Shown;
use manifest::{GroupVersionKind, Namespace, ObjectRef};

/// Which objects of a kind.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// In one namespace; everywhere when `None`.
    pub namespace: Option<Namespace>,
    /// With these labels, as `app=web,tier!=cache`.
    pub labels: Option<String>,
    /// With these fields, as `metadata.name=web`.
    pub fields: Option<String>,
    /// No more than this many.
    pub limit: Option<usize>,
}

/// Objects, and the moment they were read at.
#[derive(Clone, PartialEq)]
pub struct Listing {
    /// The objects, each with `apiVersion` and `kind`.
    pub items: Vec<Value>,
    /// Where a watch goes on from.
    pub resource_version: String,
    /// What the server wants the author of this very call to know.
    pub warnings: Vec<String>,
}

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing")
            .field("items", &self.items.iter().map(Shown).collect::<Vec<_>>())
            .field("resource_version", &self.resource_version)
            .field("warnings", &self.warnings)
            .finish()
    }
}

/// How many objects are asked for at a time.
const PAGE: usize = 500;
/// The same for whoever keeps only a part of each, so that the rest of them is never in memory at once.
const SMALL_PAGE: usize = 100;

impl Session {
    /// Reads one object. `None` only when the server says of this very object that it is not there; a path that does
    /// not exist, a page by a proxy or a kind that is missing is an error, as nothing follows from it.
    pub async fn read(&self, object: &ObjectRef) -> Result<Option<Reply>, Error> {
        let (_, path) = self.locate(Verb::Read, object).await?;
        let call = Call::get(Verb::Read, Subject::Object(object.clone()), path);
        match self.send_to(&object.gvk, &call).await {
            Ok(reply) => Ok(Some(reply)),
            Err(error) if is_absent(&error, &object.name) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads all objects of a kind that `selection` selects, page by page.
    pub async fn list(&self, gvk: &GroupVersionKind, selection: &Selection) -> Result<Listing, Error> {
        self.list_pages(gvk, selection, PAGE, &|_| {}).await
    }

    /// The same; `trim` takes away from each object what nobody will look at, before further ones are read. Most of what
    /// many objects take is often just that.
    pub async fn list_trimmed(
        &self,
        gvk: &GroupVersionKind,
        selection: &Selection,
        trim: &(dyn Fn(&mut Value) + Send + Sync),
    ) -> Result<Listing, Error> {
        self.list_pages(gvk, selection, SMALL_PAGE, trim).await
    }

    async fn list_pages(
        &self,
        gvk: &GroupVersionKind,
        selection: &Selection,
        page: usize,
        trim: &(dyn Fn(&mut Value) + Send + Sync),
    ) -> Result<Listing, Error> {
        let resource = self.resource(gvk).await?;
        let collection = resource.collection(selection.namespace.as_ref());
        let mut listing =
            Listing { items: Vec::new(), resource_version: String::new(), warnings: Vec::new() };
        let mut next = String::new();
        let mut page = selection.limit.unwrap_or(page).min(page);
        loop {
            let limit = page.to_string();
            let mut query = selectors(selection);
            // Zero means all at once.
            query.push(("limit", &limit));
            if !next.is_empty() {
                query.push(("continue", &next));
            }
            let path = with_query(collection.clone(), &query);
            let call = Call::get(Verb::List, Subject::Kind(gvk.clone()), path);
            let mut reply = match self.send_to(gvk, &call).await {
                Ok(reply) => reply,
                // The pages have expired; what is left is asked for anew, in one piece.
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
                // Items of a list leave out what the list says already.
                item["apiVersion"] = Value::String(gvk.api_version().to_string());
                item["kind"] = Value::String(gvk.kind().to_owned());
                trim(&mut item);
                item
            }));
            let enough = selection.limit.is_some_and(|limit| listing.items.len() >= limit);
            if next.is_empty() || enough {
                return Ok(listing);
            }
        }
    }
}

pub(crate) fn selectors(selection: &Selection) -> Vec<(&'static str, &str)> {
    let labels = selection.labels.as_deref().map(|labels| ("labelSelector", labels));
    let fields = selection.fields.as_deref().map(|fields| ("fieldSelector", fields));
    labels.into_iter().chain(fields).collect()
}

/// Whether the server says of the object called `name` that it does not exist.
pub(crate) fn is_absent(error: &Error, name: &str) -> bool {
    error.status().is_some_and(|status| {
        status.code == 404 && status.reason == "NotFound" && status.details.name == name && !name.is_empty()
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
