//! Many watches of single objects, as functions require them.

use std::time::Duration;

use cluster::{Selection, WatchEvent, Write};
use serde_json::json;
use testkit::Sandbox;

use crate::{config_map, reference, session};

/// More than a kube-apiserver allows on two connections.
const WATCHES: usize = 250;
/// Far fewer than one for each watch, and enough for other tests that run at the same time.
const CONNECTIONS: usize = 60;

/// This process's connections to the API server.
fn connections() -> usize {
    let kubeconfig = std::fs::read_to_string(Sandbox::shared().kubeconfig()).unwrap();
    let (_, port) = kubeconfig.split_once("https://127.0.0.1:").unwrap();
    let port: u16 = port.split(|digit: char| !digit.is_ascii_digit()).next().unwrap().parse().unwrap();
    let own: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|fd| Some(std::fs::read_link(fd.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let sockets =
        ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(std::fs::read_to_string).into_iter().flatten();
    let remote = format!(":{port:04X}");
    let is_to_server = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.len() > 9 && fields[2].ends_with(&remote) && own.iter().any(|inode| inode == fields[9])
    };
    sockets.map(|table| table.lines().filter(|line| is_to_server(line)).count()).sum()
}

#[tokio::test]
async fn many_watches_of_single_objects_share_few_connections() {
    let namespace = Sandbox::shared().namespace("watches").await;
    let session = session();
    let before = connections();
    let mut watches = Vec::new();
    for number in 0..WATCHES {
        let selection = Selection {
            namespace: manifest::Namespace::new(namespace.name()),
            fields: Some(format!("metadata.name=map-{number}")),
            ..Selection::default()
        };
        let mut watch = session.watch(&"v1/ConfigMap".parse().unwrap(), selection, None).await.unwrap();
        // Opened, and kept open.
        let opened = tokio::time::timeout(Duration::from_millis(20), watch.next()).await;
        assert!(opened.is_err(), "there is no such object");
        watches.push(watch);
    }
    for number in [0, 99, 100, 101, WATCHES - 1] {
        let map = config_map(&namespace, &format!("map-{number}"), &json!({}));
        session.apply(&reference(&map), &map, Write::by("test")).await.unwrap();
        let event = tokio::time::timeout(Duration::from_secs(30), watches[number].next()).await;
        match event.expect("the watch is open").unwrap() {
            WatchEvent::Applied(seen) => assert_eq!(seen["metadata"]["name"], map["metadata"]["name"]),
            other => panic!("{number}: {other:?}"),
        }
    }
    let more = connections() - before.min(connections());
    assert!(more <= CONNECTIONS, "{more} connections for {WATCHES} watches");
}
