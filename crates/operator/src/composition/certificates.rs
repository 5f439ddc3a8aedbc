//! The engine's certificates, from the Secret they are kept in: used as soon as it is there, and again whenever it changes.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::Selection;
use functions::{Certificates, Pem};
use manifest::Namespace;
use serde_json::Value;
use tokio::sync::watch;

use super::engine::Engine;
use crate::said::chain;
use crate::store::{Source, Store};

/// The Secret with `tls.crt`, `tls.key` and `ca.crt`.
const SECRET: &str = "plimsoll-tls-client";

/// Follows the Secret in `namespace` until the engine stops. Whatever it holds first is waited for, so that the first
/// call of a function is made with it.
pub(super) async fn follow(engine: &Arc<Engine>, namespace: &str) {
    let secrets = "v1/Secret".parse().expect("it is the name of a kind");
    let selection = Selection {
        namespace: Namespace::new(namespace),
        fields: Some(format!("metadata.name={SECRET}")),
        ..Selection::default()
    };
    let source = Source { selection, ..Source::of(secrets) }.without_managed_fields();
    let store = Store::start(engine.session.clone(), source, &engine.stop);
    store.synced().await;
    let mut using = None;
    if let Some(secret) = store.get(Some(namespace), SECRET) {
        take(engine, &secret, &mut using);
    } else {
        tracing::warn!(
            secret = SECRET,
            namespace,
            "there are no certificates for functions: only those on this machine are called"
        );
    }
    let engine = Arc::clone(engine);
    tokio::spawn(async move {
        let mut changes = store.subscribe();
        loop {
            let change = tokio::select! {
                () = engine.stop.cancelled() => return,
                Some(change) = changes.recv() => change,
                else => return,
            };
            if let Some(secret) = change.after {
                take(&engine, &secret, &mut using);
            }
        }
    });
}

/// Uses what is in the Secret. One that cannot be used leaves what was there before.
fn take(engine: &Engine, secret: &Value, using: &mut Option<watch::Sender<Pem>>) {
    let Some(pem) = read(secret) else {
        tracing::warn!(
            secret = SECRET,
            "the Secret lacks tls.crt, tls.key or ca.crt; its certificates are not used"
        );
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
                why = chain(&error),
                "the certificates in the Secret cannot be used"
            );
        }
    }
}

fn read(secret: &Value) -> Option<Pem> {
    let part = |key: &str| STANDARD.decode(secret.get("data")?.get(key)?.as_str()?).ok();
    Some(Pem { certificate: part("tls.crt")?, key: part("tls.key")?, authority: part("ca.crt")? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_read_whole_or_not_at_all() {
        let whole = json!({"data": {"tls.crt": "Yw==", "tls.key": "aw==", "ca.crt": "YQ=="}});
        let pem = read(&whole).unwrap();
        assert_eq!((pem.certificate, pem.key, pem.authority), (b"c".into(), b"k".into(), b"a".into()));
        assert!(read(&json!({"data": {"tls.crt": "Yw==", "tls.key": "aw=="}})).is_none());
        assert!(read(&json!({"data": {"tls.crt": "!", "tls.key": "aw==", "ca.crt": "YQ=="}})).is_none());
        assert!(read(&json!({})).is_none());
    }
}
