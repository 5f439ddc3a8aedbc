//! The function of the benchmark: four ConfigMaps that are ready, two conditions and a result for the claim. An `edition` in the
//! input is in every map.

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
pub const NAME: &str = "function-bench";

/// How many ConfigMaps an XR is composed of.
pub const CHILDREN: usize = 4;

/// How often it was called.
#[derive(Clone, Default)]
pub struct Calls(Arc<AtomicUsize>);

impl Calls {
    /// How often it was called since this was last asked.
    pub fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }

    /// How often it was called.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The function while it is served.
pub struct Served {
    pub endpoint: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), String>>,
}

impl Served {
    /// Ends it; its address is free then.
    pub async fn stop(self) -> Outcome<()> {
        drop(self.stop);
        Ok(self.serving.await??)
    }
}

/// Serves it over mutual TLS at an address.
pub async fn serve(address: &str, certificates: &Path, calls: &Calls) -> Outcome<Served> {
    let transport = Transport::Tls(Certificates::Folder(certificates.to_owned()));
    let options = ServeOptions::new(address, transport);
    let server = Server::bind(options).await?;
    let endpoint = server.address().ok_or("it listens on no address")?.to_string();
    let calls = calls.clone();
    let run = move |request: RunRequest| {
        calls.0.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut rsp = response::to(&request);
            let xr = &request.observed.composite.object;
            let name = xr["metadata"]["name"].as_str().unwrap_or_default();
            let size = xr["spec"]["size"].as_str().unwrap_or_default();
            let edition = request.input.as_ref().and_then(|input| input.get("edition"));
            for number in 0..CHILDREN {
                let mut map = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"},
                    "data": {"owner": name, "number": number.to_string(), "size": size},
                });
                if let Some(edition) = edition {
                    map["data"]["edition"] = edition.clone();
                }
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
