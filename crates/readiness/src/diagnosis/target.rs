//! How texts and commands name the object of a wait.

use manifest::{ObjectRef, is_built_in_group};

/// `kubectl <verb>` for the object.
pub(super) fn kubectl(target: &ObjectRef, verb: &str) -> String {
    let kind = target.kind().to_lowercase();
    // A kind that is installed may share its name with another.
    let is_built_in = is_built_in_group(target.group());
    let group = if is_built_in { String::new() } else { format!(".{}", target.group()) };
    format!("kubectl {verb} {kind}{group} {}{}", target.name, in_namespace(target))
}

pub(super) fn events(target: &ObjectRef) -> String {
    format!("kubectl get events{} --field-selector involvedObject.name={}", in_namespace(target), target.name)
}

pub(super) fn in_namespace(target: &ObjectRef) -> String {
    target.namespace.as_ref().map(|namespace| format!(" -n {namespace}")).unwrap_or_default()
}

/// `Deployment/shop/web`, or `Node/one`.
pub(super) fn slashed(target: &ObjectRef) -> String {
    let namespace = target.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{}/{namespace}{}", target.kind(), target.name)
}

/// `"web" in namespace "shop"`, or `"one"`.
pub(super) fn quoted(target: &ObjectRef) -> String {
    match &target.namespace {
        Some(namespace) => format!("{:?} in namespace {:?}", target.name, namespace.as_str()),
        None => format!("{:?}", target.name),
    }
}
