//! Renders what functions desire: the applies of composed resources.

use std::collections::BTreeMap;

use cluster::Session;
use composition::desired::Rendered;
use composition::health::{ReconcileFailure, Stage};
use composition::object;
use composition::protocol::{Object, State};
use manifest::GroupVersionKind;

use crate::runtime::shard::Shard;

pub(in crate::composition) async fn render(
    session: &Session,
    shard: &Shard,
    xr: &Object,
    observed: &BTreeMap<String, Object>,
    desired: &State,
) -> Result<Rendered, ReconcileFailure> {
    let mut namespaced = BTreeMap::new();
    if object::namespace(xr).is_some() {
        for resource in desired.resources.values() {
            let Ok(gvk) = GroupVersionKind::of(&resource.object) else { continue };
            if let Ok(served) = session.resource(&gvk).await {
                namespaced.insert(gvk, served.namespaced);
            }
        }
    }
    let mut rendered =
        composition::desired::render(xr, observed, desired, |kind| namespaced.get(kind).copied())
            .map_err(|error| ReconcileFailure::engine(Stage::Compose, "Render", error.to_string()))?;
    for composed in rendered.resources.values_mut() {
        shard.carry_over(xr, &mut composed.intent);
    }
    Ok(rendered)
}
