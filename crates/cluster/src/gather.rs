//! Reading many objects of one kind in a few answers: what a hundred reads would ask for, at a fraction of the cost.
//!
//! The objects stay texts until somebody wants them, which takes a fraction of the memory. A gathering says what is
//! there, never what is not: of an object that is not in it, only a read of its own tells whether it exists.

use std::collections::HashMap;
use std::fmt;

use manifest::{GroupVersionKind, Namespace};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, Subject, Verb};
use crate::request::{Answer, Call, with_query};
use crate::session::Session;

/// How many objects are asked for at a time.
const PAGE: usize = 250;
/// The most bytes that so many objects may have; larger ones are better read one by one.
const PAGE_BYTES: usize = 4 << 20;

/// What came of gathering.
#[derive(Debug)]
pub enum Gathering {
    /// All objects there are.
    All(Gathered),
    /// More than wanted: about this many.
    TooMany(usize),
}

/// Objects of one kind, by name.
pub struct Gathered {
    gvk: GroupVersionKind,
    texts: HashMap<String, Box<str>>,
    warnings: Vec<String>,
}

impl Gathered {
    /// The object called `name`, for one who needs it only once.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let text = self.texts.remove(name)?;
        let mut object: Value = serde_json::from_str(&text).ok()?;
        // Items of a list leave out what the list says already.
        object["apiVersion"] = Value::String(self.gvk.api_version().to_string());
        object["kind"] = Value::String(self.gvk.kind().to_owned());
        Some(object)
    }

    /// Leaves the object called `name` out, because it is not so any more.
    pub fn remove(&mut self, name: &str) {
        self.texts.remove(name);
    }

    /// How many objects are left.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether no objects are left.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// What the server wants those who read such objects to know.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Leaves the objects out, which may be secret.
impl fmt::Debug for Gathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gathered({} of {})", self.texts.len(), self.gvk)
    }
}

impl Session {
    /// Reads all objects of a kind, in one namespace if it has namespaces, unless there are more than `most`.
    pub async fn gather(
        &self,
        gvk: &GroupVersionKind,
        namespace: Option<&Namespace>,
        most: usize,
    ) -> Result<Gathering, Error> {
        let resource = self.resource(gvk).await?;
        let collection = resource.collection(namespace);
        let mut gathered = Gathered { gvk: gvk.clone(), texts: HashMap::new(), warnings: Vec::new() };
        let (mut next, limit) = (String::new(), PAGE.to_string());
        loop {
            let mut query = vec![("limit", limit.as_str())];
            if !next.is_empty() {
                query.push(("continue", &next));
            }
            let path = with_query(collection.clone(), &query);
            let call = Call::get(Verb::List, Subject::Kind(gvk.clone()), path).at_most(PAGE_BYTES);
            let Answer { content: page, warnings, .. } = self.ask(&call, Page::read).await?;
            gathered.texts.extend(page.items);
            gathered.warnings.extend(warnings);
            // Not every server says how many are left, but where there is more, there is one at least.
            let left = page.remaining.max(usize::from(!page.next.is_empty()));
            let total = gathered.texts.len() + left;
            if total > most {
                return Ok(Gathering::TooMany(total));
            }
            if page.next.is_empty() {
                return Ok(Gathering::All(gathered));
            }
            next = page.next;
        }
    }
}

/// One answer to the question for many objects.
struct Page {
    items: Vec<(String, Box<str>)>,
    next: String,
    remaining: usize,
}

impl Page {
    fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        let List { metadata, items } = serde_json::from_slice(bytes)?;
        let named = |item: &RawValue| -> serde_json::Result<(String, Box<str>)> {
            let Item { metadata } = serde_json::from_str(item.get())?;
            Ok((metadata.name, item.get().into()))
        };
        let items = items.into_iter().map(named).collect::<serde_json::Result<_>>()?;
        Ok(Self { items, next: metadata.next, remaining: metadata.remaining })
    }
}

#[derive(Deserialize)]
struct List<'a> {
    metadata: ListMetadata,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue", default)]
    next: String,
    #[serde(rename = "remainingItemCount", default)]
    remaining: usize,
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
