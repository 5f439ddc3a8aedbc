//! Looking how the target of a patch is now. Nothing is written: what has drifted shows in the plan.

use cluster::ErrorKind;
use ownership::{FieldManager, ManagedFields};
use serde_json::Value as Json;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::{Object, Value};

use super::content::Content;
use super::shown::Shown;
use super::{NO_CLIENT, manager, projection_failed, reference};
use crate::clusters::Cluster;
use crate::context::Context;
use crate::{projection, reading, whereabouts};

pub(super) async fn read(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match reading::cluster(context, &request.state, NO_CLIENT) {
        Ok(cluster) => cluster,
        Err(told) => return reading::kept(request, told),
    };
    let Ok(reference) = reference(&request.state) else { return request.unchanged() };
    let (target, reply) = match reference.look(cluster.session()).await {
        Ok((target, Some(reply))) => (target, reply),
        Ok((target, None)) => return absent(request, &cluster, &target.to_string()).await,
        Err(error) if matches!(error.kind(), ErrorKind::KindMissing(_)) => {
            return absent(request, &cluster, "The target of this patch").await;
        }
        Err(error) => {
            let told = error.diagnostic("Read Target Resource");
            let told = if reading::is_refusal(&error) { reading::prior_state_used(&told) } else { told };
            return reading::kept(request, told);
        }
    };
    if !is_held(&reply.object, &manager(request.state.text("id")))
        && whereabouts::is_elsewhere(&request.private, &cluster).await
    {
        return reading::kept(request, whereabouts::elsewhere(&target.to_string()));
    }
    let mut response = request.unchanged();
    response.diagnostics.add(reply.diagnostics(&target));
    if let Some(state) = &mut response.state {
        let content = Content::of(state).and_then(Result::ok);
        let body = content.as_ref().and_then(|content| content.body(&target));
        let manager = manager(state.text("id"));
        match Shown::of(&reply.object, &manager, body.as_ref().unwrap_or(&reply.object)) {
            Ok(shown) => keep(state, &shown, body.as_ref()),
            Err(error) => response.diagnostics.add(projection_failed(&target, &error)),
        }
    }
    response
}

/// Puts the maps into a state; only server-side apply has values to show.
pub(super) fn keep(state: &mut Object, shown: &Shown, body: Option<&Json>) {
    let values = body.map_or(Value::Null, |_| projection::attribute(&shown.values));
    state.set("managed_state_projection", values);
    state.set("managed_fields", projection::attribute(&shown.managers));
}

/// The target is not there. That counts only in the cluster that was patched.
async fn absent(request: ReadRequest, cluster: &Cluster, what: &str) -> ReadResponse {
    if whereabouts::is_elsewhere(&request.private, cluster).await {
        return reading::kept(request, whereabouts::elsewhere(what));
    }
    ReadResponse::default()
}

/// Whether `manager` has an entry. A target without one may be that of another cluster.
fn is_held(object: &Json, manager: &FieldManager) -> bool {
    let managed = ManagedFields::of(object).unwrap_or_default();
    managed.entries().iter().any(|entry| entry.manager == *manager)
}
