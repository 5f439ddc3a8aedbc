//! Who writes the composed resources of an XR: the operator, or a ServiceAccount of the tenant it is for.

use composition::composite::Composite;
use composition::health::{ReconcileFailure, Stage};
use composition::protocol::Object;
use composition::service_account::ServiceAccount;

use super::Composer;
use crate::runtime::client::ObjectClient;

pub(super) struct Actor {
    /// `None` for the operator itself.
    pub(super) account: Option<ServiceAccount>,
    pub(super) client: ObjectClient,
}

impl Composer {
    pub(super) fn actor(&self, xr: &Object) -> Result<Actor, ReconcileFailure> {
        let engine = &self.engine;
        let composite = Composite::new(xr, self.layout);
        let composition = composite.composition_ref().and_then(|name| engine.catalogue.composition(name));
        let composition = composition.as_ref().map(|composition| &composition.object);
        let account = ServiceAccount::of(composite, composition, engine.default_service_account.as_deref());
        let account = account.map_err(|error| {
            ReconcileFailure::engine(Stage::Compose, "InvalidServiceAccount", error.to_string())
        })?;
        let client = match &account {
            Some(account) => engine.client.acting_as(&account.user()),
            None => engine.client.clone(),
        };
        Ok(Actor { account, client })
    }
}
