//! Why an operator does not run.

use diag::Diagnostic;

use crate::codes;
use crate::health::ListenError;
use crate::install::InstallError;
use crate::rivals::Rival;

/// Why an operator does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The way to the cluster is not known.
    #[error(transparent)]
    Connect(Box<cluster::ConnectError>),
    /// The cluster does not answer, or not as it should.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// Another engine runs.
    #[error("{} runs: {} holds the lease {}", .0.engine, .0.holder, .0.lease)]
    Rival(Rival),
    /// A definition of our kinds is not served.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A controller ended without being asked to.
    #[error("controller {controller} ended by itself")]
    ControllerEnded {
        /// Which one.
        controller: &'static str,
    },
}

impl Error {
    /// What to tell the person who started the operator.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Listen(error) => {
                let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
                let diagnostic = Diagnostic::error(codes::LISTEN, error.to_string()).detail(why);
                let flag = format!("--{}-address", error.purpose);
                if error.is_taken() {
                    diagnostic.hint(format!("Another program has the port; name another one with {flag}, or `{flag} off`."))
                } else {
                    diagnostic.hint(format!("Name an address of this machine with {flag}, or `{flag} off`."))
                }
            }
            Self::Connect(error) => error.diagnostic(),
            Self::Cluster(error) | Self::Install(InstallError::Cluster(error)) => {
                error.diagnostic("Start Operator")
            }
            Self::Rival(rival) => Diagnostic::error(codes::RIVAL, self.to_string())
                .detail(format!(
                    "Two engines for the same objects undo each other's work, so this one does not start. {} has been renewed a moment ago by {}.",
                    rival.lease, rival.holder
                ))
                .hint("Scale it down and start again; --take-over starts all the same."),
            Self::Install(error @ InstallError::NotServed { .. }) => {
                Diagnostic::error(codes::DEFINITION, error.to_string())
                    .hint("Another definition may have its names: `kubectl get crds` shows all of them.")
            }
            Self::ControllerEnded { .. } => Diagnostic::error(codes::CONTROLLER_ENDED, self.to_string())
                .hint("Please report it, with the log; starting again goes on from what is on record."),
        }
    }
}
