//! A running server, and its controls beyond the API.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{ServeError, Shared};
use crate::clock::Clock;
use crate::fault::Faults;
use crate::ids::COMPARTMENT;
use crate::journal::Journal;
use crate::timeline::TimelineRule;

pub struct Server {
    pub(super) address: SocketAddr,
    pub(super) config_file: PathBuf,
    pub(super) shared: Arc<Shared>,
    pub(super) task: JoinHandle<()>,
    pub(super) _temporary: Option<TempDir>,
}

impl Server {
    /// For `--oci-endpoint`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A configuration file whose profile `DEFAULT` has access.
    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// A compartment to use; any other OCID works as well.
    pub fn compartment(&self) -> &'static str {
        COMPARTMENT
    }

    /// The settings of a client, as the command line prints them.
    pub fn announcement(&self) -> Value {
        json!({"url": self.url(), "configFile": self.config_file, "compartment": self.compartment()})
    }

    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Revokes access to a compartment: it and its resources appear not to exist.
    pub fn revoke(&self, compartment: &str) {
        self.shared.cloud().revoked.insert(compartment.to_owned());
    }

    pub fn grant(&self, compartment: &str) {
        self.shared.cloud().revoked.remove(compartment);
    }

    /// Adds a timeline that takes precedence over all earlier ones.
    pub fn set_timeline(&self, timeline: TimelineRule) {
        self.shared.cloud().script.timelines.insert(0, timeline);
    }

    /// Limits the entries per page.
    pub fn set_page_size(&self, size: Option<usize>) {
        self.shared.cloud().script.page_size = size;
    }

    /// Every resource as a read returns it, even those that lag hides.
    pub fn resources(&self) -> Vec<Value> {
        self.shared.cloud().resources(self.shared.clock.now())
    }

    /// What the fields of a resource hold that no read returns, by name.
    pub fn secrets(&self, id: &str) -> Vec<(String, String)> {
        self.shared.cloud().secrets(id)
    }

    /// Changes fields of a resource without a request, including `lifecycleState`; returns whether it exists.
    pub fn edit(&self, id: &str, change: &Map<String, Value>) -> bool {
        self.shared.cloud().edit(id, change, self.shared.clock.now())
    }

    /// Removes a resource without a request; returns whether it existed.
    pub fn remove(&self, id: &str) -> bool {
        self.shared.cloud().remove(id)
    }

    /// Opens a session; returns the configuration file with its profile `SESSION`. Opening it again replaces the key and
    /// the token in the same files.
    pub fn open_session(&self, expires: Timestamp) -> Result<PathBuf, ServeError> {
        let config_file = self.shared.federation().keys.open_session(expires);
        config_file.map_err(|source| ServeError::Keys(Box::new(source)))
    }

    /// The metadata service of an instance, for `OCI_METADATA_BASE_URL`.
    pub fn metadata_url(&self) -> String {
        format!("{}/opc/v2", self.url())
    }

    /// Replaces the instance's certificate and key.
    pub fn rotate_instance(&self) {
        self.shared.federation().rotate();
    }

    /// Moves the instance to another tenancy.
    pub fn move_instance(&self, tenancy: &str) {
        let mut federation = self.shared.federation();
        tenancy.clone_into(&mut federation.tenancy);
        federation.rotate();
    }

    /// Of tokens issued from now on.
    pub fn set_token_lifetime(&self, lifetime: SignedDuration) {
        self.shared.federation().lifetime = lifetime;
    }

    pub fn revoke_tokens(&self) {
        self.shared.federation().keys.revoke_tokens();
    }

    /// Trusts a service account by its token; the first call ends the trust in all others.
    pub fn trust_account(&self, token: &str) {
        self.shared.federation().accounts.push(token.into());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
