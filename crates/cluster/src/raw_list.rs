//! Reads many objects of one kind in a few requests, at a fraction of the cost of reading them one by one.
//!
//! The objects stay unparsed until they are used, which takes a fraction of the memory. The list proves only that
//! objects exist: whether a missing one exists takes a read of its own.

use std::collections::HashMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use manifest::{GroupVersionKind, Namespace};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, Subject, Verb};
use crate::request::{Call, Reply, with_query};
use crate::session::Session;

/// The page size.
const PAGE: usize = 250;
/// The most bytes in one page; larger objects are better read one by one.
const PAGE_BYTES: usize = 4 << 20;

/// The outcome of [`Session::list_raw`].
#[derive(Debug)]
pub enum BoundedList {
    /// All objects of the kind.
    All(RawList),
    /// More than the limit: about this many.
    TooMany(usize),
}

/// Objects of one kind, by name.
pub struct RawList {
    gvk: GroupVersionKind,
    texts: HashMap<String, Box<str>>,
    warnings: Vec<String>,
}

impl RawList {
    /// Removes and parses the object named `name`.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let text = self.texts.remove(name)?;
        let mut object: Value = serde_json::from_str(&text).ok()?;
        // List items omit what the list itself says.
        object["apiVersion"] = Value::String(self.gvk.api_version().to_string());
        object["kind"] = Value::String(self.gvk.kind().to_owned());
        Some(object)
    }

    /// Drops the object named `name` because it is stale.
    pub fn remove(&mut self, name: &str) {
        self.texts.remove(name);
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The server's `Warning` headers for these reads.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Omits the objects, which may be Secrets.
impl fmt::Debug for RawList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawList({} of {})", self.texts.len(), self.gvk)
    }
}

impl Session {
    /// Reads all objects of a kind, in one namespace if the kind is namespaced, unless there are more than `most`.
    pub async fn list_raw(
        &self,
        gvk: &GroupVersionKind,
        namespace: Option<&Namespace>,
        most: usize,
    ) -> Result<BoundedList, Error> {
        let resource = self.resource(gvk).await?;
        let collection = resource.collection(namespace);
        let mut list = RawList { gvk: gvk.clone(), texts: HashMap::new(), warnings: Vec::new() };
        let (mut next, limit) = (String::new(), PAGE.to_string());
        loop {
            let mut query = vec![("limit", limit.as_str())];
            if !next.is_empty() {
                query.push(("continue", &next));
            }
            let path = with_query(collection.clone(), &query);
            let call = Call::get(Verb::List, Subject::Kind(gvk.clone()), path).max_bytes(PAGE_BYTES);
            let Reply { object: page, warnings, .. } = self.send_and_parse(&call, Page::parse).await?;
            list.texts.extend(page.items);
            list.warnings.extend(warnings);
            // Not every server reports how many objects remain, but a continue token means at least one.
            let left = page.remaining.max(usize::from(!page.next.is_empty()));
            let total = list.texts.len() + left;
            if total > most {
                return Ok(BoundedList::TooMany(total));
            }
            if page.next.is_empty() {
                return Ok(BoundedList::All(list));
            }
            next = page.next;
        }
    }
}

struct Page {
    items: Vec<(String, Box<str>)>,
    next: String,
    remaining: usize,
}

impl Page {
    fn parse(bytes: &[u8]) -> serde_json::Result<Self> {
        let List { metadata, items } = serde_json::from_slice(bytes)?;
        let named = |item: &RawValue| -> serde_json::Result<(String, Box<str>)> {
            let Item { metadata } = serde_json::from_str(item.get())?;
            Ok((metadata.name, item.get().into()))
        };
        let items = items.into_iter().map(named).collect::<serde_json::Result<_>>()?;
        let remaining = metadata.remaining_item_count.and_then(|count| count.try_into().ok());
        Ok(Self { items, next: metadata.continue_.unwrap_or_default(), remaining: remaining.unwrap_or(0) })
    }
}

#[derive(Deserialize)]
struct List<'a> {
    metadata: ListMeta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item {
    metadata: ItemMetadata,
}

#[derive(Deserialize)]
struct ItemMetadata {
    name: String,
}

#[cfg(test)]
mod tests;
