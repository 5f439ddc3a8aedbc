//! The function of the benchmark: four ConfigMaps that are ready, two conditions and a result for the claim.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use composition::protocol::{Ready, Resource, RunRequest};
use functions::{Certificates, ServeOptions, Server, Transport, response};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::Outcome;

/// What Compositions call it.
pub(crate) const NAME: &str = "function-bench";

/// How often it was called.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<AtomicUsize>);

impl Calls {
    /// How often it was called since this was last asked.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }

    /// How often it was called.
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The function while it is served.
pub(crate) struct Served {
    pub(crate) endpoint: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), String>>,
}

impl Served {
    /// Ends it; its address is free then.
    pub(crate) async fn stop(self) -> Outcome<()> {
        drop(self.stop);
        Ok(self.serving.await??)
    }
}

/// Serves it over mutual TLS at an address.
pub(crate) async fn serve(address: &str, certificates: &Path, calls: &Calls) -> Outcome<Served> {
    let transport = Transport::Tls(Certificates::Folder(certificates.to_owned()));
    let options = ServeOptions::new(address, transport);
    let server = Server::bind(options).await?;
    let endpoint = server.address().ok_or("it listens on no address")?.to_string();
    let calls = calls.clone();
    let run = move |request: RunRequest| {
        calls.0.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut rsp = response::to(&request);
            let name = request.observed.composite.object["metadata"]["name"].as_str().unwrap_or_default();
            for number in 0..4 {
                let map = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"},
                    "data": {"owner": name, "number": number.to_string()},
                });
                let map = Resource { ready: Ready::True, ..Resource::of(map) };
                rsp.desired.resources.insert(format!("map-{number}"), map);
            }
            response::condition_true(&mut rsp, "DatabaseReady", "Available").target_composite_and_claim();
            response::condition_true(&mut rsp, "AppReady", "Available")
                .with_message("Everything is online.")
                .target_composite_and_claim();
            response::normal(&mut rsp, "Composed four maps.").target_composite_and_claim();
            Ok(rsp)
        }
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let running = server.run(run, async move { drop(stopped.await) });
    let serving = tokio::spawn(async move { running.await.map_err(|error| error.to_string()) });
    Ok(Served { endpoint, stop, serving })
}
