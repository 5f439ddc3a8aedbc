//! When lists are requested, and which of their objects are still valid after a write.

use std::sync::Arc;

use cluster::Environment;
use serde_json::json;
use testkit::proxy::{Fault, FaultProxy};
use tfplugin::CancellationToken;
use tfplugin::private::Private;
use tfplugin::provider::{ApplyRequest, Change, Resource as _};
use tfplugin::value::{Object, Value};

use super::*;
use crate::clusters::Cluster;
use crate::connection::Configured;
use crate::context::Context;
use crate::patch::Patch;

#[test]
fn a_list_is_due_when_reads_have_cost_as_much() {
    let mut policy = ListCache::default().policy.into_inner();
    let mut reads_until_due = |total: Option<Option<usize>>| {
        if let Some(total) = total {
            policy.record(total);
        }
        (1..10_000).find_map(|read| policy.count_read().map(|max| (read, max)))
    };
    assert_eq!(reads_until_due(None), Some((13, 260)));
    assert_eq!(reads_until_due(Some(Some(1000))), Some((51, 1020)), "one list has room for all");
    assert_eq!(reads_until_due(Some(Some(40))), Some((13, 260)));
    assert_eq!(reads_until_due(Some(None)), None, "a refused list is not requested again");
}

/// The number of ConfigMaps: one more than are read before a list, and two that are never requested.
const OBJECTS: usize = READS_BEFORE_LIST + 3;

/// ConfigMaps behind a proxy.
struct Here {
    namespace: testkit::Namespace,
    proxy: FaultProxy,
    context: Arc<Context>,
    connection: Value,
}

impl Here {
    async fn new(test: &str) -> Self {
        let namespace = testkit::Sandbox::shared().namespace(test).await;
        for number in 0..OBJECTS {
            namespace.apply_as("other-manager", &config_map(number, "old")).await;
        }
        let proxy = FaultProxy::start(namespace.client().clone()).await;
        let connection =
            Object::from([("host", proxy.url().as_str()), ("token", "x")]).with("insecure", true);
        let context = Arc::new(Context::new(Environment::default(), Default::default));
        Self { namespace, proxy, context, connection: connection.into() }
    }

    fn cluster(&self) -> Arc<Cluster> {
        match self.context.cluster(&self.connection) {
            Ok(Configured::Known(cluster)) => cluster,
            _ => panic!("a connection that is known leads somewhere"),
        }
    }

    fn target(&self, number: usize) -> ObjectRef {
        let namespace = Namespace::new(self.namespace.name());
        ObjectRef::new("v1/ConfigMap".parse().unwrap(), namespace, format!("c-{number}"))
    }

    async fn level(&self, number: usize) -> serde_json::Value {
        let found = self.cluster().read(&self.target(number)).await.unwrap();
        found.expect("it exists").object["data"]["level"].clone()
    }

    /// Reads enough of them for the others to come from a list.
    async fn read_until_listed(&self) {
        for number in 0..=READS_BEFORE_LIST {
            assert_eq!(self.level(number).await, "old");
        }
    }
}

fn config_map(number: usize, level: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c-{number}")}, "data": {"level": level}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patched_object_is_read_again() {
    let here = Here::new("reads_patch").await;
    here.read_until_listed().await;
    let target = Object::from([("api_version", "v1"), ("kind", "ConfigMap")])
        .with("name", format!("c-{}", READS_BEFORE_LIST + 1))
        .with("namespace", here.namespace.name());
    let planned = Object::new()
        .with("cluster", here.connection.clone())
        .with("target", target)
        .with("patch", "data: {level: new}")
        .with("managed_state_projection", Value::unknown())
        .with("managed_fields", Value::unknown());
    let patch = Patch(Arc::clone(&here.context));
    let request = |change: Change, private: Private| ApplyRequest {
        change,
        config: None,
        private,
        identity: None,
        stop: CancellationToken::new(),
    };
    let applied = patch.apply(request(Change::Create { planned }, Private::default())).await;
    assert!(!applied.diagnostics.has_errors(), "{:?}", applied.diagnostics);
    assert_eq!(here.level(READS_BEFORE_LIST + 2).await, "old");
    assert_eq!(here.level(READS_BEFORE_LIST + 1).await, "new");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_in_flight_does_not_hide_a_write() {
    let here = Here::new("reads_under_way").await;
    for number in 0..READS_BEFORE_LIST {
        assert_eq!(here.level(number).await, "old");
    }
    here.proxy.inject(Fault::Hold, |method, uri| method == "GET" && uri.contains("limit="));
    let write = async {
        here.proxy.triggered().await;
        here.namespace.apply_as("other-manager", &config_map(READS_BEFORE_LIST + 1, "new")).await;
        here.cluster().invalidate(&here.target(READS_BEFORE_LIST + 1));
        here.proxy.recover();
    };
    let (listed, ()) = tokio::join!(here.level(READS_BEFORE_LIST), write);
    assert_eq!(listed, "old");
    assert_eq!(here.level(READS_BEFORE_LIST + 1).await, "new");
}
