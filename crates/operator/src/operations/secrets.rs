//! Values that a spec takes from Secrets. What is decided on, hashed and stored names the version of a Secret; only what is
//! sent has its value.

use std::collections::BTreeMap;

use manifest::{Namespace, ObjectRef};
use operations::CallError;
use oraclecloud::Kind;
use oraclecloud::kind::{Fields, Shape};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::runtime::client::{ApiError, Object, ObjectClient};

/// The entry of a Secret with a value, if it has none that is named like the field; the name is OSOK's.
const ENTRY: &str = "password";

/// The Secrets that a spec names, by name.
#[derive(Clone)]
pub(super) struct Secrets(BTreeMap<String, Stored>);

#[derive(Clone)]
struct Stored {
    uid: Value,
    resource_version: Value,
    entries: BTreeMap<String, SecretString>,
}

impl Secrets {
    pub(super) const NONE: Self = Self(BTreeMap::new());

    /// Reads the Secrets that a spec names; those that do not exist are reported when they are needed.
    pub(super) async fn read(
        client: &ObjectClient,
        kind: Kind,
        namespace: &str,
        spec: &Value,
    ) -> Result<Self, ApiError> {
        let mut names = Vec::new();
        visit(kind, &kind.spec, &mut spec.clone(), "spec", &mut |_, _, value| {
            names.extend(secret_name(value).map(str::to_owned));
        });
        let mut secrets = Self::NONE;
        for name in names {
            let gvk = "v1/Secret".parse().expect("a valid kind");
            let target = ObjectRef::new(gvk, Namespace::new(namespace), name.clone());
            if let Some(secret) = client.read(&target).await? {
                secrets.0.insert(name, Stored::of(&secret));
            }
        }
        Ok(secrets)
    }

    /// A body in which each reference to a Secret says which version of it is meant: a rotated password is a new body.
    pub(super) fn mark(&self, kind: Kind, mut body: Value) -> Value {
        visit(kind, &kind.spec, &mut body, "spec", &mut |_, _, value| {
            if let Some(known) = secret_name(value).and_then(|name| self.0.get(name)) {
                value["secret"]["uid"] = known.uid.clone();
                value["secret"]["resourceVersion"] = known.resource_version.clone();
            }
        });
        body
    }

    /// A body to send: each reference is replaced by the value of the Secret.
    pub(super) fn reveal(&self, kind: Kind, mut body: Value) -> Result<Value, CallError> {
        let mut problem = None;
        visit(kind, &kind.spec, &mut body, "spec", &mut |path, field, value| {
            let Some(name) = secret_name(value) else { return };
            match self.0.get(name).map(|secret| secret.value(field)) {
                Some(Some(text)) => *value = json!(text.expose_secret()),
                Some(None) => {
                    let entries =
                        if field == ENTRY { field.to_owned() } else { format!("{field} or {ENTRY}") };
                    problem = Some(format!("{path}: the Secret {name} has no entry {entries}"));
                }
                None => problem = Some(format!("{path}: there is no Secret {name}")),
            }
        });
        match problem {
            None => Ok(body),
            Some(message) => {
                let code = "MissingSecret".to_owned();
                Err(CallError { status: Some(400), code, message, ..CallError::default() })
            }
        }
    }
}

impl Stored {
    fn of(secret: &Object) -> Self {
        let metadata = |name: &str| secret.get("metadata").map(|it| it[name].clone()).unwrap_or_default();
        let entries = manifest::secret::decoded(secret)
            .filter_map(|(name, value)| Some((name.clone(), String::from_utf8(value).ok()?.into())));
        let (uid, resource_version) = (metadata("uid"), metadata("resourceVersion"));
        Self { uid, resource_version, entries: entries.collect() }
    }

    fn value(&self, field: &str) -> Option<&SecretString> {
        self.entries.get(field).or_else(|| self.entries.get(ENTRY))
    }
}

fn secret_name(value: &Value) -> Option<&str> {
    value.get("secret")?.get("secretName")?.as_str()
}

/// Calls `found` with the path, the name and the value of every field that is kept in a Secret.
fn visit(
    kind: Kind,
    fields: &Fields,
    object: &mut Value,
    path: &str,
    found: &mut dyn FnMut(&str, &str, &mut Value),
) {
    let Some(values) = object.as_object_mut() else { return };
    for (name, value) in values {
        if let Some(field) = fields.get(name) {
            visit_shape(kind, &field.shape, value, &format!("{path}.{name}"), name, found);
        }
    }
}

fn visit_shape(
    kind: Kind,
    shape: &Shape,
    value: &mut Value,
    path: &str,
    name: &str,
    found: &mut dyn FnMut(&str, &str, &mut Value),
) {
    match (shape, value) {
        (Shape::Secret, value) => found(path, name, value),
        (Shape::List(of), Value::Array(entries)) => {
            for (index, entry) in entries.iter_mut().enumerate() {
                visit_shape(kind, of, entry, &format!("{path}[{index}]"), name, found);
            }
        }
        (Shape::Map(of), Value::Object(entries)) => {
            for (key, entry) in entries {
                visit_shape(kind, of, entry, &format!("{path}.{key}"), name, found);
            }
        }
        (Shape::Model(model), value) => {
            if let Some(model) = kind.model(model) {
                visit(kind, &model.fields, value, path, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use oraclecloud::{Catalogue, Service};

    use super::*;

    #[test]
    fn a_value_is_only_in_what_is_sent_and_a_missing_secret_is_named_with_its_field() {
        let service = include_str!("../../tests/operations/topic.json");
        let kinds = Catalogue::from(Service::read(service).unwrap());
        let kind = kinds.kinds()[0];
        let secret = json!({
            "metadata": {"uid": "u1", "resourceVersion": "7"},
            "data": {"password": BASE64_STANDARD.encode("hunter2"), "other": "AA=="},
        });
        let secrets = Secrets([("login".to_owned(), Stored::of(secret.as_object().unwrap()))].into());
        let named = |name: &str| json!({"title": "t", "password": {"secret": {"secretName": name}}});
        let marked = secrets.mark(kind, named("login"));
        let version = json!({"secretName": "login", "uid": "u1", "resourceVersion": "7"});
        assert_eq!(marked, json!({"title": "t", "password": {"secret": version}}));
        assert_eq!(secrets.reveal(kind, marked), Ok(json!({"title": "t", "password": "hunter2"})));
        let missing = secrets.reveal(kind, secrets.mark(kind, named("nowhere"))).unwrap_err();
        assert_eq!(missing.message, "spec.password: there is no Secret nowhere");
        let empty = Secrets([("login".to_owned(), Stored::of(&Object::new()))].into());
        let missing = empty.reveal(kind, named("login")).unwrap_err();
        assert_eq!(missing.message, "spec.password: the Secret login has no entry password");
    }
}
