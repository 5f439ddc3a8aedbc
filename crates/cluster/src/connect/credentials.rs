//! Who we are to a server: fixed, read from a file, or printed by a plugin; renewed when it expires or is refused.

use std::path::PathBuf;
use std::sync::Arc;

use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use super::exec::{ExecError, Plugin};
use super::pem::Identity;
use crate::Secret;

/// Where credentials come from.
#[derive(Debug)]
pub(crate) enum Credentials {
    /// Nowhere; a client certificate may still say who we are.
    Anonymous,
    /// A fixed bearer token.
    Token(Secret),
    /// A user with a password.
    Basic { user: String, password: Secret },
    /// A file that somebody keeps fresh; `fallback` while it cannot be read.
    TokenFile { path: PathBuf, fallback: Option<Secret> },
    /// A program.
    Exec(Box<Plugin>),
}

/// What is added to a request.
#[derive(Debug, Default)]
pub(crate) struct Credential {
    /// The `Authorization` header, marked as sensitive.
    pub(crate) authorization: Option<HeaderValue>,
    /// A certificate that came with it, in place of the connection's own.
    pub(crate) identity: Option<Identity>,
    expires: Option<Timestamp>,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialError {
    #[error(transparent)]
    Exec(#[from] ExecError),
    #[error("cannot read the token file {}", path.display())]
    TokenFile { path: PathBuf, source: std::io::Error },
    #[error("the {0} has characters that no HTTP header can carry")]
    Header(&'static str),
}

/// How long a token read from a file is used before the file is looked at again; client-go's figure.
const FILE_FRESH: SignedDuration = SignedDuration::from_secs(60);

/// Credentials with the last ones obtained. Concurrent callers share one run of a plugin.
#[derive(Debug)]
pub(crate) struct CredentialSource {
    from: Credentials,
    last: Mutex<Option<Arc<Credential>>>,
}

impl CredentialSource {
    pub(crate) fn new(from: Credentials) -> Self {
        Self { from, last: Mutex::new(None) }
    }

    /// Credentials that have not expired.
    pub(crate) async fn current(&self) -> Result<Arc<Credential>, CredentialError> {
        let mut last = self.last.lock().await;
        match &*last {
            Some(credential) if credential.expires.is_none_or(|at| Timestamp::now() < at) => {
                Ok(Arc::clone(credential))
            }
            _ => self.renew(&mut last).await,
        }
    }

    /// Other credentials than `refused`, if there can be any.
    pub(crate) async fn instead_of(
        &self,
        refused: &Arc<Credential>,
    ) -> Result<Option<Arc<Credential>>, CredentialError> {
        if !matches!(self.from, Credentials::Exec(_) | Credentials::TokenFile { .. }) {
            return Ok(None);
        }
        let mut last = self.last.lock().await;
        match &*last {
            // Another request was refused as well and has renewed them already.
            Some(credential) if !Arc::ptr_eq(credential, refused) => Ok(Some(Arc::clone(credential))),
            _ => self.renew(&mut last).await.map(Some),
        }
    }

    async fn renew(&self, last: &mut Option<Arc<Credential>>) -> Result<Arc<Credential>, CredentialError> {
        let credential = Arc::new(self.obtain().await?);
        *last = Some(Arc::clone(&credential));
        Ok(credential)
    }

    async fn obtain(&self) -> Result<Credential, CredentialError> {
        match &self.from {
            Credentials::Anonymous => Ok(Credential::default()),
            Credentials::Token(token) => {
                Ok(Credential { authorization: Some(bearer(token)?), ..Credential::default() })
            }
            Credentials::Basic { user, password } => {
                Ok(Credential { authorization: Some(basic(user, password)?), ..Credential::default() })
            }
            Credentials::TokenFile { path, fallback } => {
                let token = match (std::fs::read_to_string(path), fallback) {
                    (Ok(token), _) => Secret::from(token.trim()),
                    (Err(_), Some(fallback)) => fallback.clone(),
                    (Err(source), None) => {
                        return Err(CredentialError::TokenFile { path: path.clone(), source });
                    }
                };
                let expires = Some(Timestamp::now() + FILE_FRESH);
                Ok(Credential { authorization: Some(bearer(&token)?), expires, identity: None })
            }
            Credentials::Exec(plugin) => {
                tracing::debug!("running the credential plugin");
                let printed = plugin.run().await?;
                Ok(Credential {
                    authorization: printed.token.as_ref().map(bearer).transpose()?,
                    identity: printed.identity,
                    expires: printed.expires,
                })
            }
        }
    }
}

fn bearer(token: &Secret) -> Result<HeaderValue, CredentialError> {
    sensitive(format!("Bearer {}", token.expose()), "token")
}

fn basic(user: &str, password: &Secret) -> Result<HeaderValue, CredentialError> {
    use base64::Engine as _;
    let pair = base64::prelude::BASE64_STANDARD.encode(format!("{user}:{}", password.expose()));
    sensitive(format!("Basic {pair}"), "user name")
}

fn sensitive(text: String, what: &'static str) -> Result<HeaderValue, CredentialError> {
    let mut value = HeaderValue::try_from(text).map_err(|_| CredentialError::Header(what))?;
    value.set_sensitive(true);
    Ok(value)
}
