use cluster::Session;
use manifest::ObjectRef;
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::runtime::shard::Shard;
use crate::runtime::testing::{Response, client};

const MAPS: &str = "GET /api/v1/configmaps";

fn key(name: &str) -> Key {
    Key { namespace: None, name: name.to_owned() }
}

#[tokio::test]
async fn a_kind_is_watched_once_for_all_dependents_and_no_longer_than_they_exist() {
    let (client, journal) = client(|seen| {
        if seen.query.contains("watch=true") {
            return Response::Silence;
        }
        let map = json!({"metadata": {"namespace": "shop", "name": "a", "uid": "a", "resourceVersion": "1"}});
        Response::Json(
            200,
            json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": "1"}, "items": [map]}),
        )
    });
    let watches =
        Watches::new(Session::new(client), Shard::default(), Metrics::new(), CancellationToken::new());
    let (sender, mut seen) = mpsc::unbounded_channel();
    let dependents = Dependents::new(Metrics::new(), move |dependency, change: &Change| {
        let _sent = sender.send((format!("{dependency:?}"), change.key.to_string()));
    });
    let composed =
        BTreeSet::from([Scope::composed(&ObjectRef::new("v1/ConfigMap".parse().unwrap(), None, "a"))]);
    dependents.depend(&watches, &key("one"), &composed);
    dependents.depend(&watches, &key("two"), &composed);
    assert_eq!(seen.recv().await.unwrap(), ("Composed".to_owned(), "shop/a".to_owned()));
    assert_eq!(journal.count(MAPS, "limit="), 1);

    let scope = composed.first().unwrap();
    dependents.forget(&watches, &key("one"));
    assert!(watches.existing(scope).is_some());
    dependents.forget(&watches, &key("two"));
    // The task that listens ends when it is next polled, and then lets go.
    while watches.existing(scope).is_some() {
        tokio::task::yield_now().await;
    }
}
