//! Publishes the connection details of a legacy XR to the Secret it names.

use composition::composite::Composite;
use composition::connection::{self, filter, publish};
use composition::health::{ReconcileFailure, Stage};
use composition::naming::COMPOSITE_MANAGER;
use composition::protocol::{Object, SecretData};
use jiff::Timestamp;

use super::{Composer, Result, failed};

impl Composer {
    /// Publishes `details`; when, if the Secret was written.
    pub(super) async fn publish(&self, xr: &Object, details: &SecretData) -> Result<Option<Timestamp>> {
        let Some((namespace, name)) = Composite::new(xr, self.layout).connection_secret() else {
            return Ok(None);
        };
        let existing = self.engine.client.read(&connection::secret_ref(namespace, name)).await;
        let existing = existing
            .map_err(|error| ReconcileFailure::engine(Stage::Publish, error.class(), error.text()))?;
        let details = filter(details, &self.kind.definition.spec.connection_secret_keys);
        let secret = publish(xr, (namespace, name), &details, existing.as_ref())
            .map_err(|error| ReconcileFailure::engine(Stage::Publish, "Secret", error.to_string()))?;
        let Some(secret) = secret else { return Ok(None) };
        let written = self.engine.client.apply(&secret, COMPOSITE_MANAGER).await;
        written.map_err(|error| failed(Stage::Publish, "", &error))?;
        Ok(Some(self.engine.clock.now()))
    }
}
