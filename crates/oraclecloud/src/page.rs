//! Listings, page by page and with an end, in the two shapes that services use.

use operations::Response;
use serde_json::Value;

use crate::client::{Client, Request};
use crate::error::{Error, ErrorKind, Problem};
use crate::listings::Listing;
use crate::response::{bad, required_json};

/// More pages than any compartment fills; a server that sends more never stops.
const MAX_PAGES: usize = 1_000;

impl Client {
    /// The same as [`list`](Self::list), read once for all callers that wait for it.
    pub(crate) async fn shared_list(&self, request: Request) -> Result<Listing, Error> {
        let key = format!("{:?} {}", self.expected, request.key());
        self.listings.share(key, || self.list(request)).await
    }

    /// Every entry of a listing. One unreadable page makes the whole listing unreadable, since a listing with a hole
    /// would say that something is not there. The headers are those of the last page.
    pub(crate) async fn list(&self, request: Request) -> Result<Response<Vec<Value>>, Error> {
        let operation = request.operation();
        let mut entries = Vec::new();
        let mut page: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let response = self.send(request.page(page.as_deref())).await?;
            let next = response.body.next_page.clone();
            let mut response = required_json(response, operation)?;
            match items(response.body.take()) {
                Some(items) => entries.extend(items),
                None => return Err(bad(&response, operation, Problem::Shape("a list"))),
            }
            // A server that names the page it has just sent would be asked forever.
            if next.is_some() && next == page {
                return Err(Error { operation, kind: ErrorKind::EndlessListing(1) });
            }
            page = next;
            if page.is_none() {
                return Ok(response.with_body(entries));
            }
        }
        Err(Error { operation, kind: ErrorKind::EndlessListing(MAX_PAGES) })
    }
}

/// The entries of `{"items": […]}` or of a bare array.
pub(crate) fn items(page: Value) -> Option<Vec<Value>> {
    match page {
        Value::Array(items) => Some(items),
        Value::Object(mut object) => match object.remove("items") {
            Some(Value::Array(items)) => Some(items),
            _ => None,
        },
        _ => None,
    }
}
