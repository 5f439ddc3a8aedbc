//! What a reconcile reaches the cloud with: a client, the identity behind it, and what the administrator allows.

use diag::Diagnostic;
use operations::{Identity, Policy};
use oraclecloud::Client;

pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) identity: Identity,
    pub(super) policy: Policy,
    /// What an administrator should know; the same at every reconcile.
    pub(super) warnings: Vec<Diagnostic>,
}
