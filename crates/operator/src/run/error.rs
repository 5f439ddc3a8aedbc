//! Why an operator does not start or keep running.

use diag::Diagnostic;

use crate::codes;
use crate::install::InstallError;
use crate::rivals::Rival;
use crate::runtime::health::ListenError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Connect(Box<cluster::ConnectError>),
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error("{} is running: {} holds the lease {}", .0.engine, .0.holder, .0.lease)]
    Rival(Rival),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("controller {controller} stopped unexpectedly")]
    ControllerEnded { controller: &'static str },
}

impl Error {
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Listen(error) => {
                let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
                let diagnostic = Diagnostic::error(codes::LISTEN, error.to_string()).detail(why);
                let flag = format!("--{}-address", error.purpose);
                if error.is_taken() {
                    diagnostic.hint(format!("Choose another port with {flag}, or turn it off with `{flag} off`."))
                } else {
                    diagnostic.hint(format!("Choose an address of this machine with {flag}, or turn it off with `{flag} off`."))
                }
            }
            Self::Connect(error) => error.diagnostic(),
            Self::Cluster(error) | Self::Install(InstallError::Cluster(error)) => {
                error.diagnostic("Start Operator")
            }
            Self::Rival(rival) => Diagnostic::error(codes::RIVAL, self.to_string())
                .detail(format!(
                    "Two engines for the same objects would undo each other's work. {} was renewed a moment ago by {}.",
                    rival.lease, rival.holder
                ))
                .hint("Scale it down and start again, or start anyway with --take-over."),
            Self::Install(error @ InstallError::NotServed { .. }) => {
                Diagnostic::error(codes::DEFINITION, error.to_string())
                    .hint("Another definition may use its names: list all of them with `kubectl get crds`.")
            }
            Self::ControllerEnded { .. } => Diagnostic::error(codes::CONTROLLER_ENDED, self.to_string())
                .hint("Report it with the log. A restart continues from what is stored in the cluster."),
        }
    }
}
