//! Refreshes a patch without writing: the plan shows what has drifted.

use cluster::ErrorKind;
use ownership::{FieldManager, Observed};
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::Value;

use super::content::Content;
use super::maps::PatchMaps;
use super::{NO_CLIENT, manager, observed, reference};
use crate::clusters::Cluster;
use crate::context::Context;
use crate::{projection, reading, whereabouts};

pub(super) async fn read(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match reading::cluster(context, &request.state, NO_CLIENT) {
        Ok(cluster) => cluster,
        Err(diagnostics) => return reading::kept(request, diagnostics),
    };
    let Ok(reference) = reference(&request.state) else { return request.unchanged() };
    let (target, reply) = match reference.look(cluster.session()).await {
        Ok((target, Some(reply))) => (target, reply),
        Ok((target, None)) => return absent(request, &cluster, &target.to_string()).await,
        Err(error) if matches!(error.kind(), ErrorKind::KindMissing(_)) => {
            return absent(request, &cluster, "The target of this patch").await;
        }
        Err(error) => {
            let failed = error.diagnostic("Read Target Resource");
            let failed =
                if reading::is_refusal(&error) { reading::prior_state_used(&failed) } else { failed };
            return reading::kept(request, failed);
        }
    };
    let manager = manager(request.state.text("id"));
    let warnings = reply.diagnostics(&target);
    let live = match observed(&target, reply.object) {
        Ok(live) => live,
        Err(unreadable) => return reading::kept(request, unreadable),
    };
    if !is_held(&live, &manager) && whereabouts::is_elsewhere(&request.private, &cluster).await {
        return reading::kept(request, whereabouts::elsewhere(&target.to_string()));
    }
    let mut response = request.unchanged();
    response.diagnostics.add(warnings);
    if let Some(state) = &mut response.state {
        let content = Content::of(state).and_then(Result::ok);
        let body = content.as_ref().and_then(|content| content.body(&target));
        let maps = PatchMaps::of(&live, &manager, body.as_ref().unwrap_or(live.object()));
        // Only server-side apply has values to show.
        let values = body.map_or(Value::Null, |_| projection::attribute(&maps.values));
        state.set("managed_state_projection", values);
        state.set("managed_fields", projection::attribute(&maps.managers));
    }
    response
}

/// Handles a target that does not exist. That counts only in the cluster that was patched.
async fn absent(request: ReadRequest, cluster: &Cluster, what: &str) -> ReadResponse {
    if whereabouts::is_elsewhere(&request.private, cluster).await {
        return reading::kept(request, whereabouts::elsewhere(what));
    }
    ReadResponse::default()
}

/// Whether `manager` has an entry. A target without one may be in another cluster.
fn is_held(object: &Observed, manager: &FieldManager) -> bool {
    object.managed().entries().iter().any(|entry| entry.manager == *manager)
}
