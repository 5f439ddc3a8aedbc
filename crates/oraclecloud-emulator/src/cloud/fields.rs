//! The fields of resources by their description: which bodies are accepted, and what is shown.

use oraclecloud::Kind;
use oraclecloud::kind::{Field, Fields, JSON_DATA, Shape};
use serde_json::{Map, Value, json};

use crate::reply::ApiError;

/// The most tags that a resource can have.
const MAX_TAGS: usize = 64;

/// The fields of a new resource, with defaults.
pub(super) fn validate_create(kind: Kind, body: &Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let parents: Vec<&str> = kind.parents().collect();
    let taken = |name: &str| !parents.contains(&name);
    for name in body.keys() {
        match kind.spec.get(name) {
            Some(field) if taken(name) && !field.late => {}
            _ if kind.status.contains_key(name) => {
                return Err(ApiError::invalid(format!("{name} cannot be set.")));
            }
            _ => return Err(unknown(name)),
        }
    }
    let mut fields = Map::new();
    for (name, field) in kind.spec.iter().filter(|(name, _)| taken(name)) {
        match body.get(name).filter(|value| !value.is_null()) {
            Some(value) => {
                check(kind, name, field, value)?;
                fields.insert(name.clone(), value.clone());
            }
            None if field.required => return Err(ApiError::missing(name)),
            None => {}
        }
    }
    if kind.spec[&kind.name_field].required
        && fields.get(&kind.name_field).and_then(Value::as_str).is_none_or(str::is_empty)
    {
        return Err(ApiError::missing(&kind.name_field));
    }
    for group in &kind.exclusive {
        if group.iter().filter(|name| fields.contains_key(*name)).count() != 1 {
            return Err(ApiError::invalid(format!("Exactly one of {} is required.", group.join(" and "))));
        }
    }
    for (name, field) in &kind.spec {
        if let Some(default) = default(field) {
            fields.entry(name.clone()).or_insert(default);
        }
    }
    Ok(fields)
}

/// The fields that an update changes.
pub(super) fn validate_update(kind: Kind, body: &Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let mut change = Map::new();
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        let field = kind.spec.get(name).ok_or_else(|| unknown(name))?;
        if !field.update {
            return Err(ApiError::invalid(format!("{name} cannot be changed.")));
        }
        check(kind, name, field, value)?;
        change.insert(name.clone(), value.clone());
    }
    Ok(change)
}

/// The body of another call, with all that it requires.
pub(super) fn validate_action(
    kind: Kind,
    fields: &Fields,
    body: &Map<String, Value>,
) -> Result<Map<String, Value>, ApiError> {
    check_object(kind, "", fields, body)?;
    Ok(body.iter().filter(|(name, _)| kind.status.contains_key(*name)).map(owned).collect())
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

fn unknown(name: &str) -> ApiError {
    ApiError::invalid(format!("{name} is unknown."))
}

fn check(kind: Kind, path: &str, field: &Field, value: &Value) -> Result<(), ApiError> {
    let bounds = field.accepts.or(match (field.minimum, field.maximum) {
        (None, None) => None,
        (least, most) => Some((least.unwrap_or(i64::MIN), most.unwrap_or(i64::MAX))),
    });
    if let (Some((least, most)), Some(number)) = (bounds, value.as_i64())
        && !(least..=most).contains(&number)
    {
        return Err(not(path, &format!("a whole number from {least} to {most}")));
    }
    check_shape(kind, path, &field.shape, value)
}

fn not(path: &str, expected: &str) -> ApiError {
    ApiError::invalid(format!("{path} must be {expected}."))
}

fn check_shape(kind: Kind, path: &str, shape: &Shape, value: &Value) -> Result<(), ApiError> {
    let expected = match (shape, value) {
        (Shape::Any, _)
        | (Shape::Text | Shape::Secret, Value::String(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Number, Value::Number(_)) => return Ok(()),
        (Shape::Integer, value) if value.is_i64() || value.is_u64() => return Ok(()),
        (Shape::Time, Value::String(text)) if text.parse::<jiff::Timestamp>().is_ok() => return Ok(()),
        (Shape::OneOf(values), Value::String(text)) if values.contains(text) => return Ok(()),
        (Shape::Map(of), Value::Object(entries)) if path == "freeformTags" => {
            if entries.len() <= MAX_TAGS && entries.values().all(Value::is_string) {
                return Ok(());
            }
            tags(of).to_owned()
        }
        (Shape::Map(of), Value::Object(entries)) if path == "definedTags" => {
            if entries.values().all(Value::is_object) {
                return Ok(());
            }
            tags(of).to_owned()
        }
        (Shape::Map(of), Value::Object(entries)) => {
            return entries
                .iter()
                .try_for_each(|(key, value)| check_shape(kind, &format!("{path}.{key}"), of, value));
        }
        (Shape::List(of), Value::Array(entries)) => {
            if let Some(variants) = variants(kind, of)
                && !entries.iter().all(|entry| is_variant(kind, of, entry, variants))
            {
                return Err(not(path, &format!("a list of {}", variants.join(" and "))));
            }
            return entries
                .iter()
                .enumerate()
                .try_for_each(|(index, value)| check_shape(kind, &format!("{path}[{index}]"), of, value));
        }
        (Shape::Model(name), Value::Object(body)) => {
            if let Some(variants) = variants(kind, shape)
                && !is_variant(kind, shape, value, variants)
            {
                return Err(not(path, &format!("one of {}", variants.join(", "))));
            }
            return match kind.model(name) {
                // That field is the client's own.
                Some(_) if body.contains_key(JSON_DATA) => Err(unknown(&format!("{path}.{JSON_DATA}"))),
                Some(model) => check_object(kind, path, &model.fields, body),
                None => Ok(()),
            };
        }
        (Shape::Text | Shape::Secret, _) => "a string".to_owned(),
        (Shape::Boolean, _) => "true or false".to_owned(),
        (Shape::Integer, _) => "a whole number".to_owned(),
        (Shape::Number, _) => "a number".to_owned(),
        (Shape::Time, _) => "a time".to_owned(),
        (Shape::OneOf(values), _) => format!("one of {}", values.join(", ")),
        (Shape::Map(of), _) if path.ends_with("Tags") => tags(of).to_owned(),
        (Shape::Map(_) | Shape::Model(_), _) => "an object".to_owned(),
        (Shape::List(_), _) => "a list".to_owned(),
    };
    Err(not(path, &expected))
}

fn tags(of: &Shape) -> &'static str {
    match of {
        Shape::Map(_) => "namespaces with tags",
        _ => "at most 64 tags with string values",
    }
}

fn check_object(kind: Kind, path: &str, fields: &Fields, body: &Map<String, Value>) -> Result<(), ApiError> {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        let field = fields.get(name).ok_or_else(|| unknown(&below(name)))?;
        check(kind, &below(name), field, value)?;
    }
    match fields.iter().find(|(name, field)| field.required && body.get(*name).is_none_or(Value::is_null)) {
        Some((name, _)) => Err(ApiError::missing(&below(name))),
        None => Ok(()),
    }
}

