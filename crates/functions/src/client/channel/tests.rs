//! Round robin over several addresses, reconnection and the time a function takes to count as down.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use composition::protocol::{RunRequest, RunResponse};
use tokio::sync::oneshot;

use super::*;
use crate::endpoint::Address;
use crate::serve::{FunctionError, ServeOptions, Server, Transport};
use crate::wire::encode;

/// Serves a function on a socket that responds with `name`; it stops when the sender is dropped.
async fn replica(folder: &Path, name: &'static str) -> oneshot::Sender<()> {
    let address = format!("unix:{}", folder.join(name).display());
    let server = Server::bind(ServeOptions::new(address, Transport::Insecure)).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let respond = async move |_: RunRequest| -> Result<RunResponse, FunctionError> {
        let mut response = RunResponse::default();
        name.clone_into(&mut response.meta.tag);
        Ok(response)
    };
    tokio::spawn(server.run(respond, async move { drop(stopped.await) }));
    stop
}

/// A channel to whatever sockets of `folder` are named at the time.
fn channel_to(folder: &Path, names: watch::Receiver<Vec<&'static str>>, options: &Options) -> Channel {
    let folder = folder.to_owned();
    let resolve: Resolve = Box::new(move || {
        let found = names.borrow().iter().map(|name| Address::Unix(folder.join(name))).collect();
        async { Ok(found) }.boxed()
    });
    Channel::with_resolver(
        resolve,
        "several",
        "unix:/several".parse().unwrap(),
        None,
        options,
        &Memory::new(1 << 20),
    )
}

async fn call(channel: &Channel) -> Result<RunResponse, RunError> {
    let request = encode(&RunRequest::default()).bytes;
    channel.call(channel.turn(false).await?, request, &Reservation::default()).await
}

async fn wait_for_connections(channel: &Channel, count: usize) {
    channel.connectivity.clone().wait_for(|connectivity| connectivity.ready.len() == count).await.unwrap();
}

/// Which replica responds to how many of the next calls.
async fn responses(channel: &Channel, calls: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..calls {
        *counts.entry(call(channel).await.unwrap().meta.tag).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn calls_go_round_robin_over_all_addresses_and_skip_lost_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut replicas = BTreeMap::new();
    for name in ["a", "b", "c"] {
        replicas.insert(name, replica(folder.path(), name).await);
    }
    let (_names, addresses) = watch::channel(vec!["a", "b", "c"]);
    let options = Options { down_after: Duration::from_secs(3600), ..Options::default() };
    let channel = channel_to(folder.path(), addresses, &options);
    wait_for_connections(&channel, 3).await;
    let all = [("a", 4), ("b", 4), ("c", 4)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(responses(&channel, 12).await, BTreeMap::from(all));

    drop(replicas.remove("b"));
    wait_for_connections(&channel, 2).await;
    let rest = [("a", 3), ("c", 3)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(responses(&channel, 6).await, BTreeMap::from(rest));
}

#[tokio::test]
async fn addresses_removed_from_the_name_are_disconnected() {
    let folder = tempfile::tempdir().unwrap();
    let _replicas = [replica(folder.path(), "a").await, replica(folder.path(), "b").await];
    let (names, addresses) = watch::channel(vec!["a", "b"]);
    let channel = channel_to(folder.path(), addresses, &Options::default());
    wait_for_connections(&channel, 2).await;
    names.send(vec!["b"]).unwrap();
    // A retired connection makes the channel resolve the name soon.
    let first = channel.connectivity.borrow().ready[0].clone();
    first.retire();
    let only_b = BTreeMap::from([("b".to_owned(), 4)]);
    let mut connectivity = channel.connectivity.clone();
    while responses(&channel, 4).await != only_b {
        connectivity.changed().await.unwrap();
    }
}

#[tokio::test]
async fn without_certificates_no_other_machine_is_called() {
    let resolve: Resolve =
        Box::new(|| async { Ok(vec![Address::Tcp(([192, 0, 2, 1], 9443).into())]) }.boxed());
    let endpoint = "fn.example.org:9443".parse().unwrap();
    let options = Options { down_after: Duration::ZERO, ..Options::default() };
    let channel = Channel::with_resolver(
        resolve,
        "fn.example.org:9443",
        endpoint,
        None,
        &options,
        &Memory::new(1 << 20),
    );
    let error = call(&channel).await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Unavailable);
    assert_eq!(
        error.message,
        "rpc error: code = Unavailable desc = cannot reach the function at fn.example.org:9443: 192.0.2.1:9443: without \
         certificates the engine calls only functions on this machine; configure its certificates"
    );
}

#[tokio::test(start_paused = true)]
async fn a_function_is_down_after_a_second_and_resolved_four_times_a_second_from_then_on() {
    let resolutions = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&resolutions);
    let resolve: Resolve = Box::new(move || {
        seen.lock().unwrap().push(Instant::now());
        async { Err(io::ErrorKind::ConnectionRefused.into()) }.boxed()
    });
    let endpoint = "fn:9443".parse().unwrap();
    let channel = Channel::with_resolver(
        resolve,
        "fn:9443",
        endpoint,
        None,
        &Options::default(),
        &Memory::new(1 << 20),
    );
    let failed_after = async || {
        let started = Instant::now();
        assert_eq!(call(&channel).await.unwrap_err().class, RunErrorClass::Unavailable);
        // The clock advances only for timers, which are exact to the millisecond.
        started.elapsed().as_millis()
    };
    assert!((1000..=1002).contains(&failed_after().await), "the first call waits for the function");
    assert_eq!(failed_after().await, 0, "the next one fails at once");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let resolutions = resolutions.lock().unwrap().clone();
    let pauses: Vec<_> = resolutions.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    assert!(pauses.iter().all(|pause| *pause <= 251), "{pauses:?}");
    // Up to a tenth less, by jitter.
    assert!(pauses.last().is_some_and(|pause| *pause >= 225), "{pauses:?}");
}

#[test]
fn a_call_fails_when_the_runtime_of_its_connections_shuts_down_first() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (connecting, calling) = (runtime(), runtime());
    let resolving = Arc::new(Notify::new());
    let resolve: Resolve = Box::new({
        let resolving = Arc::clone(&resolving);
        move || {
            resolving.notify_one();
            std::future::pending().boxed()
        }
    });
    let endpoint = "fn:9443".parse().unwrap();
    let channel = connecting.block_on(async {
        Channel::with_resolver(resolve, "fn:9443", endpoint, None, &Options::default(), &Memory::new(1 << 20))
    });
    let channel = Arc::new(channel);
    let calls = [0, 1].map(|which| {
        let channel = Arc::clone(&channel);
        calling.spawn(async move {
            match which {
                0 => call(&channel).await.map(|_| ()),
                _ => channel.connected().await,
            }
        })
    });
    connecting.block_on(resolving.notified());
    assert!(channel.is_alive());
    connecting.shutdown_background();
    for call in calls {
        let error = calling.block_on(call).expect("it does not panic").unwrap_err();
        assert_eq!(error.class, RunErrorClass::Unavailable);
        assert!(error.message.contains("the engine is shutting down"), "{}", error.message);
    }
    assert!(!channel.is_alive(), "the next call opens new connections");
}
