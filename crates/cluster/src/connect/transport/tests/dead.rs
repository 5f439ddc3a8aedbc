//! Connections that nothing passes over any more, although neither side has closed them.

use std::sync::atomic::AtomicBool;

use super::*;

/// A server that answers every request. Once it is `cut_off`, it answers those on new connections only.
async fn serve_until(cut_off: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (is_new, cut_off) = (cut_off.load(Ordering::SeqCst), Arc::clone(&cut_off));
            tokio::spawn(async move {
                let mut buffer = vec![0; 16 * 1024];
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    if is_new || !cut_off.load(Ordering::SeqCst) {
                        stream.write_all(json("200 OK", "{}").as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_request_that_was_given_up_costs_one_timeout_and_not_one_per_connection() {
    let cut_off = Arc::new(AtomicBool::new(false));
    let address = serve_until(Arc::clone(&cut_off)).await;
    let endpoint = endpoint::resolve(&to(&address), &Environment::default()).unwrap();
    let (handshake, dead_after) = (Duration::from_secs(10), Duration::from_millis(100));
    let transport = Transport::with_timeouts(endpoint, "plimsoll/test", handshake, dead_after).unwrap();
    let session = Session::new(kube::Client::new(transport, "default"));
    for outcome in futures::future::join_all((0..3).map(|_| get_with(&session))).await {
        outcome.unwrap();
    }
    cut_off.store(true, Ordering::SeqCst);
    let given_up = tokio::time::timeout(dead_after * 2, get_with(&session)).await;
    assert!(given_up.is_err(), "the connection is dead: {given_up:?}");
    let answered = tokio::time::timeout(Duration::from_secs(20), get_with(&session)).await;
    answered.expect("the other connections are not tried").unwrap();
}
