//! The credentials for the resources of a namespace: its Secret `ocicredentials`, or the operator's own.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cluster::Selection;
use operations::{CallError, NO_CREDENTIALS};
use oraclecloud::auth::Environment;
use oraclecloud::{Client, ClientError, Connections, Credentials};
use secrecy::SecretString;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::run::Context;
use crate::runtime::store::{Key, Source, Store};
use diag::error_chain;

/// The Secret of a namespace; the name is OSOK's.
const NAME: &str = "ocicredentials";

/// Clients of Oracle Cloud: one for each namespace with a Secret, and one for all others.
pub struct Clients {
    secrets: Store,
    connections: Connections,
    settings: oraclecloud::Settings,
    environment: fn(&str) -> Option<String>,
    own: Mutex<Option<Client>>,
    of_namespaces: Mutex<HashMap<String, FromSecret>>,
}

/// The client for one version of a Secret.
struct FromSecret {
    version: Option<String>,
    client: Result<Client, CallError>,
}

impl Clients {
    /// Watches the Secrets until `stop`. The operator's own credentials come from its environment; they are discovered when
    /// they are needed, and again while there are none.
    pub fn start(context: &Context, stop: &CancellationToken) -> Self {
        let fields = Some(format!("metadata.name={NAME}"));
        let selection =
            Selection { fields, namespace: context.options.namespace.clone(), ..Selection::default() };
        let gvk = "v1/Secret".parse().expect("a valid kind");
        let source = Source { selection, ..Source::of(gvk).without_managed_fields() };
        Self {
            secrets: Store::start(context.session.clone(), source, stop),
            connections: Connections::new(),
            settings: context.options.oci.clone(),
            environment: context.environment,
            own: Mutex::default(),
            of_namespaces: Mutex::default(),
        }
    }

    pub const fn secrets(&self) -> &Store {
        &self.secrets
    }

    pub fn of(&self, namespace: &str) -> Result<Client, CallError> {
        if !self.secrets.is_synced() {
            // There may be a Secret, and then the operator's own credentials would be the wrong ones.
            let why = self.secrets.error().unwrap_or_else(|| "they are being read".into());
            return Err(trouble("", format!("the Secrets {NAME} are not known yet: {why}")));
        }
        match self.secrets.get(&Key { namespace: Some(namespace.to_owned()), name: NAME.to_owned() }) {
            Some(secret) => self.of_secret(namespace, &secret),
            None => self.own().map_err(|error| no_credentials(&error, namespace)),
        }
    }

    fn of_secret(&self, namespace: &str, secret: &Value) -> Result<Client, CallError> {
        let version = secret.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        let mut known = self.of_namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(named) = known.get(namespace).filter(|named| named.version == version) {
            return named.client.clone();
        }
        let client = Credentials::from_secret(&entries(secret))
            .map_err(ClientError::from)
            .and_then(|credentials| self.client(credentials))
            .map_err(|error| {
                let why = error_chain(&error);
                trouble(NO_CREDENTIALS, format!("the Secret {namespace}/{NAME} cannot be used: {why}"))
            });
        known.insert(namespace.to_owned(), FromSecret { version, client: client.clone() });
        client
    }

    fn own(&self) -> Result<Client, ClientError> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match own.as_ref() {
            Some(client) if !client.credentials().is_last_resort() => return Ok(client.clone()),
            Some(client) => {
                // Better credentials may have appeared; otherwise the token in use is worth keeping.
                match Credentials::discover(&self.environment)? {
                    found if found.is_last_resort() => return Ok(client.clone()),
                    found => found,
                }
            }
            None => Credentials::discover(&self.environment)?,
        };
        let client = self.client(found)?;
        Ok(own.insert(client).clone())
    }

    fn client(&self, credentials: Credentials) -> Result<Client, ClientError> {
        let environment: Environment<'_> = &self.environment;
        Client::new(credentials, self.connections.clone(), self.settings.clone(), environment)
    }
}

fn no_credentials(error: &(dyn Error + 'static), namespace: &str) -> CallError {
    let why = error_chain(error);
    trouble(
        NO_CREDENTIALS,
        format!("the operator has no credentials and namespace {namespace} has no Secret {NAME}: {why}"),
    )
}

fn trouble(code: &str, message: String) -> CallError {
    CallError { code: code.to_owned(), message, ..CallError::default() }
}

/// The entries of a Secret that are text; others cannot be part of credentials.
fn entries(secret: &Value) -> BTreeMap<String, SecretString> {
    let data = secret.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(name, value)| {
        let text = String::from_utf8(BASE64_STANDARD.decode(value.as_str()?).ok()?).ok()?;
        Some((name.clone(), SecretString::from(text)))
    })
    .collect()
}
