//! The operator's own certificate authority, for functions it runs: kept in a Secret, and renewed before it expires.
//!
//! The certificates of functions are Secrets too, which their Pods mount. The engine's own certificate is never stored: every
//! copy of the operator issues one for itself.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use composition::object;
use composition::protocol::Object;
use functions::Pem;
use functions::certs::{AUTHORITY_DAYS, Authority, IssueError, Validity, is_renewal_due, service_names};
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::composition::certificates::{Identities, Whose, read};
use crate::composition::engine::Engine;
use crate::runtime::client::{ApiError, MANAGER};

/// The Secret with the authority.
pub(in crate::composition) const SECRET: &str = "plimsoll-root-ca";
/// Functions have a year to restart between the renewal of a certificate and its end.
const SERVER_DAYS: u16 = 3 * 365;
/// No other program reads the engine's certificate, and a new one costs nothing.
const CLIENT_DAYS: u16 = 30;

/// The authority of one namespace.
pub(in crate::composition) struct OwnAuthority {
    namespace: String,
    current: Mutex<Option<Current>>,
}

struct Current {
    authority: Arc<Authority>,
    /// As the Secret had it.
    certificate: Vec<u8>,
    /// When the engine's certificate has to be replaced.
    client_due: Timestamp,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuthorityError {
    #[error("cannot read or write Secret {secret}: {}", source.text())]
    Api { secret: String, source: ApiError },
    #[error(
        "cannot issue a certificate with the authority in Secret {SECRET}; delete the Secret to get a new one"
    )]
    Issue(#[from] IssueError),
}

impl AuthorityError {
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Api { source, .. } if source.is_conflict())
    }
}

impl OwnAuthority {
    pub(in crate::composition) fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), current: Mutex::default() }
    }

    /// Uses an authority that exists, so that the first calls after a start can be made.
    pub(in crate::composition) async fn resume(&self, engine: &Engine, identities: &Identities) {
        match engine.client.read(&self.reference(SECRET)).await {
            Ok(Some(_)) => {
                if let Err(error) = self.get(engine, identities, engine.clock.now()).await {
                    tracing::warn!(error = &error as &dyn std::error::Error, "no certificate for functions");
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(secret = SECRET, error = error.text(), "cannot read the authority"),
        }
    }

    /// The authority, made or renewed if need be; the engine shows a certificate of it from now on. The Secret is read each time,
    /// since a user may have deleted or replaced it.
    pub(super) async fn get(
        &self,
        engine: &Engine,
        identities: &Identities,
        now: Timestamp,
    ) -> Result<Arc<Authority>, AuthorityError> {
        let mut current = self.current.lock().await;
        let (authority, certificate) = self.load(engine, now).await?;
        if let Some(current) = &*current
            && now < current.client_due
            && current.certificate == certificate
        {
            return Ok(Arc::clone(&current.authority));
        }
        let authority = Arc::new(authority);
        let client = authority.issue_client(CLIENT_DAYS, now)?;
        let client_due = due(&client, now);
        identities.show(&engine.functions, Whose::Own, client);
        *current = Some(Current { authority: Arc::clone(&authority), certificate, client_due });
        Ok(authority)
    }

    /// The authority in the Secret, with its certificate as it is stored.
    async fn load(&self, engine: &Engine, now: Timestamp) -> Result<(Authority, Vec<u8>), AuthorityError> {
        let failed = |source| AuthorityError::Api { secret: SECRET.to_owned(), source };
        let reference = self.reference(SECRET);
        let stored = if let Some(stored) = engine.client.read(&reference).await.map_err(failed)? {
            stored
        } else {
            let new = Authority::create(AUTHORITY_DAYS, now)?;
            match engine.client.create(&self.secret(&new.pem()), MANAGER).await {
                // Another copy was faster.
                Err(error) if error.is_already_exists() => {
                    let stored = engine.client.read(&reference).await.map_err(failed)?;
                    stored.ok_or(error).map_err(failed)?
                }
                created => created.map_err(failed)?,
            }
        };
        let pem = read(&Value::Object(stored)).unwrap_or_default();
        let authority = Authority::from_pem(&pem.certificate, &pem.key)?;
        if !authority.is_ending(SERVER_DAYS, now) {
            return Ok((authority, pem.certificate));
        }
        let renewed = authority.renewed(AUTHORITY_DAYS, now)?;
        let pem = renewed.pem();
        engine.client.apply(&self.secret(&pem), MANAGER).await.map_err(failed)?;
        tracing::info!(secret = SECRET, namespace = self.namespace, "renewed the authority for functions");
        Ok((renewed, pem.certificate))
    }

    /// Makes sure that `secret`, which is `live` in the cluster, has a certificate for the function at `host`.
    pub(super) async fn certify(
        &self,
        engine: &Engine,
        identities: &Identities,
        secret: &Object,
        live: Option<Object>,
        host: &str,
    ) -> Result<(), AuthorityError> {
        let now = engine.clock.now();
        let authority = self.get(engine, identities, now).await?;
        let name = object::name(secret).unwrap_or_default();
        let failed = |source| AuthorityError::Api { secret: name.to_owned(), source };
        let held = live.as_ref().and_then(|live| read(&Value::Object(live.clone())));
        let is_ours = live.as_ref().is_some_and(|live| {
            let owner = |object: &Object| object::controller(object).map(|owner| owner.uid);
            owner(live) == owner(secret)
        });
        if is_ours && held.is_some_and(|held| !is_renewal_due(&authority, &held, host, now)) {
            return Ok(());
        }
        let pem = authority.issue_server(host, &service_names(host), SERVER_DAYS, now)?;
        let mut certified = secret.clone();
        certified.extend(data(&pem));
        engine.client.apply(&certified, MANAGER).await.map_err(failed)?;
        tracing::info!(secret = name, namespace = self.namespace, "issued a certificate for a function");
        Ok(())
    }

    fn secret(&self, pem: &Pem) -> Object {
        let mut secret = object::object(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": self.namespace},
        }));
        secret.extend(data(pem));
        secret
    }

    fn reference(&self, secret: &str) -> ObjectRef {
        let kind = "v1/Secret".parse().expect("a valid kind");
        ObjectRef::new(kind, manifest::Namespace::new(&self.namespace), secret)
    }
}

/// When two thirds of a certificate's life are over.
fn due(client: &Pem, now: Timestamp) -> Timestamp {
    Validity::of(&client.certificate).map_or(now, |dates| {
        let life = dates.until.duration_since(dates.from);
        dates.until - life / 3
    })
}

fn data(pem: &Pem) -> Object {
    let encoded = |bytes: &[u8]| Value::from(STANDARD.encode(bytes));
    object::object(json!({
        "type": "Opaque",
        "data": {
            "tls.crt": encoded(&pem.certificate), "tls.key": encoded(&pem.key), "ca.crt": encoded(&pem.authority),
        },
    }))
}
