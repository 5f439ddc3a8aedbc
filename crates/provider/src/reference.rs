//! An object identified by the attributes `api_version`, `kind`, `name` and `namespace`.

use cluster::{Error, Reply, Session, WaitOutcome};
use diag::Diagnostic;
use manifest::{ApiVersion, GroupVersionKind, KindError, Namespace, ObjectRef};
use readiness::Check;
use serde_json::Value as Json;
use tfplugin::schema::Attribute;
use tfplugin::types::Type;
use tfplugin::value::Object;
use tokio::time::Instant;

use crate::codes;
use crate::dependency::PATIENCE;

pub(crate) fn attributes() -> [Attribute; 4] {
    let required = |name: &str, about: &str| Attribute::required(name, Type::String).description(about);
    [
        required("api_version", "Its group and version, such as `apps/v1`."),
        required("kind", "Its kind, such as `Deployment`."),
        required("name", "Its name."),
        Attribute::optional("namespace", Type::String)
            .description("Its namespace. Defaults to `default` for namespaced kinds."),
    ]
}

/// The parsed attributes; only the cluster knows whether the kind is namespaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    gvk: GroupVersionKind,
    namespace: Option<Namespace>,
    name: String,
}

impl Reference {
    /// Parses the attributes; `title` is the title of the error about an invalid kind.
    pub(crate) fn parse(attributes: &Object, title: &str) -> Result<Self, Box<Diagnostic>> {
        let text = |name: &str| attributes.text(name).unwrap_or_default();
        let api_version = text("api_version").parse::<ApiVersion>().map_err(KindError::from);
        let gvk = api_version.and_then(|version| GroupVersionKind::new(version, text("kind"))).map_err(
            |error| {
                Diagnostic::error(codes::INVALID_KIND, title)
                    .detail(format!(
                        "api_version {:?} and kind {:?} do not name a kind: {error}.",
                        text("api_version"),
                        text("kind")
                    ))
                    .hint("Write api_version = \"apps/v1\" and kind = \"Deployment\".")
            },
        )?;
        // An unset variable must not name all objects of the kind.
        if attributes.get("name").as_str().is_some_and(|name| name.is_empty() || name.contains('/')) {
            return Err(Box::new(no_name(gvk.kind(), text("name"))));
        }
        let namespace = attributes.text("namespace").and_then(Namespace::new);
        Ok(Self { gvk, namespace, name: text("name").to_owned() })
    }

    pub(crate) fn gvk(&self) -> &GroupVersionKind {
        &self.gvk
    }

    /// The object in a cluster, with its current state; `None` if it does not exist.
    pub(crate) async fn look(&self, session: &Session) -> Result<(ObjectRef, Option<Reply>), Error> {
        let target = self.locate(session).await?;
        let found = session.read(&target).await?;
        Ok((target, found))
    }

    /// Like [`Self::look`], and waits for a kind, a namespace or an object that the same apply may still create.
    pub(crate) async fn look_when_possible(
        &self,
        session: &Session,
    ) -> Result<(ObjectRef, Option<Json>), Error> {
        let began = Instant::now();
        let (target, found) = match self.look(session).await {
            Err(error) if error.dependency().is_some() => {
                self.when_possible(session, || self.look(session)).await?
            }
            looked => looked?,
        };
        if let Some(reply) = found {
            return Ok((target, Some(reply.object)));
        }
        let exists = |object: Option<&Json>| match object {
            Some(_) => Check::Met(()),
            None => Check::NotYet("it does not exist".to_owned()),
        };
        let rest = PATIENCE.saturating_sub(began.elapsed());
        match session.wait_until(&target, rest, exists).await? {
            WaitOutcome::Met { object, .. } => Ok((target, object)),
            WaitOutcome::Never { .. } | WaitOutcome::TimedOut { .. } => Ok((target, None)),
        }
    }

    /// Repeats `attempt` until the kind exists, with the limits of [`Session::when_possible`].
    pub(crate) async fn when_possible<T, F>(
        &self,
        session: &Session,
        attempt: impl Fn() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let unscoped = ObjectRef::new(self.gvk.clone(), self.namespace.clone(), &self.name);
        session.when_possible(&unscoped, attempt).await
    }

    /// The object in a cluster: in `default` if its kind is namespaced and no namespace is set.
    pub(crate) async fn locate(&self, session: &Session) -> Result<ObjectRef, Error> {
        let resource = session.resource(&self.gvk).await?;
        let namespace = self.namespace.clone().or_else(|| Namespace::new("default"));
        Ok(ObjectRef::new(self.gvk.clone(), namespace.filter(|_| resource.namespaced), &self.name))
    }
}

fn no_name(kind: &str, name: &str) -> Diagnostic {
    Diagnostic::error(codes::INVALID_NAME, "Invalid Name")
        .detail(format!("{name:?} cannot be the name of a {kind}."))
        .field("name")
        .hint("Set name to the name of one object.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_a_kind() {
        let parse = |api_version: &str, kind: &str| {
            let attributes = Object::from([("api_version", api_version), ("kind", kind), ("name", "web")]);
            Reference::parse(&attributes, "No Kind").map(|reference| reference.gvk.to_string())
        };
        assert_eq!(parse("apps/v1", "Deployment").unwrap(), "apps/v1/Deployment");
        assert_eq!(parse("v1", "Pod").unwrap(), "v1/Pod");
        for (api_version, kind) in [("", "Pod"), ("v1", ""), ("a/b/c", "Pod"), ("v1", "a/b")] {
            assert_eq!(parse(api_version, kind).unwrap_err().summary, "No Kind", "{api_version} {kind}");
        }
        for name in ["", "a/b"] {
            let attributes = Object::from([("api_version", "v1"), ("kind", "Pod"), ("name", name)]);
            assert_eq!(
                Reference::parse(&attributes, "No Kind").unwrap_err().summary,
                "Invalid Name",
                "{name}"
            );
        }
    }
}
