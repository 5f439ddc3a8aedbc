//! A claim gets a copy of its XR's connection details, in a Secret beside it.

use composition::composite::{Composite, Layout};
use composition::connection;
use composition::connection::propagate;
use composition::naming::CLAIM_MANAGER;
use composition::object;
use composition::run::Object;
use serde_json::Value;

use super::Binder;
use super::pass::Stopped;
use crate::composition::writer::said;

const PROPAGATE: &str = "PropagateConnectionSecret";
const WHAT: &str = "cannot propagate connection details from composite resource";

impl Binder {
    /// Copies the XR's Secret if the claim wants one; whether there was something to write.
    pub(super) async fn propagate(&self, claim: &Object, xr: &Object) -> Result<bool, Stopped> {
        let wanted = object::nested(claim, &["spec", "writeConnectionSecretToRef", "name"]);
        let (Some(name), Some((source_namespace, source_name))) =
            (wanted.and_then(Value::as_str), Composite::new(xr, Layout::Legacy).connection_secret())
        else {
            return Ok(false);
        };
        let Some(source) = self.read_secret(source_namespace, source_name).await? else {
            return Err(failed(&format!(
                "cannot get composite resource's connection secret: secrets {source_name:?} not found"
            )));
        };
        let namespace = object::namespace(claim).unwrap_or_default();
        let existing = self.read_secret(namespace, name).await?;
        let copy = propagate(claim, name, xr, &source, existing.as_ref())
            .map_err(|error| failed(&error.to_string()))?;
        let Some(copy) = copy else { return Ok(false) };
        let written = self.engine.writer.apply(&copy, CLAIM_MANAGER).await;
        let what = format!("{WHAT}: cannot create or update connection secret");
        written.map_err(|error| Stopped::by(PROPAGATE, &what, &error))?;
        Ok(true)
    }

    async fn read_secret(&self, namespace: &str, name: &str) -> Result<Option<Object>, Stopped> {
        match self.engine.session.read(&connection::secret_ref(namespace, name)).await {
            Ok(found) => Ok(found.map(|reply| object::from_value(reply.object))),
            Err(error) => Err(failed(&said(&error))),
        }
    }
}

fn failed(why: &str) -> Stopped {
    Stopped::Failed { reason: PROPAGATE, text: format!("{WHAT}: {why}") }
}
