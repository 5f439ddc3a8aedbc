//! Writes whole objects: creates a new one, or replaces one that was read.

use http::Method;
use manifest::ObjectRef;
use serde_json::Value;

use crate::apply::{Write, query};
use crate::error::{Error, Verb};
use crate::request::{Call, Reply, with_query};
use crate::session::Session;

impl Session {
    /// Creates `object`. If it exists, the error is [`Class::AlreadyExists`](crate::Class::AlreadyExists).
    ///
    /// Not retried when the connection breaks: the first attempt may have created the object, and the second would
    /// blame another creator.
    pub async fn create(&self, target: &ObjectRef, object: &Value, write: Write<'_>) -> Result<Reply, Error> {
        let resource = self.resource(&target.gvk).await?;
        let path = with_query(resource.collection_of(target.namespace.as_ref()), &query(write));
        let call = Call::write(Verb::Create, target, Method::POST, path, "application/json", object);
        self.write(&call.not_idempotent(), target, write).await
    }

    /// Replaces the object that `object` was made from. If that has changed since, by its resource version, the error
    /// is [`Class::Outdated`](crate::Class::Outdated).
    pub async fn replace(
        &self,
        target: &ObjectRef,
        object: &Value,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        let (_, path) = self.locate(Verb::Replace, target).await?;
        let path = write.path(path, &query(write));
        let call = Call::write(Verb::Replace, target, Method::PUT, path, "application/json", object);
        self.write(&call.not_idempotent(), target, write).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Class;
    use crate::test_server::{config_map, reply, session, status};

    fn map() -> ObjectRef {
        ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a")
    }

    #[tokio::test]
    async fn create_posts_to_the_collection_and_replace_puts_to_the_object() {
        let (session, journal) = session(|seen| reply(201, &seen.body));
        assert!(session.create(&map(), &config_map("a"), Write::by("m")).await.unwrap().created());
        session.replace(&map(), &config_map("a"), Write::by("m")).await.unwrap();
        session.replace(&map(), &config_map("a"), Write::by("m").status()).await.unwrap();
        session.apply(&map(), &config_map("a"), Write::by("m").status()).await.unwrap();
        let path = "/api/v1/namespaces/shop/configmaps";
        assert_eq!(
            journal.work(),
            [
                format!("POST {path}"),
                format!("PUT {path}/a"),
                format!("PUT {path}/a/status"),
                format!("PATCH {path}/a/status"),
            ]
        );
        let queries: Vec<String> = journal.all().into_iter().map(|seen| seen.query).collect();
        assert!(queries.iter().rev().take(4).all(|query| query == "fieldManager=m&fieldValidation=Strict"));
    }

    #[tokio::test]
    async fn an_existing_object_and_a_stale_version_are_different_conflicts() {
        let (session, _) = session(|seen| {
            let reason = if seen.method == "POST" { "AlreadyExists" } else { "Conflict" };
            status(409, reason, "no", &json!({ "name": "a" }))
        });
        let create = session.create(&map(), &config_map("a"), Write::by("m")).await.unwrap_err();
        assert_eq!(create.class(), Class::AlreadyExists);
        let replace = session.replace(&map(), &config_map("a"), Write::by("m")).await.unwrap_err();
        assert_eq!(replace.class(), Class::Outdated);
    }
}
