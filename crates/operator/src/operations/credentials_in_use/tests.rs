//! Who needs a Secret, on a fake server whose ConfigMaps play Secrets and Queues.

use cluster::Session;
use serde_json::json;

use super::*;
use crate::runtime::store::Source;
use crate::runtime::testing::{Response, Seen, client};

fn store(items: Value) -> Store {
    let (client, _) = client(move |seen: &Seen| {
        let list = json!({
            "kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items,
        });
        if seen.query.contains("watch=true") { Response::Silence } else { Response::Json(200, list) }
    });
    let source = Source::of("v1/ConfigMap".parse().unwrap());
    Store::start(Session::new(client), source, &Metrics::new(), &CancellationToken::new())
}

#[tokio::test]
async fn users_are_unknown_until_every_installed_kind_was_read() {
    let (client, _) = client(|seen: &Seen| unreachable!("{}", seen.line));
    let in_use = CredentialsInUse::new(ObjectClient::new(Session::new(client)), store(json!([])));
    let kinds = oraclecloud::Catalogue::standard().kinds().to_vec();
    let queue = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "shop", "name": "orders", "uid": "1", "resourceVersion": "1"},
    });
    let check = |namespace, expected| assert_eq!(in_use.is_in_use(Some(namespace)), expected, "{namespace}");

    check("shop", None);
    // Their controllers start later than the kinds are known.
    in_use.set_installed(&kinds);
    check("shop", None);
    for kind in &kinds {
        check("shop", None);
        let objects = store(json!([queue]));
        objects.wait_until_synced().await;
        in_use.add(*kind, objects);
    }
    check("shop", Some(true));
    check("billing", Some(false));
    in_use.set_installed(&[]);
    check("shop", Some(false));
}
