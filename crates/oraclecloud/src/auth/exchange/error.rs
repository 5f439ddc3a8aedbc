//! What can go wrong between us and whoever vouches for us. Neither keys nor tokens are in it.

use std::path::PathBuf;

use crate::error::ErrorKind;
use crate::key::KeyError;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// Nobody said who we are, and there is no metadata service either.
    #[error(
        "nothing says who we are: there is no Secret ocicredentials, no variable AUTH_TYPE, no configuration file, \
         and no metadata service of Oracle Cloud at {at}"
    )]
    Nobody {
        /// Where it would be.
        at: String,
        /// What came instead.
        source: Box<ErrorKind>,
    },
    /// The metadata service does not give what it should.
    #[error(
        "the metadata service at {at} does not give {what}; an instance principal needs an instance of Oracle Cloud"
    )]
    Metadata {
        /// Where it should be.
        at: String,
        /// What was asked for.
        what: &'static str,
        /// What came instead.
        source: Box<ErrorKind>,
    },
    /// The metadata service gave something else.
    #[error("{what} of the metadata service at {at} cannot be used")]
    Identity {
        /// Which part.
        what: &'static str,
        /// Where it came from.
        at: String,
        /// Why not, when it is the key.
        source: Option<KeyError>,
    },
    /// The certificate says nothing about its tenancy.
    #[error("the certificate of the instance names no tenancy: its subject has no opc-tenant")]
    NoTenancy,
    /// The machine became somebody else's.
    #[error(
        "the certificate of the instance was of tenancy {before} and is now of {now}; restart to accept that"
    )]
    Tenancy {
        /// Whose it was.
        before: String,
        /// Whose it is.
        now: String,
    },
    /// A file of the pod's account cannot be read.
    #[error("cannot read {}; a workload identity needs the token and the certificate of a service account", path.display())]
    Account {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file with the cluster's authority has none.
    #[error("{} has no certificate of an authority", path.display())]
    Authority {
        /// Which file.
        path: PathBuf,
    },
    /// The issuer does not give a token.
    #[error("{at} gives no token{hint}")]
    Issuer {
        /// Where it is.
        at: String,
        /// What to look at, when the answer tells.
        hint: &'static str,
        /// What came instead.
        source: Box<ErrorKind>,
    },
    /// The issuer gave something else.
    #[error("the answer of {at} {problem}")]
    Token {
        /// Where it is.
        at: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The system could not make a key.
    #[error("no key for a session")]
    SessionKey(#[source] KeyError),
}

impl ExchangeError {
    /// Whether asking again soon may help.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Metadata { source, .. } | Self::Issuer { source, .. } => match &**source {
                ErrorKind::Response(answer) => answer.status >= 500 || matches!(answer.status, 408 | 429),
                _ => true,
            },
            _ => false,
        }
    }
}
