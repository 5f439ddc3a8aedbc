//! Asks the API server what the current account may do, so that missing permissions are reported before they cause errors.

use cluster::{Resource, Session};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use manifest::Namespace;

/// Those of `verbs` that the account of `session` may not use on `resource` in `namespace`; `None` if the API server does not
/// answer.
pub async fn denied(
    session: &Session,
    resource: &Resource,
    namespace: Option<&Namespace>,
    verbs: &[&'static str],
) -> Option<Vec<&'static str>> {
    let reviews = Api::<SelfSubjectAccessReview>::all(session.client().clone());
    let mut denied = Vec::new();
    for verb in verbs {
        let attributes = ResourceAttributes {
            namespace: namespace.map(ToString::to_string),
            verb: Some((*verb).to_owned()),
            group: Some(resource.gvk.group().to_owned()),
            version: Some(resource.gvk.version().to_owned()),
            resource: Some(resource.plural.clone()),
            ..ResourceAttributes::default()
        };
        let spec =
            SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let answer = reviews.create(&PostParams::default(), &review).await.ok()?;
        if !answer.status.is_some_and(|status| status.allowed) {
            denied.push(*verb);
        }
    }
    Some(denied)
}
