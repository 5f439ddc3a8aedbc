//! The engine's certificates from a Secret, reloaded when it changes.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::Selection;
use diag::error_chain;
use functions::{Certificates, Pem};
use manifest::Namespace;
use serde_json::Value;
use tokio::sync::watch;

use super::engine::Engine;
use crate::runtime::store::{Key, Source, Store};

/// The Secret with `tls.crt`, `tls.key` and `ca.crt`.
const SECRET: &str = "plimsoll-tls-client";

/// Watches the Secret in `namespace` until the engine stops. Returns when it has been read once, so that the first call to a
/// function can use it.
pub(super) async fn watch(engine: &Arc<Engine>, namespace: &str) {
    let secrets = "v1/Secret".parse().expect("a valid kind");
    let selection = Selection {
        namespace: Namespace::new(namespace),
        fields: Some(format!("metadata.name={SECRET}")),
        ..Selection::default()
    };
    let source = Source { selection, ..Source::of(secrets) }.without_managed_fields();
    let store = Store::start(engine.client.session().clone(), source, &engine.stop);
    if let Err(error) = store.ready().await {
        // Everything else can go on; they are used as soon as they can be read.
        tracing::warn!(secret = SECRET, namespace, %error, "cannot read the certificates for functions");
    }
    let mut using = None;
    if let Some(secret) = store.get(&Key { namespace: Some(namespace.to_owned()), name: SECRET.to_owned() }) {
        load(engine, &secret, &mut using);
    } else {
        tracing::warn!(
            secret = SECRET,
            namespace,
            "no certificates for functions: only functions on this machine can be called"
        );
    }
    let engine = Arc::clone(engine);
    tokio::spawn(async move {
        let mut changes = store.subscribe();
        loop {
            let change = tokio::select! {
                biased;
                () = engine.stop.cancelled() => return,
                Some(change) = changes.recv() => change,
                else => return,
            };
            if let Some(secret) = change.after {
                load(&engine, &secret, &mut using);
            }
        }
    });
}

/// Uses the certificates in the Secret. If they are invalid, the ones before stay in use.
fn load(engine: &Engine, secret: &Value, using: &mut Option<watch::Sender<Pem>>) {
    let Some(pem) = read(secret) else {
        tracing::warn!(secret = SECRET, "ignoring a Secret without tls.crt, tls.key or ca.crt");
        return;
    };
    if let Some(using) = using {
        using.send_replace(pem);
        return;
    }
    let (sender, receiver) = watch::channel(pem);
    match engine.functions.set_certificates(Certificates::Watched(receiver)) {
        Ok(()) => *using = Some(sender),
        Err(error) => {
            tracing::warn!(
                secret = SECRET,
                error = error_chain(&error),
                "cannot use the certificates in the Secret"
            );
        }
    }
}

fn read(secret: &Value) -> Option<Pem> {
    let part = |key: &str| STANDARD.decode(secret.get("data")?.get(key)?.as_str()?).ok();
    Some(Pem { certificate: part("tls.crt")?, key: part("tls.key")?, authority: part("ca.crt")? })
}

#[cfg(test)]
mod tests;
