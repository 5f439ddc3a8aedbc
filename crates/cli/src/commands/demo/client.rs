//! The program that applies and plans in the demo: Terraform or OpenTofu if installed, otherwise plimsoll itself.

use std::path::Path;

use cluster::Session;
use serde_json::Value;

use super::plimsoll::Plimsoll;
use super::terraform::Terraform;
use crate::support::exit::Failure;

pub(super) enum Client {
    Terraform(Terraform),
    Plimsoll(Plimsoll),
}

impl Client {
    /// The command line of `apply` or `plan`, as typed.
    pub(super) fn command(&self, verb: &str) -> String {
        match self {
            Self::Terraform(terraform) => format!("{} {verb}", terraform.name),
            Self::Plimsoll(_) => format!("plimsoll {}", Plimsoll::arguments(verb).join(" ")),
        }
    }

    /// Applies everything and waits for the endpoint; returns a line about the result.
    pub(super) async fn apply(&self, session: &Session) -> Result<String, Failure> {
        match self {
            Self::Terraform(terraform) => terraform.apply().await,
            Self::Plimsoll(plimsoll) => plimsoll.apply(session).await,
        }
    }

    /// The endpoint that the demo waited for, and what came with it.
    pub(super) async fn value(&self, session: &Session) -> Result<(String, Value), Failure> {
        match self {
            Self::Terraform(terraform) => Ok((terraform.endpoint().await?, terraform.status().await?)),
            Self::Plimsoll(plimsoll) => plimsoll.value(session).await,
        }
    }

    /// What the next plan says about drift.
    pub(super) async fn drift(&self) -> Result<String, Failure> {
        match self {
            Self::Terraform(terraform) => terraform.warning().await,
            Self::Plimsoll(plimsoll) => plimsoll.drift().await,
        }
    }

    /// Where its files are, and the command that plans there.
    pub(super) fn place(&self) -> (&Path, String) {
        match self {
            Self::Terraform(terraform) => (terraform.folder(), format!("{} plan", terraform.name)),
            Self::Plimsoll(plimsoll) => (plimsoll.folder(), self.command("plan")),
        }
    }
}
