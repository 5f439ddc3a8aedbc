//! `function-auto-ready`: marks composed resources ready, by the same rules as a wait or `plimsoll tree`, except for
//! [`LIKE_UPSTREAM`].

use manifest::GroupVersionKind;
use readiness::Health;

use super::respond_to;
use crate::object;
use crate::protocol::{Object, Ready, RunRequest, RunResponse};

/// Marks desired resources ready whose observed state is. A decision of an earlier function stands.
pub(super) fn run(request: &RunRequest) -> RunResponse {
    let mut response = respond_to(request);
    for (key, resource) in &mut response.desired.resources {
        let observed = request.observed.resources.get(key);
        if resource.ready == Ready::Unspecified && observed.is_some_and(|observed| is_ready(&observed.object))
        {
            resource.ready = Ready::True;
        }
    }
    response
}

fn is_ready(object: &Object) -> bool {
    let gvk = GroupVersionKind::of(object);
    let (group, kind) = gvk.as_ref().map_or(("", ""), |gvk| (gvk.group(), gvk.kind()));
    match LIKE_UPSTREAM.iter().find(|difference| (difference.applies)(group, kind)) {
        Some(difference) => (difference.is_ready)(object),
        None => matches!(Health::of(object, false), Health::Ready | Health::NoStatus),
    }
}

/// Kinds for which Crossplane's function-auto-ready is followed although `readiness` has another answer.
struct Difference {
    applies: fn(group: &str, kind: &str) -> bool,
    is_ready: fn(&Object) -> bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "says why; a test demands it"))]
    reason: &'static str,
}

/// The first entry that applies counts.
const LIKE_UPSTREAM: &[Difference] = &[
    Difference {
        applies: |group, kind| (group, kind) == ("networking.k8s.io", "Ingress"),
        is_ready: |ingress| {
            let addresses = object::nested(ingress, &["status", "loadBalancer", "ingress"]);
            addresses.and_then(serde_json::Value::as_array).is_some_and(|addresses| !addresses.is_empty())
        },
        reason: "compositions wait for the address; a wait cannot, as some ingress controllers never publish one",
    },
    Difference {
        applies: |group, kind| !readiness::has_rule(group, kind),
        is_ready: |object| readiness::condition(object, "Ready", "True").is_ok(),
        reason: "Ready alone decides for a managed resource: one without it is not created yet, and Synced=False makes an \
                 XR unhealthy, not unready",
    },
];

#[cfg(test)]
mod tests;
