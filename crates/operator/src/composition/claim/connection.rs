//! Copies the connection details of an XR to a Secret in the namespace of its claim.

use composition::composite::{Composite, Layout};
use composition::connection::{self, propagate};
use composition::naming::CLAIM_MANAGER;
use composition::object;
use composition::protocol::Object;
use serde_json::Value;

use super::Binder;
use super::reconcile::{ClaimFailure, Result};
use crate::runtime::controller::ReconcileError;

const PROPAGATE: &str = "PropagateConnectionSecret";
const WHAT: &str = "cannot propagate connection details from composite resource";

impl Binder {
    /// Copies the XR's Secret if the claim asks for it; whether the copy was written.
    pub(super) async fn propagate(&self, claim: &Object, xr: &Object) -> Result<bool> {
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
        let written = self.engine.client.apply(&copy, CLAIM_MANAGER).await;
        let what = format!("{WHAT}: cannot create or update connection secret");
        written.map_err(|error| ClaimFailure::api(PROPAGATE, &what, &error))?;
        Ok(true)
    }

    async fn read_secret(&self, namespace: &str, name: &str) -> Result<Option<Object>> {
        let read = self.engine.client.read(&connection::secret_ref(namespace, name)).await;
        read.map_err(|error| failed(&error.text()))
    }
}

fn failed(why: &str) -> ReconcileError<ClaimFailure> {
    ClaimFailure::new(PROPAGATE, format!("{WHAT}: {why}")).into()
}