/// The values of the discriminator that a model has.
fn variants(kind: Kind, shape: &Shape) -> Option<&'static [String]> {
    let Shape::Model(name) = shape else { return None };
    let variants = kind.model(name)?.variants.as_slice();
    (!variants.is_empty()).then_some(variants)
}

fn is_variant(kind: Kind, shape: &Shape, value: &Value, variants: &[String]) -> bool {
    let Shape::Model(name) = shape else { return true };
    let discriminator = kind.model(name).and_then(|model| model.discriminator.as_deref());
    let tag = discriminator.and_then(|name| value.get(name)?.as_str());
    tag.is_some_and(|tag| variants.iter().any(|variant| variant == tag))
}

fn default(field: &Field) -> Option<Value> {
    let is_map = matches!(field.shape, Shape::Map(_));
    field.default.clone().or_else(|| is_map.then(|| json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oraclecloud::Catalogue;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn kinds() -> [Kind; 2] {
        ["queue/Queue", "streaming/Stream"].map(|path| Catalogue::standard().get(path).unwrap())
    }

    #[test]
    fn the_error_for_an_invalid_body_names_the_field() {
        let check = |kind: Kind, body: Value, code: &str, message: &str| {
            let error = validate_create(kind, &object(&body)).unwrap_err();
            assert_eq!((error.code.as_str(), error.message.as_str()), (code, message), "{body}");
        };
        let [queue, stream] = kinds();
        check(queue, json!({"displayName": "q"}), "MissingParameter", "compartmentId is missing.");
        check(queue, json!({"compartmentId": "c"}), "MissingParameter", "displayName is missing.");
        check(
            queue,
            json!({"displayName": "q", "compartmentId": "c", "retentionInSeconds": 604_801}),
            "InvalidParameter",
            "retentionInSeconds must be a whole number from 10 to 604800.",
        );
        check(
            queue,
            json!({"displayName": "q", "compartmentId": "c", "freeformTags": {"a": 1}}),
            "InvalidParameter",
            "freeformTags must be at most 64 tags with string values.",
        );
        check(
            queue,
            json!({"displayName": "q", "compartmentId": "c", "capabilities": [{"type": "MAGIC"}]}),
            "InvalidParameter",
            "capabilities must be a list of CONSUMER_GROUPS and LARGE_MESSAGES.",
        );
        check(
            queue,
            json!({"displayName": "q", "compartmentId": "c",
                   "capabilities": [{"type": "CONSUMER_GROUPS", "primaryConsumerGroupFilter": 1}]}),
            "InvalidParameter",
            "capabilities[0].primaryConsumerGroupFilter must be a string.",
        );
        check(queue, json!({"colour": "red"}), "InvalidParameter", "colour is unknown.");
        check(
            queue,
            json!({"lifecycleState": "ACTIVE"}),
            "InvalidParameter",
            "lifecycleState cannot be set.",
        );
        check(stream, json!({"name": "s"}), "MissingParameter", "partitions is missing.");
        for body in [
            json!({"name": "s", "partitions": 1}),
            json!({"name": "s", "partitions": 1, "compartmentId": "c", "streamPoolId": "p"}),
        ] {
            check(
                stream,
                body,
                "InvalidParameter",
                "Exactly one of compartmentId and streamPoolId is required.",
            );
        }
    }

    #[test]
    fn an_update_changes_only_mutable_fields() {
        let check = |kind: Kind, body: Value, expected: Result<Value, &str>| {
            let outcome =
                validate_update(kind, &object(&body)).map(Value::Object).map_err(|error| error.message);
            assert_eq!(outcome, expected.map_err(str::to_owned), "{body}");
        };
        let [queue, stream] = kinds();
        check(queue, json!({"visibilityInSeconds": 0}), Ok(json!({"visibilityInSeconds": 0})));
        check(queue, json!({"displayName": null}), Ok(json!({})));
        check(queue, json!({"retentionInSeconds": 60}), Err("retentionInSeconds cannot be changed."));
        check(stream, json!({"partitions": 2}), Err("partitions cannot be changed."));
        check(stream, json!({"colour": "red"}), Err("colour is unknown."));
    }
}
