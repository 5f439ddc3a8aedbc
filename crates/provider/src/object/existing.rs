//! An object that already exists at create: which resource owns it, and how to import it.

use std::time::Duration;

use cluster::ErrorKind;
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::Value as Json;
use tfplugin::value::Object;

use super::annotations;
use crate::clusters::Cluster;
use crate::codes;

/// How long a create waits for a deletion of the same object in this process to begin: Terraform does not order them.
const DELETION_BEGINS: Duration = Duration::from_secs(2);
/// How long it waits for such a deletion to end.
const DELETION_ENDS: Duration = Duration::from_secs(10);

/// Makes sure that `target` does not exist. Relies on what the plan saw in this process a moment ago.
pub(super) async fn ensure_absent(
    cluster: &Cluster,
    target: &ObjectRef,
    attributes: &Object,
) -> Result<(), Box<Diagnostic>> {
    if cluster.take_absent(target) {
        return Ok(());
    }
    let mut live = read(cluster, target).await?;
    // Another resource of this state may be deleting the object, for instance when the key of a for_each is renamed.
    if live.as_ref().and_then(annotations::id_of).is_some()
        && cluster.wait_for_deletion(target, DELETION_BEGINS, DELETION_ENDS).await
    {
        live = read(cluster, target).await?;
    }
    match live {
        None => Ok(()),
        Some(live) => Err(Box::new(found(target, &live, attributes))),
    }
}

async fn read(cluster: &Cluster, target: &ObjectRef) -> Result<Option<Json>, Box<Diagnostic>> {
    match cluster.session().read(target).await {
        Ok(live) => Ok(live.map(|reply| reply.object)),
        Err(error) if matches!(error.kind(), ErrorKind::KindMissing(_)) => Ok(None),
        Err(error) => Err(Box::new(error.diagnostic("Create"))),
    }
}

/// The error about an object that already exists.
pub(super) fn found(target: &ObjectRef, live: &Json, attributes: &Object) -> Diagnostic {
    let command = import_command(target, attributes);
    let (code, title, detail) = match annotations::id_of(live) {
        Some(id) => (
            codes::ALREADY_MANAGED,
            "Resource Already Managed",
            format!(
                "{target} belongs to a k8sconnect_object with the id {id}: another one in this configuration, one of \
                 another state, or one whose creation was interrupted before Terraform could record it."
            ),
        ),
        None => (
            codes::ALREADY_EXISTS,
            "Resource Already Exists",
            format!("{target} exists and was not created by this provider."),
        ),
    };
    Diagnostic::error(code, title)
        .detail(format!("{detail}\n\nTo manage it here, import it:\n\n  {command}"))
        .object(target.to_string())
        .hint("Or choose another name, or delete the object.")
}

/// How to import an object. Only Terraform knows the address of the resource.
fn import_command(target: &ObjectRef, attributes: &Object) -> String {
    let cluster = attributes.get("cluster");
    let context = match cluster.as_object() {
        Some(cluster) => cluster.text("context").unwrap_or("<context>"),
        None => "",
    };
    let namespace = target.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}:"));
    format!("terraform import k8sconnect_object.<name> '{context}:{namespace}{}:{}'", target.gvk, target.name)
}

#[cfg(test)]
mod tests {
    use manifest::Namespace;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_import_command_is_one_that_import_accepts() {
        let check = |namespace: &str, kind: &str, cluster: Option<Object>, expected: &str| {
            let target = ObjectRef::new(kind.parse().unwrap(), Namespace::new(namespace), "web");
            let attributes = Object::new().with("cluster", cluster);
            let shown = found(&target, &json!({}), &attributes);
            assert_eq!(shown.summary, "Resource Already Exists");
            assert!(shown.detail.contains(expected), "{}", shown.detail);
        };
        let context = || Some(Object::new().with("context", "prod"));
        check("shop", "apps/v1/Deployment", context(), "'prod:shop:apps/v1/Deployment:web'");
        check("", "v1/Node", None, "':v1/Node:web'");
        check("shop", "v1/Pod", Some(Object::new().with("host", "https://h")), "'<context>:shop:v1/Pod:web'");
    }

    #[test]
    fn the_title_shows_whether_an_object_belongs_to_a_resource() {
        let target = ObjectRef::new("v1/Pod".parse().unwrap(), Namespace::new("shop"), "web");
        let live =
            json!({"metadata": {"annotations": {"k8sconnect.terraform.io/terraform-id": "0123456789ab"}}});
        let shown = found(&target, &live, &Object::new());
        assert_eq!(shown.summary, "Resource Already Managed");
        assert!(shown.detail.contains("0123456789ab"), "{}", shown.detail);
    }
}
