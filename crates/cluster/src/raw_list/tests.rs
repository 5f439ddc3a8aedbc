use serde_json::json;

use super::*;
use crate::test_server::{Answer, Journal, Seen, ok, session, status};

fn page(names: &[&str], next: &str, remaining: Option<usize>) -> Answer {
    let items: Vec<Value> =
        names.iter().map(|name| json!({ "metadata": { "name": name }, "data": { "of": name } })).collect();
    let mut metadata = json!({ "resourceVersion": "7", "continue": next });
    if let Some(remaining) = remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    ok(&json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items }))
}

async fn gathered(
    most: usize,
    answer: impl FnMut(&Seen) -> Answer + Send + 'static,
) -> (Result<BoundedList, Error>, Journal) {
    let (session, journal) = session(answer);
    let gvk = "v1/ConfigMap".parse().unwrap();
    (session.list_raw(&gvk, Namespace::new("shop").as_ref(), most).await, journal)
}

#[tokio::test]
async fn objects_are_read_in_pages_and_complete() {
    let (found, journal) = gathered(10, |seen| {
        if seen.query.contains("continue=more") {
            page(&["c"], "", None)
        } else {
            page(&["a", "b"], "more", Some(1))
        }
    })
    .await;
    let BoundedList::All(mut found) = found.unwrap() else { panic!("three are not too many") };
    assert_eq!(journal.work(), ["GET /api/v1/namespaces/shop/configmaps"; 2]);
    assert_eq!(found.len(), 3);
    assert_eq!(
        found.take("c"),
        Some(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" }, "data": { "of": "c" },
        }))
    );
    assert_eq!(found.take("c"), None, "once only");
    assert_eq!(found.take("d"), None);
    assert_eq!(format!("{found:?}"), "RawList(2 of v1/ConfigMap)");
}

#[tokio::test]
async fn too_many_objects_end_the_list_after_the_first_page() {
    for (remaining, total) in [(Some(900), 902), (None, 3)] {
        let (found, journal) = gathered(2, move |_| page(&["a", "b"], "more", remaining)).await;
        assert!(matches!(found, Ok(BoundedList::TooMany(found)) if found == total), "{remaining:?}");
        assert_eq!(journal.work().len(), 1);
    }
}

#[tokio::test]
async fn a_page_of_too_many_bytes_is_not_read_or_retried() {
    let large = "x".repeat(PAGE_BYTES);
    let (found, journal) = gathered(10, move |_| page(&[&large], "", None)).await;
    assert!(found.is_err());
    assert_eq!(journal.work().len(), 1);
}

#[tokio::test]
async fn a_denied_list_is_an_error() {
    let (found, _) = gathered(10, |_| status(403, "Forbidden", "no", &json!({}))).await;
    assert_eq!(found.unwrap_err().status().unwrap().code, 403);
}
