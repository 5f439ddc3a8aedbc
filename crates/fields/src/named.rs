//! The field that the API server names in a rejection, found in the object that was sent.
//!
//! It has several notations: `spec.ports[0].name` where it validates, `.spec.containers[name="web"].image` where it merges, and
//! `metadata.labels.example.org/team` with the dots of a name as they are. Which part of the text is a name shows in the
//! object only.

use manifest::Step;
use serde_json::Value;

use crate::{FieldPath, PathElement, Shape};

/// How far a field that the API server names was found.
#[derive(Debug)]
pub struct NamedField<'o> {
    /// The way to it through the object, as it was sent.
    pub steps: Vec<Step<'o>>,
    pub path: FieldPath,
    /// What is left of the name, because the object does not have it.
    pub rest: String,
}

impl<'o> NamedField<'o> {
    /// Finds the field that the API server calls `name` in `object`, of which `shape` is known.
    pub fn find(object: &'o Value, shape: Shape<'_>, name: &str) -> Self {
        let mut steps = Vec::new();
        let mut elements = Vec::new();
        let (mut value, mut shape, mut rest) = (object, shape, name.trim_start_matches('.'));
        while let Some((step, element, below, left)) = next(value, shape, rest) {
            steps.push(step);
            shape = shape.step(&element);
            elements.push(element);
            (value, rest) = (below, left.strip_prefix('.').unwrap_or(left));
        }
        Self { steps, path: elements.into_iter().collect(), rest: rest.to_owned() }
    }

    /// The name of the field in the notation for people, as far as the object has it.
    pub fn notation(&self) -> String {
        let found = self.path.notation().to_string();
        match (found.is_empty(), self.rest.as_str()) {
            (_, "") => found,
            (true, rest) => rest.to_owned(),
            (false, rest) if rest.starts_with('[') => format!("{found}{rest}"),
            (false, rest) => format!("{found}.{rest}"),
        }
    }
}

type Next<'o, 'n> = (Step<'o>, PathElement, &'o Value, &'n str);

/// One step further into `value`, by the beginning of `name`.
fn next<'o, 'n>(value: &'o Value, shape: Shape<'_>, name: &'n str) -> Option<Next<'o, 'n>> {
    if name.is_empty() {
        return None;
    }
    match value {
        Value::Object(fields) => {
            if let Some((inner, left)) = bracketed(name) {
                let (key, value) = fields.get_key_value(unquoted(inner))?;
                return Some((Step::Key(key), PathElement::field(key), value, left));
            }
            // Names may contain dots; of several that fit, the longest is meant.
            let fits = |key: &&String| {
                let left = name.strip_prefix(key.as_str());
                left.is_some_and(|left| left.is_empty() || left.starts_with(['.', '[']))
            };
            let key = fields.keys().filter(fits).max_by_key(|key| key.len())?;
            Some((Step::Key(key), PathElement::field(key), &fields[key], &name[key.len()..]))
        }
        Value::Array(list) => {
            let (inner, left) = bracketed(name)?;
            let index = position(list, inner)?;
            Some((Step::Index(index), shape.item(index, &list[index]), &list[index], left))
        }
        _ => None,
    }
}

/// What is in the brackets at the beginning of a text, and what follows them.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let mut is_quoted = false;
    let end = inner.find(|character| {
        is_quoted ^= character == '"';
        character == ']' && !is_quoted
    })?;
    Some((&inner[..end], &inner[end + 1..]))
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
}

/// The place of the item that is named by position, by value, or by the fields of its key.
fn position(list: &[Value], name: &str) -> Option<usize> {
    if let Ok(index) = name.parse() {
        return (index < list.len()).then_some(index);
    }
    let reads = |value: &Value, text: &str| match value {
        Value::String(value) => value == unquoted(text),
        other => {
            let written = other.to_string();
            written == text
        }
    };
    if let Some(text) = name.strip_prefix('=') {
        return list.iter().position(|item| reads(item, text));
    }
    let fields: Vec<(&str, &str)> = name.split(',').filter_map(|field| field.split_once('=')).collect();
    // A field of the key that is not written has its default.
    let has = |item: &Value, (key, text): &(&str, &str)| item.get(key).is_none_or(|value| reads(value, text));
    let is_it = |item: &Value| {
        fields.iter().any(|(key, _)| item.get(key).is_some()) && fields.iter().all(|field| has(item, field))
    };
    list.iter().position(is_it)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Schema;

    #[test]
    fn each_notation_of_the_api_server_is_understood() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "labels": { "example.org/team": "a", "example": { "x": 1 } }, "finalizers": ["a/b"] },
            "spec": { "replicas": 1, "template": { "spec": { "containers": [
                { "name": "sidecar" },
                { "name": "web", "image": "w", "ports": [{ "containerPort": 80 }, { "containerPort": 81, "protocol": "UDP" }] },
            ] } } },
        });
        let schema = Schema::of(&object);
        let check = |name: &str, notation: &str, rest: &str, steps: usize| {
            let found = NamedField::find(&object, schema.root(), name);
            assert_eq!((found.notation().as_str(), found.rest.as_str()), (notation, rest), "{name}");
            assert_eq!(found.steps.len(), steps, "{name}");
        };
        check(".spec.replicas", "spec.replicas", "", 2);
        check(
            "spec.template.spec.containers[1].image",
            r#"spec.template.spec.containers[name="web"].image"#,
            "",
            6,
        );
        check(
            r#".spec.template.spec.containers[name="web"].ports[containerPort=81,protocol="UDP"]"#,
            r#"spec.template.spec.containers[name="web"].ports[containerPort=81,protocol="UDP"]"#,
            "",
            7,
        );
        check(
            r#".spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].hostPort"#,
            r#"spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].hostPort"#,
            "hostPort",
            7,
        );
        check(".metadata.labels.example.org/team", r#"metadata.labels["example.org/team"]"#, "", 3);
        check("metadata.labels[example.org/team]", r#"metadata.labels["example.org/team"]"#, "", 3);
        check(r#".metadata.finalizers[="a/b"]"#, r#"metadata.finalizers[="a/b"]"#, "", 3);
        check("spec.selector", "spec.selector", "selector", 1);
        check("spec.template.spec.containers[7]", "spec.template.spec.containers[7]", "[7]", 4);
        check("<nil>", "<nil>", "<nil>", 0);
        check("", "", "", 0);
    }
}
