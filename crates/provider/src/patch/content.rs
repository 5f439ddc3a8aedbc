//! The content of a patch, in one of three formats.

use cluster::PatchType;
use diag::{Diagnostic, Source};
use manifest::{Limits, ObjectRef, secret};
use serde_json::{Map, Value, json};
use tfplugin::value::Object;

use crate::codes;
use crate::report::titled;

/// Exactly one of these attributes is set.
pub(super) const ATTRIBUTES: [&str; 3] = ["patch", "json_patch", "merge_patch"];

/// A parsed patch.
#[derive(Clone, PartialEq)]
pub(super) enum Content {
    /// `patch`: fields held by server-side apply.
    Apply(Map<String, Value>),
    /// `json_patch`: operations (RFC 6902).
    Json(Vec<Value>),
    /// `merge_patch`: a partial object in which null removes (RFC 7386).
    Merge(Value),
}

impl Content {
    /// Parses the attribute that is set; `None` if there is none or it is not known yet.
    pub(super) fn of(attributes: &Object) -> Option<Result<Self, Box<Diagnostic>>> {
        let (name, text) = ATTRIBUTES.into_iter().find_map(|name| Some((name, attributes.text(name)?)))?;
        Some(Self::parse(name, text))
    }

    fn parse(name: &str, text: &str) -> Result<Self, Box<Diagnostic>> {
        let unreadable = |why: String| {
            Box::new(
                Diagnostic::error(codes::PATCH_UNREADABLE, "Failed to Parse Patch")
                    .detail(why)
                    .field(name)
                    .hint(format!("Write the fields to change, for instance {}.", example(name))),
            )
        };
        let json = || {
            serde_json::from_str::<Value>(text)
                .map_err(|error| unreadable(format!("{name} is not JSON: {error}.")))
        };
        match name {
            "json_patch" => match json()? {
                Value::Array(operations) => Ok(Self::Json(operations)),
                _ => Err(unreadable("json_patch is not a JSON array of operations.".to_owned())),
            },
            "merge_patch" => Ok(Self::Merge(json()?)),
            _ => {
                let document = manifest::read(&Source::new(name, text), &Limits::default()).single();
                match document.map(manifest::Document::into_value) {
                    Ok(Value::Object(fields)) => Ok(Self::Apply(fields)),
                    Ok(_) => Err(unreadable("patch is not a mapping of fields.".to_owned())),
                    Err(problems)
                        if problems.iter().any(|problem| problem.code == manifest::codes::EMPTY) =>
                    {
                        Err(unreadable("patch is empty.".to_owned()))
                    }
                    Err(problems) => {
                        let first = problems.into_iter().next().expect("what cannot be read has a problem");
                        Err(Box::new(titled(first, "Failed to Parse Patch")))
                    }
                }
            }
        }
    }

    /// The format to send it in; `None` for server-side apply.
    pub(super) fn patch_type(&self) -> Option<PatchType> {
        match self {
            Self::Apply(_) => None,
            Self::Json(_) => Some(PatchType::Json),
            Self::Merge(_) => Some(PatchType::Merge),
        }
    }

    /// The body to send to `target`, which is `live` now. Operations that `before` had and that are done are omitted:
    /// repeating them would append again or fail.
    pub(super) fn to_send(&self, target: &ObjectRef, live: &Value, before: Option<&Self>) -> Value {
        match self {
            Self::Apply(fields) => {
                let mut body = body(fields, target);
                // Without it, an apply would recreate a target that was deleted meanwhile.
                body["metadata"]["uid"] = live["metadata"]["uid"].clone();
                body
            }
            Self::Merge(fields) => fields.clone(),
            Self::Json(operations) => {
                let former: &[Value] = if let Some(Self::Json(former)) = before { former } else { &[] };
                let due =
                    |operation: &&Value| !(former.contains(operation) && is_done(operation, former, live));
                operations.iter().filter(due).cloned().collect()
            }
        }
    }

    /// Whether sending it would change nothing.
    pub(super) fn is_nothing(sent: &Value) -> bool {
        sent.as_array().is_some_and(Vec::is_empty)
    }

    /// The object for server-side apply; `None` for other formats.
    pub(super) fn body(&self, target: &ObjectRef) -> Option<Value> {
        match self {
            Self::Apply(fields) => Some(body(fields, target)),
            Self::Json(_) | Self::Merge(_) => None,
        }
    }

    /// The part of `live` that the patch covers, whichever manager holds it.
    pub(super) fn touched(&self, live: &Value) -> Value {
        match self {
            // Its manager holds everything it writes.
            Self::Apply(_) => Value::Null,
            Self::Merge(fields) => cut(live, fields),
            Self::Json(operations) => {
                let at = |path: &str| live.pointer(path.strip_suffix("/-").unwrap_or(path)).cloned();
                operations.iter().map(|operation| operation["path"].as_str().and_then(at)).collect()
            }
        }
    }

    /// The attribute and the parsed content, for comparison with the last apply.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Apply(fields) => json!(["patch", fields]),
            Self::Json(operations) => json!(["json_patch", operations]),
            Self::Merge(fields) => json!(["merge_patch", fields]),
        }
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "json_patch" => "jsonencode([{ op = \"replace\", path = \"/spec/replicas\", value = 3 }])",
        "merge_patch" => "jsonencode({ spec = { replicas = 3 } })",
        _ => "\"spec: {replicas: 3}\"",
    }
}

fn body(fields: &Map<String, Value>, target: &ObjectRef) -> Value {
    let mut body = Value::Object(fields.clone());
    body["apiVersion"] = target.api_version().to_string().into();
    body["kind"] = target.kind().into();
    if !body["metadata"].is_object() {
        body["metadata"] = Value::Object(Map::new());
    }
    body["metadata"]["name"] = target.name.as_str().into();
    if let Some(namespace) = &target.namespace {
        body["metadata"]["namespace"] = namespace.as_str().into();
    }
    secret::normalise(&mut body);
    body
}

/// The part of `live` at the fields in `fields`.
fn cut(live: &Value, fields: &Value) -> Value {
    match fields {
        Value::Object(fields) => {
            fields.iter().map(|(name, below)| (name.clone(), cut(&live[name], below))).collect()
        }
        _ => live.clone(),
    }
}

/// Whether an operation that was applied as one of `all` has nothing left to do.
fn is_done(operation: &Value, all: &[Value], live: &Value) -> bool {
    let text = |name: &str| operation[name].as_str().unwrap_or_default();
    let there = |path: &str| live.pointer(path).is_some();
    match text("op") {
        "add" => text("path").strip_suffix("/-").is_some_and(|list| {
            let items = live.pointer(list).and_then(Value::as_array);
            items.is_some_and(|items| items.contains(&operation["value"]))
        }),
        "remove" => !there(text("path")),
        "move" => !there(text("from")) && there(text("path")),
        // It tested the value that the patch itself has replaced. Other tests hold as long as the patch.
        "test" => all.iter().any(|other| other["op"] != "test" && other["path"] == operation["path"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
