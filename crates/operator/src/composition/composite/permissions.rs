//! Which rights on a composed kind are missing, so that the user knows what to grant, and to whom.

use composition::service_account::ServiceAccount;
use manifest::{GroupVersionKind, Namespace, ObjectRef};

use crate::composition::access;
use crate::composition::pass::Actor;

/// The verbs needed to compose a kind.
const NEEDED: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
/// Those that a ServiceAccount needs: the operator itself reads and watches.
const NEEDED_TO_WRITE: [&str; 4] = ["create", "update", "patch", "delete"];

/// The rights that were last found missing; cached, since each check takes several requests.
#[derive(Default)]
pub(super) struct Permissions {
    asked: Option<(GroupVersionKind, Option<Namespace>, Option<ServiceAccount>)>,
    text: Option<String>,
}

impl Permissions {
    /// What `actor` may not do with objects such as `child`.
    pub(super) async fn missing(&mut self, actor: &Actor, child: &ObjectRef) -> Option<&str> {
        let subject = (child.gvk.clone(), child.namespace.clone(), actor.account.clone());
        if self.asked.as_ref() != Some(&subject) {
            self.text = ask(actor, child).await;
            self.asked = Some(subject);
        }
        self.text.as_deref()
    }

    /// What was last found missing.
    pub(super) fn found(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

async fn ask(actor: &Actor, child: &ObjectRef) -> Option<String> {
    let session = actor.client.session();
    let served = session.resource(&child.gvk).await.ok()?;
    let needed = if actor.account.is_some() { &NEEDED_TO_WRITE[..] } else { &NEEDED };
    let denied = access::denied(session, &served, child.namespace.as_ref(), needed).await?;
    if denied.is_empty() {
        return None;
    }
    let group = match child.group() {
        "" => String::new(),
        _ => format!(".{}", served.gvk.api_version()),
    };
    let place = child.namespace.as_ref().map_or_else(String::new, |name| format!(" in namespace {name}"));
    let what = format!("is not allowed to [{}] resource {}{group}{place}", denied.join(", "), served.plural);
    Some(match &actor.account {
        Some(account) => format!("ServiceAccount {account} {what}. Grant it with a Role and a RoleBinding"),
        None => format!(
            "the operator {what}. Grant it with a ClusterRole labelled \
             rbac.crossplane.io/aggregate-to-crossplane: \"true\""
        ),
    })
}
