//! Many watches of single objects, as functions require them.

use std::net::SocketAddr;
use std::time::Duration;

use cluster::{Connection, Environment, Selection, Session, WatchEvent, Write};
use serde_json::json;
use testkit::Sandbox;
use testkit::proxy::TcpProxy;
use tokio::sync::mpsc;

use crate::{config_map, reference, session};

/// More than a kube-apiserver allows on two connections.
const WATCHES: usize = 250;
/// Far fewer than one for each watch, and enough for other tests that run at the same time.
const CONNECTIONS: usize = 60;

/// The address of the shared API server.
fn server() -> SocketAddr {
    let kubeconfig = std::fs::read_to_string(Sandbox::shared().kubeconfig()).unwrap();
    let (_, address) = kubeconfig.split_once("https://").unwrap();
    let is_part = |part: char| part.is_ascii_digit() || part == '.' || part == ':';
    address.split(|part| !is_part(part)).next().unwrap().parse().unwrap()
}

/// This process's connections to the API server.
fn connections() -> usize {
    let own: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|fd| Some(std::fs::read_link(fd.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let sockets =
        ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(std::fs::read_to_string).into_iter().flatten();
    let remote = format!(":{:04X}", server().port());
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
    // Tests beside this one may have closed theirs.
    let more = connections().saturating_sub(before);
    assert!(more <= CONNECTIONS, "{more} connections for {WATCHES} watches");
}

#[tokio::test]
async fn a_watch_whose_opening_is_not_polled_holds_up_no_other() {
    let namespace = Sandbox::shared().namespace("unpolled").await;
    let connection = Connection::from_kubeconfig(
        std::fs::read_to_string(Sandbox::shared().kubeconfig()).unwrap().as_str(),
        None,
    );
    let session = Session::connect(&connection, &Environment::default(), "plimsoll-tests").unwrap();
    let map = config_map(&namespace, "map", &json!({}));
    session.apply(&reference(&map), &map, Write::by("test")).await.unwrap();
    let open = async || {
        let selection = Selection {
            namespace: manifest::Namespace::new(namespace.name()),
            fields: Some("metadata.name=map".to_owned()),
            ..Selection::default()
        };
        session.watch(&"v1/ConfigMap".parse().unwrap(), selection, None).await.unwrap()
    };
    let (mut first, mut second) = (open().await, open().await);
    // One poll starts to open it, and then its caller does other things.
    assert!(futures::poll!(std::pin::pin!(first.next())).is_pending());
    let event = tokio::time::timeout(Duration::from_secs(30), second.next()).await;
    assert!(matches!(event, Ok(Ok(WatchEvent::Applied(_)))), "{event:?}");
}

/// They all come before the first connection is there, and again after a break.
#[tokio::test]
async fn watches_that_are_opened_together_share_few_handshakes() {
    let namespace = Sandbox::shared().namespace("together").await;
    let map = config_map(&namespace, "map", &json!({}));
    let proxy = TcpProxy::start(server()).await;
    let kubeconfig = std::fs::read_to_string(Sandbox::shared().kubeconfig()).unwrap();
    let kubeconfig = kubeconfig.replace(&server().to_string(), &proxy.address().to_string());
    let connection = Connection::from_kubeconfig(kubeconfig.as_str(), None);
    let session = Session::connect(&connection, &Environment::default(), "plimsoll-tests").unwrap();
    session.apply(&reference(&map), &map, Write::by("test")).await.unwrap();
    let (sender, mut seen) = mpsc::unbounded_channel();
    for _ in 0..WATCHES {
        let selection = Selection {
            namespace: manifest::Namespace::new(namespace.name()),
            fields: Some("metadata.name=map".to_owned()),
            ..Selection::default()
        };
        let mut watch = session.watch(&"v1/ConfigMap".parse().unwrap(), selection, None).await.unwrap();
        let sender = sender.clone();
        tokio::spawn(async move {
            while let Ok(WatchEvent::Applied(_)) = watch.next().await {
                if sender.send(()).is_err() {
                    return;
                }
            }
        });
    }
    let mut all_have_seen = async || {
        for _ in 0..WATCHES {
            let next = tokio::time::timeout(Duration::from_secs(60), seen.recv()).await;
            next.expect("every watch is open");
        }
    };
    all_have_seen().await;
    // Three for the watches, one that asked what the server speaks, and those of the other requests.
    let most = 10;
    assert!(proxy.accepted() <= most, "{} connections", proxy.accepted());
    for round in 1..=2 {
        let before = proxy.accepted();
        proxy.close();
        let changed = config_map(&namespace, "map", &json!({"round": round.to_string()}));
        session.apply(&reference(&map), &changed, Write::by("test")).await.unwrap();
        all_have_seen().await;
        let more = proxy.accepted() - before;
        assert!(more <= most, "{more} connections after a break");
    }
}
