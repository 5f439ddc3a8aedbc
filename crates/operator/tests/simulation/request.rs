//! A request to the API server, taken apart.

use http::Method;
use http::request::Parts;
use serde_json::Value;

use crate::managed_fields::Writer;
use crate::server::Id;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Replace,
    Apply,
    Merge,
    JsonPatch,
    Delete,
}

impl Verb {
    pub(crate) const fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// Where a path leads.
#[derive(Clone, Debug)]
pub(crate) struct At {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) is_status: bool,
}

#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) verb: Verb,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) resource: Option<At>,
    pub(crate) body: Value,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.verb, self.path)?;
        let selector = self.query.iter().find(|(key, _)| key.ends_with("Selector"));
        selector.map_or(Ok(()), |(_, selector)| write!(f, " {selector}"))
    }
}

impl Request {
    pub(crate) fn new(parts: &Parts, body: &[u8]) -> Self {
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default();
        let query: Vec<(String, String)> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), unescape(value)))
            .collect();
        let resource = At::of(&path);
        let has_name = resource.as_ref().is_some_and(|at| at.name.is_some());
        let content = parts.headers.get("content-type").and_then(|value| value.to_str().ok());
        let verb = match (&parts.method, content) {
            (&Method::GET, _) if query.iter().any(|(key, _)| key == "watch") => Verb::Watch,
            (&Method::GET, _) if has_name => Verb::Get,
            (&Method::GET, _) => Verb::List,
            (&Method::POST, _) => Verb::Create,
            (&Method::PUT, _) => Verb::Replace,
            (&Method::DELETE, _) => Verb::Delete,
            (_, Some("application/apply-patch+yaml")) => Verb::Apply,
            (_, Some("application/json-patch+json")) => Verb::JsonPatch,
            _ => Verb::Merge,
        };
        let body = serde_json::from_slice(body).unwrap_or_default();
        Self { verb, path, query, resource, body }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn writer(&self) -> Writer<'_> {
        let is_status = self.resource.as_ref().is_some_and(|at| at.is_status);
        Writer { manager: self.parameter("fieldManager").unwrap_or("unknown"), is_status }
    }

    /// The object it is about, if it is about one.
    pub(crate) fn id(&self) -> Option<Id> {
        let At { group, plural, namespace, name, .. } = self.resource.clone()?;
        Some(Id { group, plural, namespace, name: name? })
    }

    /// Whether a list or watch is about this object.
    pub(crate) fn selects(&self, id: &Id, object: &Value) -> bool {
        let Some(at) = &self.resource else { return false };
        if at.group != id.group || at.plural != id.plural {
            return false;
        }
        let in_namespace = at.namespace.is_empty() || at.namespace == id.namespace;
        let labels = &object["metadata"]["labels"];
        let has_label = |one: &str| match one.split_once('=') {
            Some((key, value)) => labels[key] == value,
            None => labels[one].is_string(),
        };
        let has_field = |one: &str| match one.split_once('=') {
            Some(("metadata.name", value)) => id.name == value,
            Some(("source", value)) => object["source"]["component"] == value,
            _ => true,
        };
        let labelled = self.parameter("labelSelector").is_none_or(|all| all.split(',').all(has_label));
        in_namespace
            && labelled
            && self.parameter("fieldSelector").is_none_or(|all| all.split(',').all(has_field))
    }

    /// Whether an operator that is at rest would not send it.
    pub(crate) fn is_write(&self) -> bool {
        let is_review = self.resource.as_ref().is_some_and(|at| at.plural == "selfsubjectaccessreviews");
        self.verb.is_write() && !is_review
    }
}

impl At {
    fn of(path: &str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/').map(unescape).peekable();
        let group = if parts.next()? == "api" { String::new() } else { parts.next()? };
        let version = parts.next()?;
        let mut next = parts.next()?;
        let mut namespace = String::new();
        if next == "namespaces" && parts.peek().is_some() {
            namespace = parts.next()?;
            next = parts.next()?;
        }
        let name = parts.next();
        Some(Self { group, version, namespace, plural: next, name, is_status: parts.next().is_some() })
    }
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()));
        if let Some(byte) = escaped.flatten().and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
