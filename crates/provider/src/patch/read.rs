//! Refreshes a patch without writing: the plan shows what has drifted.

use manifest::secret;
use ownership::{Desired, FieldManager, Observed};
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::Value;

use super::{NO_CLIENT, manager, observed, reference, write_only};
use crate::context::Context;
use crate::private::{BASELINE, Keys as _, MASK_KEY};
use crate::projection::{self, MANAGERS, Maps, VALUES};
use crate::{cluster_identity, refresh};

pub(super) async fn read(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match refresh::cluster(context, &request.state, NO_CLIENT) {
        Ok(cluster) => cluster,
        Err(diagnostics) => return refresh::unchanged(request, diagnostics),
    };
    let Ok(reference) = reference(&request.state) else { return request.unchanged() };
    let (target, reply) = match reference.look(cluster.session()).await {
        Ok((target, Some(reply))) => (target, reply),
        Ok((target, None)) => return refresh::absent(request, &cluster, &target.to_string()).await,
        Err(error) if error.is_kind_absent() => {
            return refresh::absent(request, &cluster, "The target of this patch").await;
        }
        Err(error) => {
            let failed = refresh::prior_state_used(&error);
            let failed = failed.unwrap_or_else(|| error.diagnostic("Read Target Resource"));
            return refresh::unchanged(request, failed);
        }
    };
    let manager = manager(request.state.text("id"));
    let warnings = reply.diagnostics(&target);
    let live = match observed(&target, reply.object) {
        Ok(live) => live,
        Err(unreadable) => return refresh::unchanged(request, unreadable),
    };
    if !is_held(&live, &manager) && cluster_identity::differs(&request.private, &cluster).await {
        return refresh::unchanged(request, cluster_identity::in_another_cluster(&target.to_string()));
    }
    let mut response = request.unchanged();
    response.diagnostics.add(warnings);
    if let Some(state) = &mut response.state {
        let marks = crate::write_only::stored(&response.private);
        let content = write_only::content(state, marks.as_ref()).and_then(Result::ok);
        let body = content.as_ref().and_then(|content| content.body(&target));
        let live = write_only::hidden(&live, marks.as_ref()).unwrap_or(live);
        let private = &mut response.private;
        if secret::is_secret(live.object()) && !private.has(MASK_KEY) && !private.has(BASELINE) {
            private.renew_mask_key();
        }
        let written = body.as_ref().unwrap_or(live.object());
        let mut maps = Maps::of_patch(&live, &manager, written, &private.mask_key());
        if let Some(marks) = &marks {
            let desired = Desired::new(&manager, written);
            crate::write_only::show(&mut maps.values, marks, &live, &desired);
        }
        // Only server-side apply has values to show.
        let values = body.map_or(Value::Null, |_| projection::attribute(&maps.values));
        state.set(VALUES, values);
        state.set(MANAGERS, projection::attribute(&maps.managers));
    }
    response
}

/// Whether `manager` has an entry. A target without one may be in another cluster.
fn is_held(object: &Observed, manager: &FieldManager) -> bool {
    object.managed().entries().iter().any(|entry| entry.manager == *manager)
}
