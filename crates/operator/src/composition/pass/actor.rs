//! Who writes the composed resources of an XR: the operator, or a ServiceAccount of the tenant it is for.

use composition::composite::Composite;
use composition::health::{ReconcileFailure, Stage};
use composition::protocol::Object;
use composition::service_account::ServiceAccount;

use crate::runtime::client::ObjectClient;

pub(in crate::composition) struct Actor {
    /// `None` for the operator itself.
    pub(in crate::composition) account: Option<ServiceAccount>,
    pub(in crate::composition) client: ObjectClient,
}

impl Actor {
    /// The account that `composition` names, else `default`, acts in place of `client`.
    pub(in crate::composition) fn of(
        xr: Composite<'_>,
        composition: Option<&Object>,
        default: Option<&str>,
        client: &ObjectClient,
    ) -> Result<Self, ReconcileFailure> {
        let account = ServiceAccount::of(xr, composition, default).map_err(|error| {
            ReconcileFailure::engine(Stage::Compose, "InvalidServiceAccount", error.to_string())
        })?;
        let client = match &account {
            Some(account) => client.acting_as(&account.user()),
            None => client.clone(),
        };
        Ok(Self { account, client })
    }
}
