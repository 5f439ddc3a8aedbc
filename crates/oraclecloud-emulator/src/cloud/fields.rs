//! The fields of resources by their description: which bodies are accepted, and what is shown.

use oraclecloud::Kind;
use oraclecloud::kind::{Field, JSON_DATA, Model, Shape};
use serde_json::{Map, Value, json};

use crate::reply::ApiError;

/// The most tags that a resource can have.
const MAX_TAGS: usize = 64;

/// The fields of a new resource, with defaults.
pub(super) fn validate_create(kind: Kind, body: &Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let spec = &kind.description().spec;
    let mut fields: Map<String, Value> = body
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(name) = &spec.discriminator
        && let Some(default) = spec.get(name).and_then(|field| field.default.clone())
    {
        fields.entry(name.clone()).or_insert(default);
    }
    let taken = |name: &str, field: &Field| !kind.is_place(name) && !field.late;
    check_object(kind, "", spec, &fields, taken)?;
    let name = fields.get(&kind.name_field);
    if taken(&kind.name_field, &spec[&kind.name_field]) && name.is_some_and(|name| name == "") {
        return Err(ApiError::missing(&kind.name_field));
    }
    for group in &kind.exclusive {
        if group.iter().filter(|name| fields.contains_key(*name)).count() != 1 {
            return Err(ApiError::invalid(format!("Exactly one of {} is required.", group.join(" and "))));
        }
    }
    for (name, field) in spec.of_variant(spec.variant(&fields.clone())) {
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
        match &field.updated {
            Some(shape) => check_shape(kind, name, shape, value)?,
            None => check(kind, name, field, value)?,
        }
        change.insert(name.clone(), value.clone());
    }
    match kind.spec.iter().find(|(name, field)| field.always && !change.contains_key(*name)) {
        Some((name, _)) => Err(ApiError::missing(name)),
        None => Ok(change),
    }
}

/// Where a resource is moved to.
pub(super) fn validate_move(body: &Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    match body.iter().find(|(name, _)| *name != "compartmentId") {
        Some((name, _)) => Err(unknown(name)),
        None if !body.get("compartmentId").is_some_and(Value::is_string) => {
            Err(ApiError::missing("compartmentId"))
        }
        None => Ok(body.clone()),
    }
}

fn unknown(name: &str) -> ApiError {
    ApiError::invalid(format!("{name} is unknown."))
}

fn not(path: &str, expected: &str) -> ApiError {
    ApiError::invalid(format!("{path} must be {expected}."))
}

fn check(kind: Kind, path: &str, field: &Field, value: &Value) -> Result<(), ApiError> {
    // A create takes any text where a response knows what there is.
    if let (Shape::Text, Some(values), Some(text)) = (&field.shape, kind.known_values(path), value.as_str())
        && !values.iter().any(|value| value == text)
    {
        return Err(not(path, &format!("one of {}", values.join(", "))));
    }
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

fn check_shape(kind: Kind, path: &str, shape: &Shape, value: &Value) -> Result<(), ApiError> {
    let expected = match (shape, value) {
        (Shape::Any, _)
        | (Shape::Text | Shape::Secret, Value::String(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Number, Value::Number(_)) => return Ok(()),
        (Shape::Integer, value) if value.is_i64() || value.is_u64() => return Ok(()),
        (Shape::Time, Value::String(text)) if text.parse::<jiff::Timestamp>().is_ok() => return Ok(()),
        (Shape::OneOf(values), Value::String(text)) if values.contains(text) => return Ok(()),
        (Shape::Map(_), Value::Object(tags))
            if path == "freeformTags" && (tags.len() > MAX_TAGS || !tags.values().all(Value::is_string)) =>
        {
            "at most 64 tags with string values".to_owned()
        }
        (Shape::Map(_), Value::Object(tags)) if path == "definedTags" => {
            if tags.values().all(Value::is_object) {
                return Ok(());
            }
            "namespaces with tags".to_owned()
        }
        (Shape::Map(of), Value::Object(entries)) => {
            let mut entries = entries.iter();
            return entries
                .try_for_each(|(key, value)| check_shape(kind, &format!("{path}.{key}"), of, value));
        }
        (Shape::List(of), Value::Array(entries)) => {
            let mut entries = entries.iter().enumerate();
            return entries
                .try_for_each(|(index, value)| check_shape(kind, &format!("{path}[{index}]"), of, value));
        }
        (Shape::Model(name), Value::Object(body)) => {
            let Some(model) = kind.model(name) else { return Ok(()) };
            return check_object(kind, path, model, body, |name, _| name != JSON_DATA);
        }
        (Shape::Text | Shape::Secret, _) => "a string".to_owned(),
        (Shape::Boolean, _) => "true or false".to_owned(),
        (Shape::Integer, _) => "a whole number".to_owned(),
        (Shape::Number, _) => "a number".to_owned(),
        (Shape::Time, _) => "a time".to_owned(),
        (Shape::OneOf(values), _) => format!("one of {}", values.join(", ")),
        (Shape::Map(_) | Shape::Model(_), _) => "an object".to_owned(),
        (Shape::List(_), _) => "a list".to_owned(),
    };
    Err(not(path, &expected))
}

/// Checks an object against the fields of its type that are taken.
fn check_object(
    kind: Kind,
    path: &str,
    model: &Model,
    body: &Map<String, Value>,
    taken: impl Fn(&str, &Field) -> bool,
) -> Result<(), ApiError> {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let variant = model.variant(body);
    if let Some(name) = &model.discriminator
        && !variant.is_some_and(|variant| model.variants.contains_key(variant))
    {
        let variants: Vec<&str> = model.variants.keys().map(String::as_str).collect();
        return Err(not(&below(name), &format!("one of {}", variants.join(", "))));
    }
    let fields: Vec<_> = model.of_variant(variant).filter(|(name, field)| taken(name, field)).collect();
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        match fields.iter().find(|(known, _)| *known == name) {
            Some((_, field)) => check(kind, &below(name), field, value)?,
            None if path.is_empty() && kind.status.contains_key(name) => {
                return Err(ApiError::invalid(format!("{name} cannot be set.")));
            }
            None => return Err(unknown(&below(name))),
        }
    }
    let is_missing = |name: &String| body.get(name).is_none_or(Value::is_null);
    match fields.iter().find(|(name, field)| field.required && is_missing(name)) {
        Some((name, _)) => Err(ApiError::missing(&below(name))),
        None => Ok(()),
    }
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
            "capabilities[0].type must be one of CONSUMER_GROUPS, LARGE_MESSAGES.",
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
