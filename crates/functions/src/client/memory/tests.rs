use composition::protocol::Resource;
use serde_json::json;

use super::*;

/// A response that takes about `size` bytes.
fn response(size: usize) -> RunResponse {
    let mut response = RunResponse::default();
    let object = json!({"data": "x".repeat(size)});
    response.desired.resources.insert("a".to_owned(), Resource::of(object));
    response
}

#[tokio::test]
async fn a_reservation_is_what_the_response_may_take_and_then_what_it_takes() {
    let all = Memory::new(8 << 20);
    let share = all.share();
    let reservation = Reservation::default();
    let free = || (share.free.available_permits(), all.free.available_permits());
    assert_eq!(free(), (4 << 10, 8 << 10));
    reservation.reserve(100, &share, &all).await.unwrap();
    assert!(reservation.is_empty(), "a hundred bytes are not worth counting");
    reservation.reserve(50 << 10, &share, &all).await.unwrap();
    assert_eq!(free(), (4096 - 3200, 8192 - 3200));
    reservation.keep(&response(99 << 10), &share, &all).await.unwrap();
    assert_eq!(free(), (4096 - 100, 8192 - 100));
    reservation.keep(&response(10), &share, &all).await.unwrap();
    assert!(reservation.is_empty());
    assert_eq!(free(), (4 << 10, 8 << 10));
}

#[tokio::test]
async fn a_larger_response_than_the_last_does_not_wait() {
    let all = Memory::new(8 << 20);
    let share = all.share();
    let (other, ours) = (Reservation::default(), Reservation::default());
    ours.reserve(10 << 10, &share, &all).await.unwrap();
    other.reserve(50 << 10, &share, &all).await.unwrap();
    assert!(ours.reserve(20 << 10, &share, &all).await.is_err(), "the other may wait for what we hold");
    drop(other);
    ours.reserve(20 << 10, &share, &all).await.unwrap();
    assert!(ours.keep(&response(5 << 20), &share, &all).await.is_err(), "it is larger than the share");
}

#[test]
fn sizes_are_of_the_right_order() {
    let maps: Vec<Value> = (0..1000).map(|number| json!({"a": number})).collect();
    let Value::Object(object) = json!({"list": maps}) else { unreachable!() };
    let (wire, tree) = (text(&object), tree(&object));
    assert!((10_000..30_000).contains(&wire), "{wire}");
    assert!((600_000..800_000).contains(&tree), "{tree}");
}
