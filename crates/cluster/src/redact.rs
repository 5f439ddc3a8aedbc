//! What debug output shows of an object: its identity, never its content, because it may be a Secret.

use std::fmt;

use serde_json::Value;

/// An object by kind, namespace, name and version.
pub(crate) struct Redacted<'v>(pub(crate) &'v Value);

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |path: &str| self.0.pointer(path).and_then(Value::as_str);
        write!(f, "({}", text("/kind").unwrap_or("object"))?;
        if let Some(name) = text("/metadata/name") {
            let namespace = text("/metadata/namespace").map_or(String::new(), |name| format!("{name}/"));
            write!(f, " {namespace}{name}")?;
        }
        if let Some(version) = text("/metadata/resourceVersion") {
            write!(f, " at {version}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Method;
    use serde_json::json;

    use crate::error::Verb;
    use crate::request::Call;
    use readiness::Check;

    use crate::{Delete, Deletion, Listing, Readiness, Reply, WaitOutcome, WatchEvent};

    #[tokio::test(start_paused = true)]
    async fn debug_output_identifies_an_object_without_its_content() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "data": { "password": "aHVudGVyMg==" },
            "metadata": {
                "name": "db", "namespace": "shop", "resourceVersion": "7", "uid": "u", "finalizers": ["example.com/x"],
                "annotations": { "last-applied": "aHVudGVyMg==" },
            },
        });
        let some = || Some(secret.clone());
        let target =
            manifest::ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "db");
        let live = secret.clone();
        let (session, _) = crate::test_server::session(move |_| crate::test_server::ok(&live));
        let how = Delete { timeout: Duration::from_secs(1), ..Delete::of(&target) };
        let stuck = session.delete(&target, &how).await.unwrap();
        assert!(matches!(stuck, Deletion::Stuck(_)));

        let path = "/api/v1/namespaces/shop/secrets/db".to_owned();
        let call = Call::write(Verb::Apply, &target, Method::PATCH, path, "application/json", &secret);
        let reply = Reply { code: 200, object: secret.clone(), warnings: Vec::new(), retries: Vec::new() };
        let listing =
            Listing { items: vec![secret.clone()], resource_version: "9".to_owned(), warnings: Vec::new() };
        let value = || Some(json!("aHVudGVyMg=="));
        let cases = [
            format!("{stuck:?}"),
            format!("{reply:?}"),
            format!("{listing:?}"),
            format!("{:?}", WatchEvent::Applied(secret.clone())),
            format!("{:?}", WatchEvent::Deleted(secret.clone())),
            format!("{:?}", WaitOutcome::Met { value: value(), object: some() }),
            format!("{:?}", WaitOutcome::<()>::Never { why: "broken".to_owned(), object: some() }),
            format!("{:?}", WaitOutcome::<()>::TimedOut { why: "cold".to_owned(), object: some() }),
            format!("{:?}", Readiness::Met { value: value(), object: secret.clone() }),
        ];
        for shown in &cases {
            assert!(shown.contains("(Secret shop/db at 7)"), "{shown}");
        }
        let nameless = [format!("{call:?}"), format!("{:?}", Check::Met(value()))];
        for shown in cases.iter().chain(&nameless) {
            assert!(!shown.contains("aHVudGVyMg"), "{shown}");
        }
    }
}
