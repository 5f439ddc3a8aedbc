//! The certificates that the engine shows to functions: one that it is given, and one of its own authority.
//!
//! Given are, in this order: the folder of `--function-certs-dir`, the Secret `plimsoll-tls-client` in the operator's namespace,
//! and `crossplane-tls-client` beside functions that Crossplane has installed. Secrets are read again when they change.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cluster::Selection;
use composition::protocol::Object;
use composition::{object, package};
use diag::error_chain;
use functions::{Certificates, Functions, Pem};
use manifest::secret::decoded_entry;
use manifest::{Namespace, ObjectRef};
use serde_json::Value;
use tokio::sync::watch;

use super::engine::Engine;
use super::function::FunctionLocations;
use crate::runtime::store::{Key, Source};
use crate::runtime::supervisor::supervise;

/// The Secret with `tls.crt`, `tls.key` and `ca.crt`.
const SECRET: &str = "plimsoll-tls-client";
/// The same of Crossplane, in the namespace of its functions.
const CROSSPLANE_SECRET: &str = "crossplane-tls-client";
/// How often Crossplane's Secret is read. It may be read by its name only, and not be watched.
const INTERVAL: Duration = Duration::from_secs(300);

/// Whom a certificate is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    Given,
    Crossplane,
    Own,
}

/// What the engine shows.
pub(super) struct Identities {
    folder: Option<PathBuf>,
    shown: Mutex<BTreeMap<Whose, watch::Sender<Pem>>>,
}

impl Identities {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, shown: Mutex::default() }
    }

    /// Shows a certificate from now on; if it is invalid, the one before stays in use.
    pub(super) fn show(&self, functions: &Functions, whose: Whose, pem: Pem) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = shown.get(&whose) {
            sender.send_replace(pem);
            return;
        }
        shown.insert(whose, watch::Sender::new(pem));
        if let Err(error) = functions.set_certificates(self.sources(&shown)) {
            shown.remove(&whose);
            tracing::warn!(?whose, error = error_chain(&error), "cannot use certificates for functions");
        }
    }

    fn sources(&self, shown: &BTreeMap<Whose, watch::Sender<Pem>>) -> Vec<Certificates> {
        let folder = self.folder.clone().map(Certificates::Folder);
        let shown = shown.values().map(|sender| Certificates::Watched(sender.subscribe()));
        folder.into_iter().chain(shown).collect()
    }

    fn has_given(&self) -> bool {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        self.folder.is_some() || shown.contains_key(&Whose::Given)
    }
}

/// Watches the Secret in `namespace` until the engine stops. Returns when it has been read once, so that the first call to a
/// function can use it.
pub(super) async fn watch(engine: &Arc<Engine>, identities: &Arc<Identities>, namespace: &str) {
    if identities.has_given() {
        return;
    }
    let secrets = "v1/Secret".parse().expect("a valid kind");
    let selection = Selection {
        namespace: Namespace::new(namespace),
        fields: Some(format!("metadata.name={SECRET}")),
        ..Selection::default()
    };
    let source = Source { selection, ..Source::of(secrets) }.without_managed_fields();
    let store = engine.start_store(source);
    if let Err(error) = store.ready().await {
        // Everything else can go on; they are used as soon as they can be read.
        tracing::warn!(secret = SECRET, namespace, %error, "cannot read the certificates for functions");
    }
    let key = Key { namespace: Some(namespace.to_owned()), name: SECRET.to_owned() };
    if let Some(secret) = store.get(&key) {
        load(engine, identities, Whose::Given, &secret);
    } else {
        tracing::info!(secret = SECRET, namespace, "no certificates are given for functions");
    }
    let (engine, identities) = (Arc::clone(engine), Arc::clone(identities));
    tokio::spawn(async move {
        let follow = || async {
            let mut changes = store.subscribe();
            while let Some(change) = changes.recv().await {
                if let Some(secret) = change.after {
                    load(&engine, &identities, Whose::Given, &secret);
                }
            }
        };
        tokio::select! {
            biased;
            () = engine.stop.cancelled() => {}
            () = supervise("certificates", &engine.metrics, &engine.stop, follow) => {}
        }
    });
}

/// Uses Crossplane's certificate for functions that it has installed, unless another one is given. Never returns.
pub(super) async fn follow_crossplane(
    engine: &Engine,
    identities: &Identities,
    locations: &FunctionLocations,
) {
    let mut moved = locations.moves();
    loop {
        moved.mark_unchanged();
        let namespace = locations.revisions().iter().find_map(installed_by_crossplane);
        if let Some(namespace) = namespace.filter(|_| !identities.has_given()) {
            let kind = "v1/Secret".parse().expect("a valid kind");
            let target = ObjectRef::new(kind, Namespace::new(&namespace), CROSSPLANE_SECRET);
            match engine.client.read(&target).await {
                Ok(Some(secret)) => load(engine, identities, Whose::Crossplane, &Value::Object(secret)),
                Ok(None) => {}
                Err(error) => {
                    let error = error.text();
                    tracing::warn!(secret = CROSSPLANE_SECRET, namespace, error, "cannot read certificates");
                }
            }
        }
        // Once it is known, only its renewal matters.
        let _ = tokio::time::timeout(INTERVAL, moved.changed()).await;
    }
}

/// The namespace of a function that Crossplane has installed.
pub fn installed_by_crossplane(revision: &Object) -> Option<String> {
    if !package::is_active(revision) || package::runtime_namespace(revision).is_some() {
        return None;
    }
    service_namespace(revision).map(str::to_owned)
}

/// The namespace of the Service that a revision is called at.
fn service_namespace(revision: &Object) -> Option<&str> {
    let host = package::endpoint(revision)?.strip_prefix("dns:///")?;
    let (_, rest) = host.split_once('.')?;
    rest.split([':', '.']).next()
}

/// The namespace and name of the Secret with the certificate of a revision.
pub fn function_secret(revision: &Object) -> Option<(String, String)> {
    let secret = object::text(revision, &["status", "tlsServerSecretName"])?;
    Some((service_namespace(revision)?.to_owned(), secret.to_owned()))
}

/// Uses the certificates in a Secret. If they are invalid, the ones before stay in use.
fn load(engine: &Engine, identities: &Identities, whose: Whose, secret: &Value) {
    if let Some(pem) = read(secret) {
        identities.show(&engine.functions, whose, pem);
    } else {
        tracing::warn!(?whose, "ignoring a Secret without tls.crt, tls.key or ca.crt");
    }
}

/// What a Secret holds, if it is complete.
pub(super) fn read(secret: &Value) -> Option<Pem> {
    let part = |key: &str| decoded_entry(secret.as_object()?, key);
    Some(Pem { certificate: part("tls.crt")?, key: part("tls.key")?, authority: part("ca.crt")? })
}

#[cfg(test)]
mod tests;
