//! Patches of and waits for a ConfigMap, in a test's configuration.

use crate::case::Case;

/// Writes a resource `k8sconnect_patch.<name>` of the ConfigMap of that name.
pub(crate) fn patch(case: &Case, name: &str, attributes: &str) {
    let target = reference(case, name);
    let text =
        format!("resource \"k8sconnect_patch\" {name:?} {{\n  target = {target}\n  {attributes}\n}}\n");
    case.workspace.write(&format!("patch-{name}.tf"), &text);
}

/// Writes a resource `k8sconnect_wait.<name>` for the ConfigMap of that name.
pub(crate) fn wait(case: &Case, name: &str, wait_for: &str) {
    let target = reference(case, name);
    let text = format!(
        "resource \"k8sconnect_wait\" {name:?} {{\n  object_ref = {target}\n  wait_for = {{ {wait_for} }}\n}}\n"
    );
    case.workspace.write(&format!("wait-{name}.tf"), &text);
}

/// The attributes that identify the ConfigMap.
pub(crate) fn reference(case: &Case, name: &str) -> String {
    let namespace = case.namespace.name();
    format!("{{ api_version = \"v1\", kind = \"ConfigMap\", name = {name:?}, namespace = {namespace:?} }}")
}
