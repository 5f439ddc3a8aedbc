//! The credentials for the resources of a namespace: its Secret `ocicredentials`, or the operator's own.
//!
//! Whether an object may use what is found here is decided by what it is bound to: the operator's own credentials never
//! replace those of a Secret.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use cluster::Selection;
use diag::{Diagnostic, error_chain};
use operations::{CallError, Identity, NO_CREDENTIALS, Policy, codes};
use oraclecloud::auth::Environment;
use oraclecloud::{Client, ClientError, Connections, Credentials};
use secrecy::SecretString;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::connected::Connected;
use super::credentials_in_use::CredentialsInUse;
use crate::run::Context;
use crate::runtime::client::ApiError;
use crate::runtime::store::{Change, Key, Source, Store};

/// The Secret of a namespace; the name is OSOK's.
pub(super) const SECRET: &str = "ocicredentials";

/// Clients of Oracle Cloud: one for each namespace with a Secret, and one for all others.
pub(super) struct Clients {
    secrets: Store,
    connections: Connections,
    settings: oraclecloud::Settings,
    environment: fn(&str) -> Option<String>,
    /// Whether the operator's own credentials are never used.
    required: bool,
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
    pub(super) fn start(context: &Context, stop: &CancellationToken) -> Self {
        let fields = Some(format!("metadata.name={SECRET}"));
        let selection =
            Selection { fields, namespace: context.options.namespace.clone(), ..Selection::default() };
        let gvk = "v1/Secret".parse().expect("a valid kind");
        let source = Source { selection, ..Source::of(gvk).without_managed_fields() };
        Self {
            secrets: Store::start(context.session.clone(), source, &context.metrics, stop),
            connections: Connections::new(),
            settings: context.options.oci.clone(),
            environment: context.environment,
            required: context.options.tenants.require_credentials,
            own: Mutex::default(),
            of_namespaces: Mutex::default(),
        }
    }

    pub(super) const fn secrets(&self) -> &Store {
        &self.secrets
    }

    /// The client for a namespace, and the Secret that it comes from.
    fn of(&self, namespace: &str) -> Result<(Client, Option<Arc<Value>>), CallError> {
        if !self.secrets.is_synced() {
            // There may be a Secret, and then the operator's own credentials would be the wrong ones.
            let why = self.secrets.error().unwrap_or_else(|| "they are being read".into());
            return Err(trouble("", format!("the Secrets {SECRET} are not known yet: {why}")));
        }
        match self.secrets.get(&Key { namespace: Some(namespace.to_owned()), name: SECRET.to_owned() }) {
            Some(secret) => Ok((self.of_secret(namespace, &secret)?, Some(secret))),
            None if self.required => Err(trouble(
                NO_CREDENTIALS,
                format!(
                    "namespace {namespace} has no Secret {SECRET}, and --require-namespace-credentials forbids the \
                     operator's own credentials"
                ),
            )),
            None => Ok((self.own().map_err(|error| no_credentials(&error, namespace))?, None)),
        }
    }

    /// Connects to Oracle Cloud for an object of a namespace. A Secret is kept from then on until its last user is gone.
    pub(super) async fn connect(
        &self,
        namespace: &str,
        in_use: &CredentialsInUse,
    ) -> Result<Connected, CallError> {
        let (client, secret) = self.of(namespace)?;
        let mut warnings = Vec::new();
        if let Some(secret) = &secret {
            match in_use.keep(&Key::of(secret)).await {
                Ok(()) => {}
                Err(error) if error.is_forbidden() => warnings.push(not_kept(namespace, &error)),
                Err(error) => {
                    let why = error.text();
                    return Err(trouble(
                        "",
                        format!("the Secret {namespace}/{SECRET} cannot be kept: {why}"),
                    ));
                }
            }
        }
        let secret = secret.map(|_| SECRET.to_owned());
        let identity = Identity { secret, ..client.identity().await? };
        let client = client.only_as(&identity);
        Ok(Connected { client, identity, policy: Policy::default(), warnings })
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
                trouble(NO_CREDENTIALS, format!("the Secret {namespace}/{SECRET} cannot be used: {why}"))
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

fn not_kept(namespace: &str, error: &ApiError) -> Diagnostic {
    let summary = format!("the operator may not keep the Secret {namespace}/{SECRET} while it is in use");
    Diagnostic::warning(codes::CREDENTIALS_NOT_KEPT, summary)
        .detail(format!(
            "If the namespace is deleted, the credentials may go before the resources that need them: {}.",
            error.text()
        ))
        .hint(format!("Grant the operator `patch` on Secrets named {SECRET}, as deploy/roles-oci.yaml does."))
}

fn no_credentials(error: &(dyn Error + 'static), namespace: &str) -> CallError {
    let why = error_chain(error);
    trouble(
        NO_CREDENTIALS,
        format!("the operator has no credentials and namespace {namespace} has no Secret {SECRET}: {why}"),
    )
}

fn trouble(code: &str, message: String) -> CallError {
    CallError { code: code.to_owned(), message, ..CallError::default() }
}

/// The namespace whose credentials changed; a finalizer is none of them.
pub(super) fn changed(change: &Change) -> Option<String> {
    let data = |secret: &Option<Arc<Value>>| secret.as_ref().and_then(|secret| secret.get("data").cloned());
    (data(&change.before) != data(&change.after)).then(|| change.key.namespace.clone()).flatten()
}

/// The entries of a Secret that are text; others cannot be part of credentials.
fn entries(secret: &Value) -> BTreeMap<String, SecretString> {
    let data = secret.as_object().into_iter().flat_map(manifest::secret::decoded);
    data.filter_map(|(name, value)| Some((name.clone(), String::from_utf8(value).ok()?.into()))).collect()
}
