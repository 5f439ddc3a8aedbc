//! The controllers of the kinds, on a server that serves none of them.

use std::sync::Mutex;

use cluster::Connection;
use oraclecloud::Catalogue;

use super::*;
use crate::options::Options;
use crate::runtime::events::Events;
use crate::runtime::testing::{Seen, client};

#[tokio::test(start_paused = true)]
async fn a_kind_whose_controller_panics_is_started_again_and_the_others_go_on() {
    let (client, _) = client(|seen: &Seen| unreachable!("{} is not known", seen.line));
    let metrics = Metrics::new();
    let events = Events::start(client.clone(), "test", metrics.clone());
    let session = cluster::Session::new(client);
    let context = Context::new(session, events, metrics.clone(), Options::on(Connection::default()));
    let stop = CancellationToken::new();
    // Without definitions, these are all that are installed by default.
    let installed = InstalledKinds::start(&context, &stop);
    let started: Arc<Mutex<Vec<&str>>> = Arc::default();
    let start = {
        let started = Arc::clone(&started);
        move |kind: Kind, stop: CancellationToken| {
            let name = kind.label;
            let before = started.lock().unwrap().iter().filter(|other| **other == name).count();
            started.lock().unwrap().push(name);
            async move {
                assert!(name != "queue/Queue" || before > 0, "a bad queue");
                stop.cancelled().await;
            }
        }
    };
    let end = async {
        while started.lock().unwrap().len() <= Catalogue::standard().kinds().len() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        stop.cancel();
    };
    tokio::join!(run_kinds(&installed, &metrics, &stop, start, |_| {}), end);
    let mut started = started.lock().unwrap().clone();
    started.sort_unstable();
    let mut expected: Vec<&str> = Catalogue::standard().kinds().iter().map(|kind| kind.label).collect();
    expected.push("queue/Queue");
    expected.sort_unstable();
    assert_eq!(started, expected);
    let text = metrics.text(Timestamp::UNIX_EPOCH);
    assert!(text.contains("plimsoll_controller_panics_total{controller=\"queue/Queue\"} 1"), "{text}");
}
