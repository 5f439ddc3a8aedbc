//! Which rights the operator lacks on a kind, so that whoever composes it knows what to grant.

use cluster::Session;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use manifest::{GroupVersionKind, Namespace, ObjectRef};

/// The verbs it takes to compose a kind.
const NEEDED: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

/// What is missing, as it was last found. Asked again it would be the same answer for some requests more.
#[derive(Default)]
pub(super) struct Access {
    asked: Option<(GroupVersionKind, Option<Namespace>)>,
    text: Option<String>,
}

impl Access {
    /// What the operator may not do with objects such as `child`, if the API server says so.
    pub(super) async fn missing(&mut self, session: &Session, child: &ObjectRef) -> Option<&str> {
        let subject = (child.gvk.clone(), child.namespace.clone());
        if self.asked.as_ref() != Some(&subject) {
            self.text = ask(session, child).await;
            self.asked = Some(subject);
        }
        self.text.as_deref()
    }

    /// What was found missing.
    pub(super) fn found(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Forgets it: the next trouble is another.
    pub(super) fn forget(&mut self) {
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
        "the operator is not allowed to [{}] resource {}{group}{place}. Grant it by a ClusterRole labelled \
         rbac.crossplane.io/aggregate-to-crossplane: \"true\"",
        denied.join(", "),
        served.plural,
    ))
}
