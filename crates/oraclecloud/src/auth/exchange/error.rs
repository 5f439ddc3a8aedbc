//! Why no token was issued. Errors contain neither keys nor tokens.

use std::path::PathBuf;

use crate::error::ErrorKind;
use crate::key::KeyError;

#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// Nothing is configured, and there is no metadata service either.
    #[error(
        "no credentials are configured: there is no Secret ocicredentials, no environment variable AUTH_TYPE, no \
         configuration file, and no metadata service of Oracle Cloud at {at}"
    )]
    NotConfigured { at: String, source: Box<ErrorKind> },
    #[error(
        "the metadata service at {at} does not return {what}; an instance principal needs an instance of Oracle Cloud"
    )]
    Metadata { at: String, what: &'static str, source: Box<ErrorKind> },
    #[error("{what} from the metadata service at {at} is unusable")]
    Identity { what: &'static str, at: String, source: Option<KeyError> },
    #[error("the certificate of the instance names no tenancy: its subject has no opc-tenant")]
    NoTenancy,
    /// The machine now belongs to another tenant.
    #[error(
        "the tenancy of the instance's certificate changed from {before} to {now}; restart to accept the new one"
    )]
    Tenancy { before: String, now: String },
    #[error("cannot read {}; a workload identity needs the token and the CA certificate of a service account", path.display())]
    Account { path: PathBuf, source: std::io::Error },
    #[error("{} contains no CA certificate", path.display())]
    Authority { path: PathBuf },
    #[error("{at} issued no token{hint}")]
    Issuer { at: String, hint: &'static str, source: Box<ErrorKind> },
    #[error("no usable token from {at}: {problem}")]
    Token { at: String, problem: &'static str },
    #[error("cannot generate a session key")]
    SessionKey(#[source] KeyError),
}

impl ExchangeError {
    /// Whether a retry may help soon.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Metadata { source, .. } | Self::Issuer { source, .. } => match &**source {
                ErrorKind::Response(response) => {
                    response.status >= 500 || matches!(response.status, 408 | 429)
                }
                _ => true,
            },
            _ => false,
        }
    }
}
