//! Detects patches whose target is a k8sconnect object itself: two resources would set the same fields in turn.

use std::time::Duration;

use diag::{Diagnostic, Severity};
use manifest::ObjectRef;
use ownership::Observed;

use crate::clusters::Cluster;
use crate::codes;
use crate::context::Context;
use crate::object::{MANAGER, id_of};

const FORMER_ANNOTATION: &str = "k8sconnect.io/owned-by";

/// How long to wait for Terraform to read or plan the `k8sconnect_object` in this state that the target may be.
const PATIENCE: Duration = Duration::from_secs(2);

/// An error if the target is a `k8sconnect_object` of this state, a warning if it may be one of another state.
pub(super) async fn check(
    context: &Context,
    cluster: &Cluster,
    target: &ObjectRef,
    live: &Observed,
) -> Option<Diagnostic> {
    let ours = match id_of(live.object()) {
        _ if cluster.is_ours(target) => true,
        Some(id) => context.ids().has(id, PATIENCE).await,
        None => false,
    };
    finding(target, live, ours)
}

fn finding(target: &ObjectRef, live: &Observed, ours: bool) -> Option<Diagnostic> {
    let former = live.object()["metadata"]["annotations"][FORMER_ANNOTATION].is_string();
    let is_held = live.managed().entries().iter().any(|entry| entry.manager.as_str() == MANAGER);
    if id_of(live.object()).is_none() && !former && !is_held {
        return None;
    }
    let error = Diagnostic::error(codes::PATCH_OWN, "Cannot Patch Own Resource").object(target.to_string());
    if ours {
        let detail = format!(
            "{target} is managed by a k8sconnect_object in this state, and both would set its fields."
        );
        return Some(error.detail(detail).hint(
            "Change the yaml_body of that k8sconnect_object instead. To leave fields of it to other managers, list them in its \
             ignore_fields.",
        ));
    }
    let detail = format!(
        "{target} is managed by a k8sconnect_object, presumably of another state. Its fields that this patch takes will show \
         as drift there."
    );
    Some(Diagnostic {
        severity: Severity::Warning,
        summary: "Patching Resource Managed Elsewhere".to_owned(),
        ..error.detail(detail).hint("Add the fields to ignore_fields there, or change its yaml_body instead.")
    })
}

#[cfg(test)]
mod tests {
    use manifest::Namespace;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_objects_of_this_state_are_refused() {
        let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), "a");
        let check = |metadata: Value, ours: bool, expected: Option<Severity>| {
            let live = Observed::new(json!({"metadata": metadata})).unwrap();
            let found = finding(&target, &live, ours);
            assert_eq!(found.map(|found| found.severity), expected, "{metadata}");
        };
        let stamped = || json!({"annotations": {"k8sconnect.terraform.io/terraform-id": "0123456789ab"}});
        let former = || json!({"annotations": {"k8sconnect.io/owned-by": "x"}});
        let held = |manager: &str| json!({"managedFields": [{"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}]});
        check(json!({}), true, None);
        check(stamped(), true, Some(Severity::Error));
        check(stamped(), false, Some(Severity::Warning));
        check(former(), true, Some(Severity::Error));
        check(held("k8sconnect"), true, Some(Severity::Error));
        check(held("k8sconnect-patch-0123456789ab"), true, None);
        check(held("k8sconnectivity-agent"), true, None);
    }
}
