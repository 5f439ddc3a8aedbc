//! Turns over several addresses, as a name may have them.

use std::collections::BTreeMap;
use std::path::Path;

use composition::run::{RunRequest, RunResponse};
use tokio::sync::oneshot;

use super::*;
use crate::serve::{FunctionError, ServeOptions, Server};
use crate::wire::encode;

/// Serves a function on a socket that answers with `name`; it ends when the sender is dropped.
async fn replica(folder: &Path, name: &'static str) -> oneshot::Sender<()> {
    let address = format!("unix:{}", folder.join(name).display());
    let server = Server::bind(ServeOptions { address, ..ServeOptions::default() }).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let answer = async move |_: RunRequest| -> Result<RunResponse, FunctionError> {
        let mut answer = RunResponse::default();
        name.clone_into(&mut answer.meta.tag);
        Ok(answer)
    };
    tokio::spawn(server.run(answer, async move { drop(stopped.await) }));
    stop
}

/// Who answers how many of the next calls.
async fn answers(channel: &Channel, calls: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..calls {
        let answer = channel.call(encode(&RunRequest::default()).bytes).await.unwrap();
        *counts.entry(answer.meta.tag).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn calls_take_turns_over_all_addresses_and_leave_out_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut replicas = BTreeMap::new();
    for name in ["a", "b", "c"] {
        replicas.insert(name, replica(folder.path(), name).await);
    }
    let addresses: Vec<_> =
        ["a", "b", "c"].iter().map(|name| Address::Unix(folder.path().join(name))).collect();
    let look_up: LookUp = Box::new(move || {
        let addresses = addresses.clone();
        Box::pin(async move { Ok(addresses) })
    });
    let endpoint = "unix:/several".parse().unwrap();
    let options = Options { down_after: Duration::from_secs(3600), ..Options::default() };
    let channel = Channel::looking_up(look_up, "several", endpoint, None, &options);
    channel.links.clone().wait_for(|links| links.open.len() == 3).await.unwrap();
    let all = [("a", 4), ("b", 4), ("c", 4)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(answers(&channel, 12).await, BTreeMap::from(all));

    drop(replicas.remove("b"));
    channel.links.clone().wait_for(|links| links.open.len() == 2).await.unwrap();
    let rest = [("a", 3), ("c", 3)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(answers(&channel, 6).await, BTreeMap::from(rest));
}

#[tokio::test]
async fn addresses_that_leave_the_name_are_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let _replicas = [replica(folder.path(), "a").await, replica(folder.path(), "b").await];
    let (change, addresses) = watch::channel(vec!["a", "b"]);
    let look_up: LookUp = Box::new({
        let folder = folder.path().to_owned();
        move || {
            let found = addresses.borrow().iter().map(|name| Address::Unix(folder.join(name))).collect();
            Box::pin(async move { Ok(found) })
        }
    });
    let endpoint = "unix:/several".parse().unwrap();
    let channel = Channel::looking_up(look_up, "several", endpoint, None, &Options::default());
    channel.links.clone().wait_for(|links| links.open.len() == 2).await.unwrap();
    change.send(vec!["b"]).unwrap();
    // Retiring a connection makes the name be looked up at once.
    let first = channel.links.borrow().open[0].clone();
    channel.drop_link(&first);
    let only_b = BTreeMap::from([("b".to_owned(), 4)]);
    channel.links.clone().wait_for(|links| links.open.len() == 1).await.unwrap();
    let mut rest = channel.links.clone();
    while answers(&channel, 4).await != only_b {
        rest.changed().await.unwrap();
    }
}

#[tokio::test]
async fn without_certificates_no_other_machine_is_called() {
    let look_up: LookUp =
        Box::new(|| Box::pin(async { Ok(vec![Address::Tcp(([192, 0, 2, 1], 9443).into())]) }));
    let endpoint = "fn.example.org:9443".parse().unwrap();
    let options = Options { down_after: Duration::ZERO, ..Options::default() };
    let channel = Channel::looking_up(look_up, "fn.example.org:9443", endpoint, None, &options);
    let error = channel.call(encode(&RunRequest::default()).bytes).await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Unavailable);
    assert_eq!(
        error.message,
        "rpc error: code = Unavailable desc = the function cannot be reached at fn.example.org:9443: 192.0.2.1:9443: \
         without certificates only functions on this machine are called; give the engine some"
    );
}

#[tokio::test(start_paused = true)]
async fn a_function_is_down_after_a_second_and_looked_for_four_times_a_second_from_then_on() {
    let looks = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&looks);
    let look_up: LookUp = Box::new(move || {
        seen.lock().unwrap().push(Instant::now());
        Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
    });
    let endpoint = "fn:9443".parse().unwrap();
    let channel = Channel::looking_up(look_up, "fn:9443", endpoint, None, &Options::default());
    let call = async || {
        let started = Instant::now();
        let error = channel.call(encode(&RunRequest::default()).bytes).await.unwrap_err();
        assert_eq!(error.class, RunErrorClass::Unavailable);
        // The clock stands still but for timers, which are exact to the millisecond.
        started.elapsed().as_millis()
    };
    assert!((1000..=1002).contains(&call().await), "the first call waits for it to come");
    assert_eq!(call().await, 0, "the next one knows");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let looks = looks.lock().unwrap().clone();
    let pauses: Vec<_> = looks.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    assert!(pauses.iter().all(|pause| *pause <= 251), "{pauses:?}");
    assert!(pauses.last().is_some_and(|pause| *pause >= 250), "{pauses:?}");
}

#[test]
fn a_call_ends_with_an_error_when_the_runtime_of_its_connections_ends_first() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (keeping, calling) = (runtime(), runtime());
    let looked = Arc::new(tokio::sync::Notify::new());
    let look_up: LookUp = Box::new({
        let looked = Arc::clone(&looked);
        move || {
            looked.notify_one();
            Box::pin(std::future::pending())
        }
    });
    let endpoint = "fn:9443".parse().unwrap();
    let channel = keeping
        .block_on(async { Channel::looking_up(look_up, "fn:9443", endpoint, None, &Options::default()) });
    let channel = Arc::new(channel);
    let calls = [0, 1].map(|which| {
        let channel = Arc::clone(&channel);
        calling.spawn(async move {
            match which {
                0 => channel.call(encode(&RunRequest::default()).bytes).await.map(|_| ()),
                _ => channel.connected().await,
            }
        })
    });
    keeping.block_on(looked.notified());
    assert!(channel.is_kept());
    keeping.shutdown_background();
    for call in calls {
        let error = calling.block_on(call).expect("it does not panic").unwrap_err();
        assert_eq!(error.class, RunErrorClass::Unavailable);
        assert!(error.message.contains("were given up"), "{}", error.message);
    }
    assert!(!channel.is_kept(), "the next call makes new connections");
}
