//! The function of the benchmark: four ConfigMaps that are ready, two conditions and a result for the claim.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use compose::run::{Ready, Resource, RunRequest};
use functions::{Certificates, ServeOptions, Server, response};
use serde_json::json;

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

/// Serves it over mutual TLS; its endpoint.
pub(crate) async fn serve(certificates: &Path, calls: &Calls) -> Outcome<String> {
    let certificates = Some(Certificates::Folder(certificates.to_owned()));
    let options = ServeOptions { address: "127.0.0.1:0".to_owned(), certificates, ..ServeOptions::default() };
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
    tokio::spawn(server.run(run, std::future::pending()));
    Ok(endpoint)
}
