//! Connection details of a legacy XR go into the Secret it names.

use composition::composite::Composite;
use composition::connection::{filter, publish};
use composition::health::{PassFailure, Stage};
use composition::naming::COMPOSITE_MANAGER;
use composition::run::{Object, SecretData};
use composition::{connection, object};
use jiff::Timestamp;

use super::{Composer, Stopped};
use crate::composition::writer::said;

impl Composer {
    /// Publishes `details`; when, if there was something to write.
    pub(super) async fn publish(
        &self,
        xr: &Object,
        details: &SecretData,
    ) -> Result<Option<Timestamp>, Stopped> {
        let Some((namespace, name)) = Composite::new(xr, self.layout).connection_secret() else {
            return Ok(None);
        };
        let failed = |class: String, text: String| PassFailure::engine(Stage::Publish, class, text);
        let existing = self.engine.session.read(&connection::secret_ref(namespace, name)).await;
        let existing = existing.map_err(|error| failed(format!("{:?}", error.class()), said(&error)))?;
        let existing = existing.map(|reply| object::from_value(reply.object));
        let details = filter(details, &self.kind.definition.spec.connection_secret_keys);
        let secret = publish(xr, (namespace, name), &details, existing.as_ref())
            .map_err(|error| failed("Secret".to_owned(), error.to_string()))?;
        let Some(secret) = secret else { return Ok(None) };
        let written = self.engine.writer.apply(&secret, COMPOSITE_MANAGER).await;
        written.map_err(|error| Stopped::by(Stage::Publish, "", &error))?;
        Ok(Some(Timestamp::now()))
    }
}
