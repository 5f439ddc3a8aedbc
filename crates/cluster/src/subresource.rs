//! Subresources of an object: the tokens of a ServiceAccount, the scale of a workload.

use http::Method;
use manifest::ObjectRef;
use serde_json::Value;

use crate::apply::{PatchType, Write, query};
use crate::error::{Error, Verb};
use crate::request::{Call, Reply, with_query};
use crate::session::Session;

impl Session {
    /// Posts `object` to a subresource of `target`, which must exist.
    pub async fn create_at(
        &self,
        target: &ObjectRef,
        subresource: &str,
        object: &Value,
    ) -> Result<Reply, Error> {
        let (_, path) = self.locate(Verb::Create, target).await?;
        let path = format!("{path}/{subresource}");
        let call = Call::write(Verb::Create, target, Method::POST, path, "application/json", object);
        self.send_to(&target.gvk, &call.not_idempotent()).await
    }

    /// Changes a subresource of `target` by a merge patch.
    pub async fn patch_at(
        &self,
        target: &ObjectRef,
        subresource: &str,
        patch: &Value,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        let (_, path) = self.locate(Verb::Patch, target).await?;
        let path = with_query(format!("{path}/{subresource}"), &query(write));
        let content_type = PatchType::Merge.content_type();
        let call = Call::write(Verb::Patch, target, Method::PATCH, path, content_type, patch);
        self.send_to(&target.gvk, &call).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_server::{reply, session};

    #[tokio::test]
    async fn subresources_are_below_the_path_of_the_object() {
        let (session, journal) = session(|seen| reply(200, &seen.body));
        let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a");
        session.create_at(&target, "token", &json!({})).await.unwrap();
        session.patch_at(&target, "scale", &json!({}), Write::by("m").dry_run()).await.unwrap();
        let path = "/api/v1/namespaces/shop/configmaps/a";
        assert_eq!(journal.work(), [format!("POST {path}/token"), format!("PATCH {path}/scale")]);
        let last = journal.all().pop().unwrap();
        assert!(last.query.contains("dryRun=All"), "{}", last.query);
    }
}
