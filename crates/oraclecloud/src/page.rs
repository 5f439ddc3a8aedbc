//! Listings, page by page and with an end, in the two shapes that services have.

use serde_json::Value;

use crate::client::{Client, Request};
use crate::error::{Error, ErrorKind, Problem};
use crate::response::Response;

/// More pages than any compartment fills; a server that goes on beyond it goes on for ever.
const MOST_PAGES: usize = 1_000;

impl Client {
    /// Every entry of a listing. One page that cannot be read makes the whole unreadable, since a listing with a hole
    /// would say that something is not there. The headers are those of the last page.
    pub(crate) async fn list(&self, request: Request) -> Result<Response<Vec<Value>>, Error> {
        let operation = request.operation();
        let mut entries = Vec::new();
        let mut page: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let response = self.send(request.page(page.as_deref())).await?.required_json(operation)?;
            let next = response.next_page.clone();
            let response = read_page(response, operation, &mut entries)?;
            // A server that names the page it has just sent would be asked for ever.
            if next.is_some() && next == page {
                return Err(Error { operation, kind: ErrorKind::Endless(1) });
            }
            page = next;
            if page.is_none() {
                return Ok(response.with_body(entries));
            }
        }
        Err(Error { operation, kind: ErrorKind::Endless(MOST_PAGES) })
    }
}

/// Takes the entries of `{"items": […]}` or of a bare array.
fn read_page(
    mut response: Response<Value>,
    operation: &'static str,
    entries: &mut Vec<Value>,
) -> Result<Response<()>, Error> {
    let items = match response.body.take() {
        Value::Array(items) => Some(items),
        Value::Object(mut object) => match object.remove("items") {
            Some(Value::Array(items)) => Some(items),
            _ => None,
        },
        _ => None,
    };
    let Some(items) = items else {
        return Err(response.bad(operation, Problem::Shape("a list")));
    };
    entries.extend(items);
    Ok(response.with_body(()))
}
