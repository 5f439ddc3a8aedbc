//! The fields of Queues and Streams as tables, and the errors for invalid ones.

use serde_json::{Map, Value, json};

use super::resource::Kind;
use crate::reply::ApiError;

struct Field {
    name: &'static str,
    shape: Shape,
    /// In a create.
    required: bool,
    /// By an update.
    mutable: bool,
}

enum Shape {
    Text,
    Number { least: i64, most: i64, default: Option<i64> },
    Tags,
    DefinedTags,
    Capabilities,
}

const fn text(name: &'static str, required: bool, mutable: bool) -> Field {
    Field { name, shape: Shape::Text, required, mutable }
}

const fn number(name: &'static str, least: i64, most: i64, default: i64, mutable: bool) -> Field {
    Field { name, shape: Shape::Number { least, most, default: Some(default) }, required: false, mutable }
}

const fn shaped(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false, mutable: true }
}

const QUEUE: &[Field] = &[
    text("displayName", true, true),
    text("compartmentId", true, false),
    number("retentionInSeconds", 10, 604_800, 86_400, false),
    number("visibilityInSeconds", 0, 43_200, 30, true),
    number("timeoutInSeconds", 0, 30, 30, true),
    number("deadLetterQueueDeliveryCount", 0, 20, 5, true),
    number("channelConsumptionLimit", 0, 100, 100, true),
    text("customEncryptionKeyId", false, true),
    shaped("capabilities", Shape::Capabilities),
    shaped("freeformTags", Shape::Tags),
    shaped("definedTags", Shape::DefinedTags),
];

const STREAM: &[Field] = &[
    text("name", true, false),
    Field {
        name: "partitions",
        shape: Shape::Number { least: 1, most: 50, default: None },
        required: true,
        mutable: false,
    },
    text("compartmentId", false, false),
    text("streamPoolId", false, true),
    number("retentionInHours", 24, 168, 24, false),
    shaped("freeformTags", Shape::Tags),
    shaped("definedTags", Shape::DefinedTags),
];

impl Kind {
    const fn fields(self) -> &'static [Field] {
        match self {
            Self::Queue => QUEUE,
            Self::Stream => STREAM,
        }
    }

    /// The fields of a new resource, with defaults.
    pub(super) fn validate_create(self, body: &Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
        let mut fields = Map::new();
        for field in self.fields() {
            match body.get(field.name).filter(|value| !value.is_null()) {
                Some(value) => {
                    field.check(value)?;
                    fields.insert(field.name.to_owned(), value.clone());
                }
                None if field.required => return Err(ApiError::missing(field.name)),
                None => fields.extend(field.default().map(|value| (field.name.to_owned(), value))),
            }
        }
        if fields.get(self.name_field()).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(ApiError::missing(self.name_field()));
        }
        if self == Self::Stream && fields.contains_key("compartmentId") == fields.contains_key("streamPoolId")
        {
            return Err(ApiError::invalid("Exactly one of compartmentId and streamPoolId is required."));
        }
        Ok(fields)
    }

    /// The fields that an update changes.
    pub(super) fn validate_update(self, body: &Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
        let mut change = Map::new();
        for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
            let field = self.fields().iter().find(|field| field.name == name);
            let field = field.ok_or_else(|| ApiError::invalid(format!("{name} is unknown.")))?;
            if !field.mutable {
                return Err(ApiError::invalid(format!("{name} cannot be changed.")));
            }
            field.check(value)?;
            change.insert(name.clone(), value.clone());
        }
        Ok(change)
    }
}

impl Field {
    fn check(&self, value: &Value) -> Result<(), ApiError> {
        let is_valid = match self.shape {
            Shape::Text => value.is_string(),
            Shape::Number { least, most, .. } => {
                value.as_i64().is_some_and(|number| (least..=most).contains(&number))
            }
            Shape::Tags => {
                value.as_object().is_some_and(|tags| tags.len() <= 64 && tags.values().all(Value::is_string))
            }
            Shape::DefinedTags => value.as_object().is_some_and(|tags| tags.values().all(Value::is_object)),
            Shape::Capabilities => value.as_array().is_some_and(|list| {
                list.iter()
                    .all(|entry| matches!(entry["type"].as_str(), Some("CONSUMER_GROUPS" | "LARGE_MESSAGES")))
            }),
        };
        if is_valid {
            Ok(())
        } else {
            Err(ApiError::invalid(format!("{} must be {}.", self.name, self.shape.description())))
        }
    }

    fn default(&self) -> Option<Value> {
        match self.shape {
            Shape::Number { default, .. } => default.map(|number| json!(number)),
            Shape::Tags | Shape::DefinedTags => Some(json!({})),
            Shape::Text | Shape::Capabilities => None,
        }
    }
}

impl Shape {
    fn description(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Number { least, most, .. } => format!("a whole number from {least} to {most}"),
            Self::Tags => "at most 64 tags with string values".to_owned(),
            Self::DefinedTags => "namespaces with tags".to_owned(),
            Self::Capabilities => "a list of CONSUMER_GROUPS and LARGE_MESSAGES".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn the_error_for_an_invalid_body_names_the_field() {
        let check = |kind: Kind, body: Value, code: &str, message: &str| {
            let error = kind.validate_create(&object(&body)).unwrap_err();
            assert_eq!((error.code.as_str(), error.message.as_str()), (code, message), "{body}");
        };
        check(Kind::Queue, json!({}), "MissingParameter", "displayName is missing.");
        check(Kind::Queue, json!({"displayName": "q"}), "MissingParameter", "compartmentId is missing.");
        check(
            Kind::Queue,
            json!({"displayName": "q", "compartmentId": "c", "retentionInSeconds": 604_801}),
            "InvalidParameter",
            "retentionInSeconds must be a whole number from 10 to 604800.",
        );
        check(
            Kind::Queue,
            json!({"displayName": "q", "compartmentId": "c", "freeformTags": {"a": 1}}),
            "InvalidParameter",
            "freeformTags must be at most 64 tags with string values.",
        );
        check(
            Kind::Queue,
            json!({"displayName": "q", "compartmentId": "c", "capabilities": [{"type": "MAGIC"}]}),
            "InvalidParameter",
            "capabilities must be a list of CONSUMER_GROUPS and LARGE_MESSAGES.",
        );
        check(Kind::Stream, json!({"name": "s"}), "MissingParameter", "partitions is missing.");
        for body in [
            json!({"name": "s", "partitions": 1}),
            json!({"name": "s", "partitions": 1, "compartmentId": "c", "streamPoolId": "p"}),
        ] {
            check(
                Kind::Stream,
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
                kind.validate_update(&object(&body)).map(Value::Object).map_err(|error| error.message);
            assert_eq!(outcome, expected.map_err(str::to_owned), "{body}");
        };
        check(Kind::Queue, json!({"visibilityInSeconds": 0}), Ok(json!({"visibilityInSeconds": 0})));
        check(Kind::Queue, json!({"displayName": null}), Ok(json!({})));
        check(Kind::Queue, json!({"retentionInSeconds": 60}), Err("retentionInSeconds cannot be changed."));
        check(Kind::Stream, json!({"partitions": 2}), Err("partitions cannot be changed."));
        check(Kind::Stream, json!({"colour": "red"}), Err("colour is unknown."));
    }
}
