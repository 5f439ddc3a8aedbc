//! Which rights the operator lacks on a composed kind, so that the user knows what to grant.

use cluster::Session;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use manifest::{GroupVersionKind, Namespace, ObjectRef};

/// The verbs needed to compose a kind.
const NEEDED: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

/// The rights that were last found missing; cached, since each check takes several requests.
#[derive(Default)]
pub(super) struct Permissions {
    asked: Option<(GroupVersionKind, Option<Namespace>)>,
    text: Option<String>,
}

impl Permissions {
    /// What the operator may not do with objects such as `child`.
    pub(super) async fn missing(&mut self, session: &Session, child: &ObjectRef) -> Option<&str> {
        let subject = (child.gvk.clone(), child.namespace.clone());
        if self.asked.as_ref() != Some(&subject) {
            self.text = ask(session, child).await;
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

async fn ask(session: &Session, child: &ObjectRef) -> Option<String> {
    let served = session.resource(&child.gvk).await.ok()?;
    let reviews = Api::<SelfSubjectAccessReview>::all(session.client().clone());
    let mut denied = Vec::new();
    for verb in NEEDED {
        let attributes = ResourceAttributes {
            namespace: child.namespace.as_ref().map(ToString::to_string),
            verb: Some(verb.to_owned()),
            group: Some(child.group().to_owned()),
            version: Some(served.gvk.version().to_owned()),
            resource: Some(served.plural.clone()),
            ..ResourceAttributes::default()
        };
        let spec =
            SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let answer = reviews.create(&PostParams::default(), &review).await.ok()?;
        if !answer.status.is_some_and(|status| status.allowed) {
            denied.push(verb);
        }
    }
    if denied.is_empty() {
        return None;
    }
    let group = match child.group() {
        "" => String::new(),
        _ => format!(".{}", served.gvk.api_version()),
    };
    let place = child.namespace.as_ref().map_or_else(String::new, |name| format!(" in namespace {name}"));
    Some(format!(
        "the operator is not allowed to [{}] resource {}{group}{place}. Grant it with a ClusterRole labelled \
         rbac.crossplane.io/aggregate-to-crossplane: \"true\"",
        denied.join(", "),
        served.plural,
    ))
}
