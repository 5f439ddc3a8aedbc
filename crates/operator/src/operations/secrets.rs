//! Values that a spec takes from Secrets. What is decided on, hashed and stored names the version of a Secret; only what is
//! sent has its value.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use manifest::{Namespace, ObjectRef};
use operations::CallError;
use oraclecloud::Kind;
use oraclecloud::kind::{Part, Shape, rebuild_object};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::runtime::client::{ApiError, Object, ObjectClient};

/// The entry of a Secret with a value, if it has none that is named like the field; the name is OSOK's.
const ENTRY: &str = "password";

/// Shorter beginnings of a value at the end of a text that was cut say nothing.
const TELLING: usize = 4;

const REDACTED: &str = "(sensitive)";

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
        replaced(kind, spec, &mut |_, _, _, value| {
            names.extend(secret_name(value).map(str::to_owned));
            Value::Null
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

    /// The Secrets that a spec names and that lack what it takes from them, with their versions if they exist.
    pub(super) fn unmet(&self, kind: Kind, spec: &Value) -> BTreeMap<String, Option<String>> {
        let mut unmet = BTreeMap::new();
        replaced(kind, spec, &mut |_, entry, _, value| {
            let Some(name) = secret_name(value) else { return Value::Null };
            let known = self.0.get(name);
            if known.is_none_or(|secret| secret.value(entry).is_none()) {
                let version = known.and_then(|known| known.resource_version.as_str()).map(str::to_owned);
                unmet.insert(name.to_owned(), version);
            }
            Value::Null
        });
        unmet
    }

    /// A body in which each reference to a Secret says which version of it is meant: a rotated password is a new body. And
    /// whether all of these Secrets are there.
    pub(super) fn mark(&self, kind: Kind, body: &Value) -> (Value, bool) {
        let mut is_complete = true;
        let marked = replaced(kind, body, &mut |_, _, _, value| {
            let mut value = value.clone();
            match secret_name(&value).map(|name| self.0.get(name)) {
                Some(Some(known)) => {
                    value["secret"]["uid"] = known.uid.clone();
                    value["secret"]["resourceVersion"] = known.resource_version.clone();
                }
                Some(None) => is_complete = false,
                None => {}
            }
            value
        });
        (marked, is_complete)
    }

    /// A body to send: each reference is replaced by the value of the Secret.
    pub(super) fn reveal(&self, kind: Kind, body: &Value) -> Result<Value, CallError> {
        let mut problem = None;
        let revealed = replaced(kind, body, &mut |path, entry, base64, value| {
            let Some(name) = secret_name(value) else { return value.clone() };
            match self.0.get(name).map(|secret| secret.value(entry)) {
                Some(Some(text)) if base64 => return json!(BASE64_STANDARD.encode(text.expose_secret())),
                Some(Some(text)) => return json!(text.expose_secret()),
                Some(None) => {
                    let entries =
                        if entry == ENTRY { entry.to_owned() } else { format!("{entry} or {ENTRY}") };
                    problem = Some(format!("{path}: the Secret {name} has no entry {entries}"));
                }
                None => problem = Some(format!("{path}: there is no Secret {name}")),
            }
            Value::Null
        });
        match problem {
            None => Ok(revealed),
            Some(message) => {
                let code = "MissingSecret".to_owned();
                Err(CallError { status: Some(400), code, message, ..CallError::default() })
            }
        }
    }
}

impl Secrets {
    /// A text of the service without the values that a body made of `spec` contains.
    pub(super) fn redact(&self, kind: Kind, spec: &Value, text: &str) -> String {
        let mut values = Vec::new();
        replaced(kind, spec, &mut |_, entry, _, value| {
            let secret = secret_name(value).and_then(|name| self.0.get(name)?.value(entry));
            if let Some(secret) = secret {
                values.push(secret.expose_secret());
            }
            Value::Null
        });
        let mut forms: Vec<String> = values.into_iter().flat_map(forms).collect();
        forms.retain(|form| !form.is_empty());
        // A value can contain another.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.iter().fold(text.to_owned(), |text, form| without(&text, form))
    }
}

/// How a value may be written in a text: as it is, on one line, in JSON, in base64.
fn forms(value: &str) -> [String; 4] {
    let quoted = json!(value).to_string();
    let words: Vec<&str> = value.split_whitespace().collect();
    let inner = quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default();
    [value.to_owned(), words.join(" "), inner.to_owned(), BASE64_STANDARD.encode(value)]
}

/// A text without a value, nor the beginning of one where the text was cut.
fn without(text: &str, value: &str) -> String {
    let text = text.replace(value, REDACTED);
    let end = text.trim_end_matches('`').len();
    let starts = value.char_indices().map(|(at, _)| at).filter(|at| *at >= TELLING);
    match starts.rev().find(|at| text[..end].ends_with(&value[..*at])) {
        Some(cut) => format!("{}{REDACTED}{}", &text[..end - cut], &text[end..]),
        None => text,
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

/// A body in which `found` replaces every value that is kept in a Secret, given its path, the name of its field, and
/// whether it is sent in base64.
fn replaced(kind: Kind, body: &Value, found: Found<'_>) -> Value {
    rebuild_object(&kind.description().spec, body, &mut |part, shape, value| {
        Some(replaced_in(kind, part, ("spec", "", false), shape, value, found))
    })
}

type Found<'a> = &'a mut dyn FnMut(&str, &str, bool, &Value) -> Value;

fn replaced_in(
    kind: Kind,
    part: Part<'_>,
    (path, entry, base64): (&str, &str, bool),
    shape: &Shape,
    value: &Value,
    found: Found<'_>,
) -> Value {
    let (path, entry, base64) = match part {
        Part::Index(index) => (format!("{path}[{index}]"), entry, base64),
        Part::Key(key) => (format!("{path}.{key}"), entry, base64),
        Part::Field(name, field) => (format!("{path}.{name}"), name, field.is_some_and(|field| field.base64)),
    };
    if *shape == Shape::Secret {
        return found(&path, entry, base64, value);
    }
    kind.rebuild(shape, value, &mut |part, shape, value| {
        Some(replaced_in(kind, part, (&path, entry, base64), shape, value, found))
    })
}

#[cfg(test)]
mod tests {
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
        let (marked, is_complete) = secrets.mark(kind, &named("login"));
        assert!(is_complete);
        let version = json!({"secretName": "login", "uid": "u1", "resourceVersion": "7"});
        assert_eq!(marked, json!({"title": "t", "password": {"secret": version}}));
        assert_eq!(secrets.reveal(kind, &marked), Ok(json!({"title": "t", "password": "hunter2"})));
        let missing = secrets.reveal(kind, &secrets.mark(kind, &named("nowhere")).0).unwrap_err();
        assert_eq!(missing.message, "spec.password: there is no Secret nowhere");
        let empty = Secrets([("login".to_owned(), Stored::of(&Object::new()))].into());
        let missing = empty.reveal(kind, &named("login")).unwrap_err();
        assert_eq!(missing.message, "spec.password: the Secret login has no entry password");
    }

    #[test]
    fn what_a_service_says_is_shown_without_the_values_that_it_was_sent() {
        let service = include_str!("../../tests/operations/topic.json");
        let kinds = Catalogue::from(Service::read(service).unwrap());
        let check = |value: &str, said: &str, expected: &str| {
            let secret = json!({"data": {
                "password": BASE64_STANDARD.encode(value), "user": BASE64_STANDARD.encode("admin"),
            }});
            let secrets = Secrets([("login".to_owned(), Stored::of(secret.as_object().unwrap()))].into());
            let spec = json!({"title": "t", "password": {"secret": {"secretName": "login"}}});
            assert_eq!(secrets.redact(kinds.kinds()[0], &spec, said), expected, "{value}");
        };
        check("hunter2", "`hunter2` is too short, hunter2!", "`(sensitive)` is too short, (sensitive)!");
        check("hunter2", "admin may not do that", "admin may not do that");
        check("-----BEGIN\nabc\n", "bad: -----BEGIN abc", "bad: (sensitive)");
        check("pa\"ss", r#"no {"password":"pa\"ss"}"#, r#"no {"password":"(sensitive)"}"#);
        check("hunter2", "no aHVudGVyMg==", "no (sensitive)");
        check("hunter2", "it begins with `{hunte`", "it begins with `{(sensitive)`");
        check("hunter2", "the weather is hu", "the weather is hu");
        check("", "nothing", "nothing");
    }
}
