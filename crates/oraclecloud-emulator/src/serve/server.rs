//! A running server, and what can be done to it from outside of its API.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{ServeError, Shared};
use crate::clock::Clock;
use crate::fault::Faults;
use crate::identity::COMPARTMENT;
use crate::journal::Journal;
use crate::timeline::TimelineFor;

/// A running server and everything one can do to it.
pub struct Server {
    pub(super) address: SocketAddr,
    pub(super) config_file: PathBuf,
    pub(super) shared: Arc<Shared>,
    pub(super) task: JoinHandle<()>,
    pub(super) _temporary: Option<TempDir>,
}

impl Server {
    /// Its address, for `--oci-endpoint`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A configuration file whose profile `DEFAULT` may call it.
    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// A compartment to use; any other name works as well.
    pub fn compartment(&self) -> &'static str {
        COMPARTMENT
    }

    /// What a client needs to know, as the command line prints it.
    pub fn announcement(&self) -> Value {
        json!({"url": self.url(), "configFile": self.config_file, "compartment": self.compartment()})
    }

    /// Faults on order.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// The requests so far.
    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// The server's time.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Revokes the policy of a compartment: whatever is in it, and the compartment itself, cannot be found any more.
    pub fn revoke(&self, compartment: &str) {
        self.shared.cloud().revoked.insert(compartment.to_owned());
    }

    /// Grants it again.
    pub fn grant(&self, compartment: &str) {
        self.shared.cloud().revoked.remove(compartment);
    }

    /// Sets how operations go from now on, before all that was set earlier.
    pub fn set_timeline(&self, timeline: TimelineFor) {
        self.shared.cloud().script.timelines.insert(0, timeline);
    }

    /// Sets the most entries on a page; as many as asked for when none.
    pub fn set_page_size(&self, size: Option<usize>) {
        self.shared.cloud().script.page_size = size;
    }

    /// Every Queue and Stream that has not vanished, as a read would show it, those hidden by lag included.
    pub fn resources(&self) -> Vec<Value> {
        self.shared.cloud().resources(self.shared.clock.now())
    }

    /// Changes fields of a resource behind everyone's back, `lifecycleState` too; whether there is such a resource.
    pub fn edit(&self, id: &str, change: &Map<String, Value>) -> bool {
        self.shared.cloud().edit(id, change, self.shared.clock.now())
    }

    /// Removes a resource behind everyone's back; whether there was one.
    pub fn forget(&self, id: &str) -> bool {
        self.shared.cloud().forget(id)
    }

    /// Opens a session that expires then, and gives the configuration file with its profile `SESSION`. Opened again,
    /// the same files get a new key and a new token.
    pub fn open_session(&self, expires: Timestamp) -> Result<PathBuf, ServeError> {
        let keys = self.shared.keys.lock().unwrap_or_else(PoisonError::into_inner).open_session(expires);
        keys.map_err(|source| ServeError::Keys(Box::new(source)))
    }

    /// Where the metadata service of an instance is, for `OCI_METADATA_BASE_URL`.
    pub fn metadata_url(&self) -> String {
        format!("{}/opc/v2", self.url())
    }

    /// Gives the instance another certificate and another key.
    pub fn rotate_instance(&self) {
        self.shared.federation().rotate();
    }

    /// Makes the instance one of another tenancy.
    pub fn move_instance(&self, tenancy: &str) {
        let mut federation = self.shared.federation();
        tenancy.clone_into(&mut federation.tenancy);
        federation.rotate();
    }

    /// Sets how long tokens are good for that are issued from now on.
    pub fn set_token_lifetime(&self, lifetime: SignedDuration) {
        self.shared.federation().lifetime = lifetime;
    }

    /// Withdraws every token that was issued.
    pub fn withdraw_tokens(&self) {
        self.shared.keys.lock().unwrap_or_else(PoisonError::into_inner).withdraw_tokens();
    }

    /// Knows a service account by its token, and no longer any that it was not told of.
    pub fn know_account(&self, token: &str) {
        self.shared.federation().accounts.push(token.into());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
