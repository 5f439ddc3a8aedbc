//! What the account of Plimsoll's operator may not do with what Crossplane serves, so that it is found before Crossplane stops.

use std::collections::BTreeSet;

use cluster::Session;
use manifest::{GroupVersionKind, Namespace};
use operator::denied_verbs;

use super::installed::Operator;
use super::inventory::Inventory;

const ALL: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
const READING: [&str; 3] = ["get", "list", "watch"];
/// With these, the operator grants itself the kinds that XRDs define.
const GRANTING: [&str; 4] = ["get", "create", "patch", "escalate"];

/// What the operator may not do: `[create, delete] configmaps in namespace default`. Nothing is returned if the API server does not say,
/// for instance because the user may not impersonate the account.
pub(super) async fn denied(session: &Session, inventory: &Inventory) -> Option<Vec<String>> {
    let mut denied = Vec::new();
    // All shards share an account.
    let Some(operator) = inventory.operators.first() else { return Some(denied) };
    let account = session.acting_as(&operator.account());
    let definitions = inventory.offers.iter().filter_map(|offer| offer.definition.as_ref().ok());
    let defined = definitions.flat_map(|it| std::iter::once(&it.composite).chain(&it.claim));
    let roles = "rbac.authorization.k8s.io/v1/ClusterRole".parse().expect("a fixed kind");
    let grants_itself = lacking(&account, &roles, None, &GRANTING).await?.is_none();
    for kind in defined.filter(|_| !grants_itself) {
        denied.extend(lacking(&account, kind, None, &ALL).await?);
    }
    let mut composed: BTreeSet<(&GroupVersionKind, Option<&Namespace>)> = BTreeSet::new();
    composed.extend(inventory.composed.keys().map(|object| (&object.gvk, object.namespace.as_ref())));
    let mut granted = BTreeSet::new();
    for (kind, namespace) in composed {
        let verbs = needed(operator, namespace);
        if granted.contains(kind) {
            continue;
        }
        // Most often it is granted everywhere, and one answer is enough.
        if lacking(&account, kind, None, verbs).await?.is_none() {
            granted.insert(kind);
        } else {
            denied.extend(lacking(&account, kind, namespace, verbs).await?);
        }
    }
    Some(denied)
}

/// The verbs for composed objects: tenants write with an account of their own.
fn needed(operator: &Operator, namespace: Option<&Namespace>) -> &'static [&'static str] {
    if operator.composes_as_tenants() && namespace.is_some() { &READING } else { &ALL }
}

/// What `account` may not do with a kind, if there is something.
async fn lacking(
    account: &Session,
    kind: &GroupVersionKind,
    namespace: Option<&Namespace>,
    verbs: &[&'static str],
) -> Option<Option<String>> {
    // A kind that is not served any more is not composed either.
    let Ok(resource) = account.resource(kind).await else { return Some(None) };
    let denied = denied_verbs(account, &resource, namespace, verbs).await?;
    let group = if kind.group().is_empty() { String::new() } else { format!(".{}", kind.group()) };
    let place = namespace.map_or_else(String::new, |namespace| format!(" in namespace {namespace}"));
    let text = || format!("[{}] {}{group}{place}", denied.join(", "), resource.plural);
    Some((!denied.is_empty()).then(text))
}
