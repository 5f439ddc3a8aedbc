//! Two operators divide the objects between them by their labels.

use operator::Options;
use operator::operations::CREDENTIALS_FINALIZER;
use oraclecloud_emulator::{Operation, Script};
use serde_json::{Value, json};

use super::bench::{Bench, at_home, entries, quick, secret};

const LABEL: &str = "plimsoll.dev/shard";

#[tokio::test]
async fn a_queue_is_reconciled_by_the_shard_of_its_labels_and_moves_with_them() {
    let options = Options {
        shard: format!("{LABEL}=one").parse().unwrap(),
        operations: quick(),
        ..Options::on(cluster::Connection::default())
    };
    let bench = Bench::run("shards", Script::default(), options, at_home).await;
    let entries = entries();
    let entries: Vec<(&str, &str)> = entries.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let credentials = secret("ocicredentials", &entries);
    bench.apply(&credentials).await;
    let plain = bench.queue("plain", json!({}));
    let mut labelled = bench.queue("labelled", json!({}));
    labelled["metadata"]["labels"] = json!({LABEL: "one"});
    bench.apply(&plain).await;
    bench.apply(&labelled).await;
    bench.until_ready(&labelled).await;
    let untouched = bench.until(&plain, "there", |_| true).await;
    assert!(untouched["metadata"].get("finalizers").is_none() && untouched.get("status").is_none());

    let bench = bench.with_shard("shards-rest", &format!("!{LABEL}")).await;
    bench.until_ready(&plain).await;
    assert_eq!(bench.effects(Operation::CreateQueue), 2);

    // The Secret is needed by the objects of other shards too.
    bench.delete(&labelled);
    bench.until_gone(&labelled).await;
    bench.change(&plain, &json!({"metadata": {"labels": {LABEL: "one"}}})).await;
    bench.change(&plain, &json!({"spec": {"visibilityInSeconds": 60}})).await;
    bench.until_ready(&plain).await;
    let is_updated = |queue: &Value| queue["spec"]["visibilityInSeconds"] == 60;
    bench.until(&plain, "updated", is_updated).await;
    assert_eq!((bench.effects(Operation::CreateQueue), bench.effects(Operation::UpdateQueue)), (2, 1));
    let kept = bench.until(&credentials, "there", |_| true).await;
    assert_eq!(kept["metadata"]["finalizers"], json!([CREDENTIALS_FINALIZER]));
    bench.delete(&plain);
    bench.until_gone(&plain).await;
    assert_eq!(bench.effects(Operation::DeleteQueue), 2);
}
