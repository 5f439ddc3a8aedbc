//! Credentials for a server: fixed, read from a file, or printed by a plugin; renewed when they expire or are rejected.

use std::path::PathBuf;
use std::sync::Arc;

use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};

use super::exec::{ExecError, Plugin, PluginCredentials};
use super::pem::Identity;
use crate::Secret;
use crate::single_flight::SingleFlight;

/// Where credentials come from.
#[derive(Debug)]
pub(crate) enum Credentials {
    /// No credentials; a client certificate may still authenticate us.
    Anonymous,
    /// Never renewed. Only the token of an OpenID provider is known to expire.
    Token {
        token: Secret,
        expires: Option<Timestamp>,
    },
    Basic {
        user: String,
        password: Secret,
    },
    /// A file that another program keeps fresh; `fallback` is used while it cannot be read.
    TokenFile {
        path: PathBuf,
        fallback: Option<Secret>,
    },
    Exec(Box<Plugin>),
    /// A plugin that is configured beside a kubeconfig and replaces its user.
    OverridingExec(Box<Plugin>),
}

/// What is added to a request.
#[derive(Debug, Default)]
pub(crate) struct Credential {
    /// The `Authorization` header, marked as sensitive.
    pub(crate) authorization: Option<HeaderValue>,
    /// A certificate issued with the credentials, which replaces the connection's own.
    pub(crate) identity: Option<Identity>,
    expires: Option<Timestamp>,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialError {
    #[error(transparent)]
    Exec(#[from] ExecError),
    #[error("{0}; `exec` overrides the user of the kubeconfig")]
    OverridingExec(ExecError),
    #[error("cannot read the token file {}", path.display())]
    TokenFile { path: PathBuf, source: std::io::Error },
    #[error("the {0} contains characters that HTTP headers do not allow")]
    Header(&'static str),
    #[error(
        "the id-token in the kubeconfig (auth-provider oidc) expired at {0} and is not refreshed automatically"
    )]
    IdTokenExpired(Timestamp),
}

impl CredentialError {
    pub(crate) const fn advice(&self) -> &'static str {
        match self {
            Self::Exec(_) => {
                "Run the credential plugin by hand to see what it needs, or log in with it first."
            }
            Self::OverridingExec(_) => {
                "Remove `exec` to use the credentials of the kubeconfig, or run the credential plugin by hand to see what it needs."
            }
            Self::TokenFile { .. } | Self::Header(_) => "Check the token, and the file that it comes from.",
            Self::IdTokenExpired(_) => {
                "Refresh it with kubectl (`kubectl get namespaces` with the same kubeconfig), or replace auth-provider with an exec plugin such as `kubectl oidc-login`."
            }
        }
    }
}

/// How long a token read from a file is used before the file is read again; the same as in client-go.
const FILE_FRESH: SignedDuration = SignedDuration::from_secs(60);

/// Credentials with the last ones obtained. Concurrent callers share one run of a plugin, including its failure.
#[derive(Debug)]
pub(crate) struct CredentialSource {
    from: Arc<Credentials>,
    request: SingleFlight<Arc<Credential>, Arc<CredentialError>>,
}

impl CredentialSource {
    pub(crate) fn new(from: Credentials) -> Self {
        Self { from: Arc::new(from), request: SingleFlight::default() }
    }

    /// Credentials that have not expired.
    pub(crate) async fn current(&self) -> Result<Arc<Credential>, Arc<CredentialError>> {
        match self.request.last() {
            Some((_, last)) if last.expires.is_none_or(|at| Timestamp::now() < at) => Ok(last),
            last => self.after(last).await,
        }
    }

    /// Credentials other than `refused`, if there are any.
    pub(crate) async fn instead_of(
        &self,
        refused: &Arc<Credential>,
    ) -> Result<Option<Arc<Credential>>, Arc<CredentialError>> {
        if !matches!(
            *self.from,
            Credentials::Exec(_) | Credentials::OverridingExec(_) | Credentials::TokenFile { .. }
        ) {
            return Ok(None);
        }
        match self.request.last() {
            // Another request was rejected too and has renewed them already.
            Some((_, last)) if !Arc::ptr_eq(&last, refused) => Ok(Some(last)),
            last => self.after(last).await.map(Some),
        }
    }

    /// Credentials newer than `last`.
    async fn after(
        &self,
        last: Option<(u64, Arc<Credential>)>,
    ) -> Result<Arc<Credential>, Arc<CredentialError>> {
        let number = last.map_or(0, |(number, _)| number);
        let obtain = |from: Arc<Credentials>| async move { Ok(Arc::new(from.obtain().await?)) };
        self.request.after(number, || obtain(Arc::clone(&self.from))).await
    }
}

impl Credential {
    fn header(authorization: HeaderValue, expires: Option<Timestamp>) -> Self {
        Self { authorization: Some(authorization), identity: None, expires }
    }

    fn printed(printed: PluginCredentials) -> Result<Self, CredentialError> {
        Ok(Self {
            authorization: printed.token.as_ref().map(bearer).transpose()?,
            identity: printed.identity,
            expires: printed.expires,
        })
    }
}

impl Credentials {
    async fn obtain(&self) -> Result<Credential, CredentialError> {
        match self {
            Self::Anonymous => Ok(Credential::default()),
            Self::Token { expires: Some(expires), .. } if Timestamp::now() >= *expires => {
                Err(CredentialError::IdTokenExpired(*expires))
            }
            Self::Token { token, expires } => Ok(Credential::header(bearer(token)?, *expires)),
            Self::Basic { user, password } => Ok(Credential::header(basic(user, password)?, None)),
            Self::TokenFile { path, fallback } => {
                let token = match (std::fs::read_to_string(path), fallback) {
                    (Ok(token), _) => Secret::from(token.trim()),
                    (Err(_), Some(fallback)) => fallback.clone(),
                    (Err(source), None) => {
                        return Err(CredentialError::TokenFile { path: path.clone(), source });
                    }
                };
                Ok(Credential::header(bearer(&token)?, Some(Timestamp::now() + FILE_FRESH)))
            }
            Self::Exec(plugin) => Credential::printed(plugin.run().await?),
            Self::OverridingExec(plugin) => {
                Credential::printed(plugin.run().await.map_err(CredentialError::OverridingExec)?)
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
